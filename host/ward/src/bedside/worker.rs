//! The thread at the device: carries out the orders of every view, and tells all of them the news.
//!
//! It alone owns device and log, so the screen and any number of browser tabs can work at once. It
//! asks for the public facts every second and takes orders in between. An enrolment that has no
//! answer yet (an unplugged device, an earlier terminal) is asked for again before anything else,
//! and its arm goes to the view that ordered it. While it waits to be asked for, no other enrolment
//! is taken.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use jiff::Timestamp;

use crate::bedside::orders::{Given, News, Order, Record, Ticket, Told};
use crate::bedside::seats::{Author, Seats};
use crate::bedside::{Bedside, CodeCheck};
use crate::failure::Failure;
use crate::line::custodian;
use crate::own_file::write_private;
use crate::records::alike::alike;
use crate::records::log::Event;
use crate::records::register::{Patient, Wanted};
use crate::records::table::Table;

/// How often the device is asked for the public facts.
const POLL: Duration = Duration::from_secs(1);

/// Works at the device until `tell` says that nobody listens any more.
pub fn work(bedside: Bedside, orders: &Receiver<Given>, tell: &mut dyn FnMut(Told) -> bool) {
    let (told, unsent, asked, no_copy) = (None, None, None, None);
    let seats = Seats::default();
    Worker { bedside, tell, told, no_copy, unsent, asked, seats }.run(orders);
}

struct Worker<'a> {
    bedside: Bedside,
    tell: &'a mut dyn FnMut(Told) -> bool,
    /// The trouble that was told last, so that the same one is not told again every second.
    told: Option<Told>,
    /// Why the log has no second copy, as it was told last.
    no_copy: Option<String>,
    /// An enrolment that is confirmed and logged; the device could not be asked yet. Whose it is.
    unsent: Option<(Given, Option<Author>)>,
    /// Whose enrolment has no answer yet, and of which code.
    asked: Option<(Ticket, String)>,
    seats: Seats,
}

