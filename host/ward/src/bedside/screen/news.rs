//! Updates of the model from news.

use super::{Connection, Model, News, Scene};
use crate::bedside::Recorded;
use crate::bedside::orders::Record;

impl Model {
    /// Updates the model from a piece of news.
    pub fn news(&mut self, news: News) {
        match news {
            News::Connected(port) => {
                if matches!(self.connection, Connection::Down(_)) {
                    self.say("The device is back.");
                }
                self.connection = Connection::Up(port);
            }
            News::Disconnected(why) => self.connection = Connection::Down(why),
            News::Progress(status) => self.status = Some(status),
            News::Waiting(waiting) => {
                // The cursor stays on its patient when patients before it come or go.
                let number = self.selected().map(|patient| patient.number);
                self.waiting = waiting;
                let place = self.shown().position(|patient| Some(patient.number) == number);
                self.cursor =
                    place.unwrap_or(self.cursor).min(self.shown().count().saturating_sub(1));
            }
            News::Enrolled(patient) => {
                self.say(&format!("Patient {} is number {}.", patient.code, patient.number));
                self.scene = Scene::Arm(patient);
            }
            News::Recorded(Recorded { number, code, closed }) => {
                let code = code.map_or(String::new(), |code| format!("{code}, "));
                let closed =
                    if closed { " That was the last outcome: the trial is closed." } else { "" };
                self.say(&format!("Recorded for patient {code}number {number}.{closed}"));
                self.scene = Scene::List;
            }
            News::Found(Record { patient, .. }) => {
                self.say(&format!("Enrolled {} by {}.", patient.since, patient.operator));
                self.scene = Scene::Arm(patient);
            }
            News::Noted(code) => {
                self.say(&format!("The note on patient {code} is in the log."));
                self.scene = Scene::List;
            }
            News::Operator(name) => self.operator = name,
            News::Failed(why) => {
                self.fail(&why);
                if matches!(self.scene, Scene::Asking { .. }) {
                    self.scene = Scene::List;
                }
            }
            News::Saved(path) => self.say(&format!("The list of enrolments is in {path}")),
            // The screen asks for neither, and knows of its own enrolment by `Pending`.
            News::Report(_) | News::List(_) | News::Unanswered(_) => {}
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
        let what = match news {
            News::Enrolled(patient) => {
                format!("patient {} is number {}", patient.code, patient.number)
            }
            News::Recorded(Recorded { number, code, .. }) => {
                format!("recorded for patient {}, number {number}", code.unwrap_or_default())
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
