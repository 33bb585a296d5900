//! Updates of the model from news.

use super::{Connection, Model, News, Scene};
use crate::bedside::Recorded;
use crate::bedside::orders::{Record, given};
use crate::records::words::moment;

impl Model {
    /// Updates the model from a piece of news.
    pub fn news(&mut self, news: News) {
        if self.holds(&news) {
            return;
        }
        match news {
            News::Seats(seats) => self.seats(seats),
            News::Seated => {}
            News::Excluded(why) => {
                self.fail(&why);
                self.scene = Scene::List;
            }
            News::WrongPin(why) => {
                self.fail(&why);
                if let Scene::Asking { .. } = self.scene {
                    self.scene = self.before_pin.take().map_or(Scene::List, |scene| *scene);
                }
            }
            News::Connected(port) => {
                if matches!(self.connection, Connection::Down(_)) {
                    self.say("The device is back.");
                }
                self.connection = Connection::Up(port);
            }
            News::Disconnected(why) => self.connection = Connection::Down(why),
            News::Unfit(why) => self.connection = Connection::Unfit(why),
            News::Practice(practice) => self.practice = practice,
            News::Progress(status) => self.status = Some(status),
            News::Gap(gap) => self.gap = gap,
            News::Waiting(waiting) => {
                // The cursor stays on its patient when patients before it come or go.
                let number = self.selected().map(|patient| patient.number);
                self.waiting = waiting;
                let place = self.shown().position(|patient| Some(patient.number) == number);
                self.cursor =
                    place.unwrap_or(self.cursor).min(self.shown().count().saturating_sub(1));
            }
            News::Enrolled(patient) => {
                self.say(&given(&self.trial, &patient));
                self.scene = Scene::Arm(patient);
            }
            News::Recorded(recorded) => {
                self.say(&recorded.in_words());
                self.scene = Scene::List;
            }
            News::Found(Record { patient, resolved, kits, .. }) => {
                let mut found =
                    format!("Enrolled {} by {}.", moment(patient.since), patient.operator);
                for given in kits.iter().skip(1) {
                    let (kit, reason) = (self.trial.kit_label(given.kit), given.reason.as_ref());
                    let reason = reason.map_or("", String::as_str);
                    found += &format!(" Kit {kit} {}: {reason}.", moment(given.time));
                }
                if let Some(resolved) = resolved {
                    found += &format!(" Outcome {}.", resolved.in_words());
                }
                self.say(&found);
                self.scene = Scene::Arm(patient);
            }
            News::Noted(code) => {
                self.say(&format!("The note on patient {code} is in the log."));
                self.scene = Scene::List;
            }
            News::Operator(name) if !self.staff => self.operator = name,
            News::Operator(_) => {}
            // The screen asks before it orders; the doubt came up since.
            News::Doubt(why) | News::Failed(why) => {
                self.fail(&why);
                if matches!(self.scene, Scene::Asking { .. }) {
                    self.scene = Scene::List;
                }
            }
            News::Saved(path) => self.say(&format!("The list of enrolments is in {path}")),
            // The screen asks for none of these, and knows of its own enrolment by `Pending`.
            News::Report(_)
            | News::List(_)
            | News::Checked(_)
            | News::Known { .. }
            | News::Unblinds(_)
            | News::Unblinded(_)
            | News::Unanswered(_) => {}
            News::Entered(address) => {
                // A message that somebody may be reading in a form is not replaced.
                if self.scene == Scene::List && !self.error {
                    self.say(&format!("A browser opened the page. The next needs {address}"));
                }
            }
            News::Pending(code) => self.scene = self.asking_for(&code, true),
            News::Wanted { code, feature } => {
                self.fail(&format!(
                    "Patient {code} was confirmed, but the terminal ended before it asked the device."
                ));
                self.scene = Scene::SureEnrol { code, feature, resumed: true };
            }
        }
    }

    /// Reports in one line what was done for another view; the scene stays as it is.
    pub fn news_of_others(&mut self, news: News) {
        if self.is_locked() {
            return;
        }
        let what = match news {
            News::Enrolled(patient) => {
                let words = given(&self.trial, &patient).replacen('P', "p", 1);
                words.trim_end_matches('.').to_owned()
            }
            News::Recorded(Recorded { number, code, lost, .. }) => {
                let what = if lost { "declared lost, the outcome of" } else { "recorded for" };
                format!("{what} patient {}, number {number}", code.unwrap_or_default())
            }
            News::Noted(code) => format!("a note on patient {code}"),
            News::Operator(name) => {
                self.operator = name.clone();
                format!("the operator is {name}")
            }
            _ => return,
        };
        // A message that somebody may be reading in a form is not replaced.
        if self.scene == Scene::List && !self.error {
            self.say(&format!("In the browser: {what}."));
        }
    }
}