impl Worker<'_> {
    fn run(&mut self, orders: &Receiver<Given>) {
        self.everybody(News::Operator(self.bedside.log().operator().to_owned()));
        self.everybody(News::Unblinds(self.bedside.can_unblind()));
        if let Some(Wanted { code, feature }) = self.bedside.register().wanted().cloned() {
            self.everybody(News::Wanted { code, feature });
        }
        loop {
            self.seats.lock(&mut self.bedside);
            let signed = self.bedside.staff().is_some().then(|| self.seats.signed());
            self.everybody(News::Seats(signed));
            let trouble = self.keep_up();
            if let Some(fresh) = trouble.as_ref().filter(|_| trouble != self.told) {
                (self.tell)(fresh.clone());
            }
            self.tell_late_answer();
            let no_copy = self.bedside.log().copy_trouble().map(str::to_owned);
            if let Some(why) = no_copy.as_ref().filter(|why| self.no_copy.as_ref() != Some(why)) {
                self.everybody(News::Failed(format!("Records are on this disk alone: {why}.")));
            }
            self.no_copy = no_copy;
            // The list first: a patient is on it before the enrolment stops counting as unanswered.
            let waiting = self.bedside.register().waiting().cloned().collect();
            let listened = self.everybody(News::Waiting(waiting));
            let pending = self.bedside.register().pending().map(|pending| pending.code.clone());
            let unsent = self.unsent.as_ref().and_then(|(given, _)| code_of(&given.order));
            self.everybody(News::Unanswered(pending.or(unsent)));
            if !listened {
                return;
            }
            let retry = if trouble.is_none() { self.unsent.take() } else { None };
            self.told = trouble;
            if let Some((given, author)) = retry {
                self.serve_as(given, author);
                continue;
            }
            match orders.recv_timeout(POLL) {
                Ok(given) => self.serve(given),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Tells everybody; whether somebody listens.
    fn everybody(&mut self, news: News) -> bool {
        (self.tell)(Told { ticket: None, news })
    }

    /// Carries out an order in the name of the person who gave it.
    fn serve(&mut self, mut given: Given) {
        let (ticket, bedside) = (given.ticket, &mut self.bedside);
        let author = match self.seats.serve(bedside, &given) {
            Some(Ok(())) => Err(News::Seated),
            Some(Err(failure)) => Err(News::WrongPin(failure.to_string())),
            None => self
                .seats
                .author(bedside, &given)
                .map_err(|failure| News::WrongPin(failure.to_string())),
        };
        given.pin = None;
        bedside.act_as_nobody();
        match author {
            Ok(author) => self.serve_as(given, author),
            Err(news) => drop((self.tell)(Told { ticket: Some(ticket), news })),
        }
    }

    /// Carries out an order in this name and tells the answer.
    fn serve_as(&mut self, given: Given, author: Option<Author>) {
        let ticket = given.ticket;
        if let Some(author) = &author {
            author.begin(&mut self.bedside);
        }
        let news = self.carry_out(&given);
        self.bedside.act_as_nobody();
        let pending = self.bedside.register().pending().map(|pending| pending.code.clone());
        let down = matches!(news, News::Disconnected(_));
        // Its own enrolment is open: asked for, or still to be asked for.
        let open = code_of(&given.order).filter(|code| match &pending {
            Some(pending) => alike(pending, code),
            None => down,
        });
        if let Some(code) = open {
            self.asked = Some((ticket, code));
        } else if self.asked.as_ref().is_some_and(|(asker, _)| *asker == ticket) {
            self.asked = None;
        }
        if down {
            let told = Told { ticket: None, news };
            (self.tell)(told.clone());
            self.told = Some(told);
            self.unsent = pending.is_none().then_some((given, author));
        } else {
            (self.tell)(Told { ticket: Some(ticket), news });
        }
    }

    /// Asks for the facts and for the arm of a pending enrolment; returns what is wrong.
    fn keep_up(&mut self) -> Option<Told> {
        let ticket = self.asked.as_ref().map(|(ticket, _)| *ticket);
        if let Some(code) = self.bedside.register().pending().map(|pending| pending.code.clone()) {
            (self.tell)(Told { ticket, news: News::Pending(code) });
        }
        match self.bedside.status() {
            Ok(status) => {
                let port = self.bedside.client().port().unwrap_or_default().to_owned();
                let gap = self.bedside.gap(&status).map(|gap| gap.to_string());
                let practice =
                    self.bedside.client().connect().is_ok_and(|hello| hello.is_virtual());
                self.everybody(News::Practice(practice));
                self.everybody(News::Connected(port));
                self.everybody(News::Progress(status));
                self.everybody(News::Gap(gap));
            }
            Err(error @ Failure::NoDevice(_)) => {
                return Some(Told { ticket: None, news: News::Disconnected(error.to_string()) });
            }
            // A blank device, or one with another trial.
            Err(other) => {
                return Some(Told { ticket: None, news: News::Unfit(other.to_string()) });
            }
        }
        match self.bedside.resume() {
            Ok(Some(patient)) => {
                self.asked = None;
                (self.tell)(Told { ticket, news: News::Enrolled(patient) });
                if let Ok(status) = self.bedside.status() {
                    self.everybody(News::Progress(status));
                }
                None
            }
            Ok(None) => None,
            Err(Failure::NoDevice(error)) => {
                Some(Told { ticket: None, news: News::Disconnected(error.to_string()) })
            }
            Err(other) => {
                if self.bedside.register().pending().is_none() {
                    self.asked = None;
                }
                Some(Told { ticket, news: News::Failed(other.to_string()) })
            }
        }
    }

    /// Tells the answer to an enrolment that was answered while another order was carried out.
    fn tell_late_answer(&mut self) {
        if self.unsent.is_some() || self.bedside.register().pending().is_some() {
            return;
        }
        if let Some((ticket, code)) = self.asked.take() {
            let news = match self.bedside.find(&code) {
                Ok(patient) => News::Enrolled(patient),
                Err(_) => News::Failed(format!("patient {code} was not enrolled")),
            };
            (self.tell)(Told { ticket: Some(ticket), news });
        }
    }

    fn carry_out(&mut self, given: &Given) -> News {
        let bedside = &mut self.bedside;
        let answer = match &given.order {
            Order::SignIn { .. } | Order::SignOut | Order::Here | Order::CheckPin => {
                Ok(News::Seated)
            }
            Order::NotEligible { answers } => bedside.screen(None, answers).map(|excluded| {
                let eligible =
                    || "every answer is as required: go on with the enrolment".to_owned();
                excluded.map_or_else(|| News::Failed(eligible()), News::Excluded)
            }),
            Order::Enrol { code, feature, answers } => {
                let pending = bedside.register().pending().map(|pending| pending.code.clone());
                let unsent = self.unsent.as_ref().and_then(|(given, _)| code_of(&given.order));
                let other = pending.or(unsent).filter(|other| !alike(other, code));
                if let Some(other) = other {
                    return News::Failed(format!(
                        "patient {other} is being enrolled and has no answer yet: wait for it first"
                    ));
                }
                if !answers.is_empty() && !bedside.register().is_eligible(code) {
                    match bedside.screen(Some(code), answers) {
                        Ok(None) => {}
                        Ok(Some(why)) => return News::Excluded(why),
                        Err(failure) => return News::Failed(failure.to_string()),
                    }
                }
                self.enrol(given.ticket, code, *feature).map(News::Enrolled)
            }
            Order::Check { code, feature } => {
                bedside.check_code(code, *feature).map(|checked| match checked {
                    CodeCheck::Free(code) => News::Checked(code),
                    CodeCheck::Known { why, code } => News::Known { why, code },
                })
            }
            Order::Outcome { number, y, anyway } => {
                if let Some(why) = bedside.doubt(*number).filter(|_| !anyway) {
                    return News::Doubt(why);
                }
                bedside.outcome(*number, *y).map(News::Recorded)
            }
            Order::Lost { number } => bedside.lost(*number).map(News::Recorded),
            Order::Replace { number, reason } => {
                bedside.replace(*number, reason).map(News::Enrolled)
            }
            Order::Elsewhere { gap } => bedside.confirm_elsewhere(gap).map(|()| News::Gap(None)),
            Order::Note { number, kind, text, should_be } => {
                let code = bedside.register().code(*number).unwrap_or_default().to_owned();
                bedside.write_note(*number, *kind, text, *should_be).map(|()| News::Noted(code))
            }
            Order::Find { code } => record(bedside, code).map(News::Found),
            Order::Operator { .. } if bedside.staff().is_some() => {
                Err(Failure::Refused("the trial has a staff file: sign in instead".to_owned()))
            }
            Order::Operator { name } => bedside
                .switch_operator(name)
                .map(|()| News::Operator(bedside.log().operator().to_owned())),
            Order::Unblind { number, reason } => {
                bedside.unblind(*number, reason).map(|told| News::Unblinded(Box::new(told)))
            }
            Order::Report => report(bedside),
            Order::List => Ok(News::List(enrolments(bedside))),
            Order::SaveList => save(bedside).map(News::Saved),
            Order::Drop { .. } => {
                let dropped = bedside.drop_wanted("not confirmed again");
                dropped.map(|()| News::Waiting(bedside.register().waiting().cloned().collect()))
            }
        };
        match (answer, &given.order) {
            (Ok(news), _) => news,
            // It is asked again as soon as the device is back.
            (Err(Failure::NoDevice(error)), Order::Enrol { .. }) => {
                News::Disconnected(error.to_string())
            }
            (
                Err(Failure::NoDevice(error)),
                Order::Outcome { number, .. } | Order::Lost { number },
            ) => {
                let who = self.bedside.register().code(*number).unwrap_or_default();
                News::Failed(format!(
                    "No answer for patient {who}: {error}. It is not known whether it was recorded. \
                     Enter it again when the device is back: a second copy changes nothing."
                ))
            }
            (Err(Failure::NoDevice(error)), Order::Replace { number, .. }) => {
                let who = self.bedside.register().code(*number).unwrap_or_default();
                News::Failed(format!(
                    "No answer for patient {who}: {error}. Ask for another kit again when the device \
                     is back: it is the same one."
                ))
            }
            (Err(other), _) => News::Failed(other.to_string()),
        }
    }

    /// Logs the confirmed enrolment, tells the view so, and asks the device.
    fn enrol(&mut self, ticket: Ticket, code: &str, feature: u8) -> Result<Patient, Failure> {
        let bedside = &mut self.bedside;
        let wanted = Some(Wanted { code: code.to_owned(), feature });
        if bedside.register().wanted().cloned() != wanted {
            bedside.want(code, feature)?;
        }
        (self.tell)(Told { ticket: Some(ticket), news: News::Pending(code.to_owned()) });
        let enrolled = bedside.enrol(code, feature);
        if let Err(Failure::Refused(why) | Failure::Usage(why)) = &enrolled
            && bedside.register().wanted().is_some()
        {
            // If the log cannot be written either, the next start asks the person again.
            let _ = bedside.drop_wanted(why);
        }
        enrolled
    }
}

fn code_of(order: &Order) -> Option<String> {
    if let Order::Enrol { code, .. } = order { Some(code.clone()) } else { None }
}

fn record(bedside: &Bedside, code: &str) -> Result<Record, Failure> {
    let patient = bedside.find(code)?;
    let register = bedside.register();
    let resolved = register.resolved(patient.number).cloned();
    let notes = register.notes(patient.number).to_vec();
    let kits = register.kits(patient.number).to_vec();
    Ok(Record { patient, resolved, notes, kits })
}

fn enrolments(bedside: &Bedside) -> String {
    Table::enrolments(bedside.register(), bedside.trial()).csv()
}

/// Writes the list to a new file beside the log, for its owner alone, and gives its path.
fn save(bedside: &Bedside) -> Result<String, Failure> {
    let log = bedside.log().path();
    let name = log.file_stem().unwrap_or_default().to_string_lossy();
    let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let path = log.with_file_name(format!("{name}-{time}.csv"));
    write_private(&path, enrolments(bedside), false)
        .map_err(|error| Failure::file(&path, &error))?;
    Ok(path.display().to_string())
}

fn report(bedside: &mut Bedside) -> Result<News, Failure> {
    let report = custodian::report(bedside.client(), None)?;
    let status = bedside.status()?;
    if report.trial != status.name.id {
        return Err(Failure::Refused(format!(
            "the report is of trial {}, the device holds trial {}: do not trust it",
            report.trial, status.name.id
        )));
    }
    bedside.note(Event::Reported { looks: status.looks })?;
    Ok(News::Report(Box::new((report, status))))
}
