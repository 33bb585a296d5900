//! State shown by every page: a fold over the news, and its form in JSON.

use equipoise::terms::Arm;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::bedside::orders::{Connection, News, Record, Told};
use crate::bedside::{Recorded, no_room};
use crate::records::alike::folded;
use crate::records::log::NoteKind;
use crate::records::picture;
use crate::records::register::Patient;
use crate::records::report::Effects;
use crate::records::trial_file::TrialFile;
use equipoise::terms::Phase;
use equipoise::wire::{NextLook, Status};

/// The last thing that happened.
#[derive(Clone, Debug, Default)]
struct Message {
    text: String,
    error: bool,
    time: String,
}

/// Everything a page knows.
#[derive(Clone, Debug)]
pub struct State {
    trial: TrialFile,
    connection: Connection,
    status: Option<Status>,
    waiting: Vec<Patient>,
    operator: String,
    unanswered: Option<String>,
    wanted: Option<(String, u8)>,
    message: Message,
}

impl State {
    pub fn new(trial: TrialFile) -> Self {
        Self {
            trial,
            connection: Connection::Looking,
            status: None,
            waiting: Vec::new(),
            operator: String::new(),
            unanswered: None,
            wanted: None,
            message: Message::default(),
        }
    }

    pub const fn trial(&self) -> &TrialFile {
        &self.trial
    }

    pub fn waiting(&self) -> &[Patient] {
        &self.waiting
    }

    /// Updates the state from a piece of news.
    pub fn news(&mut self, told: &Told) {
        match &told.news {
            News::Connected(port) => {
                if matches!(self.connection, Connection::Down(_)) {
                    self.say("The device is back.", false);
                }
                self.connection = Connection::Up(port.clone());
            }
            News::Disconnected(why) => self.connection = Connection::Down(why.clone()),
            News::Progress(status) => self.status = Some(*status),
            News::Waiting(waiting) => {
                self.waiting.clone_from(waiting);
                // The answer to giving up an enrolment.
                if told.ticket.is_some() {
                    self.wanted = None;
                }
            }
            News::Unanswered(code) => {
                if code.is_some() {
                    self.wanted = None;
                }
                self.unanswered.clone_from(code);
            }
            News::Wanted { code, feature } => self.wanted = Some((code.clone(), *feature)),
            News::Operator(name) => {
                if told.ticket.is_some() {
                    self.say(&format!("The operator is {name}."), false);
                }
                self.operator.clone_from(name);
            }
            News::Enrolled(patient) => {
                self.wanted = None;
                self.say(&format!("Patient {} is number {}.", patient.code, patient.number), false);
            }
            News::Recorded(Recorded { number, code, closed }) => {
                let code = code.as_ref().map_or(String::new(), |code| format!("{code}, "));
                let end =
                    if *closed { " That was the last outcome: the trial is closed." } else { "" };
                self.say(&format!("Recorded for patient {code}number {number}.{end}"), false);
            }
            News::Noted(code) => {
                self.say(&format!("The note on patient {code} is in the log."), false);
            }
            News::Failed(why) => self.say(why, true),
            News::Pending(code) => self.unanswered = Some(code.clone()),
            // An address lets a browser in: no page learns of one.
            News::Found(_)
            | News::Report(_)
            | News::List(_)
            | News::Saved(_)
            | News::Entered(_) => {}
        }
    }

    fn say(&mut self, text: &str, error: bool) {
        self.message = Message { text: text.to_owned(), error, time: Timestamp::now().to_string() };
    }

    /// The state for the page.
    pub fn json(&self) -> Value {
        let trial = &self.trial;
        let (up, device) = match &self.connection {
            Connection::Looking => (false, "Looking for the device.".to_owned()),
            Connection::Up(port) => (true, port.clone()),
            Connection::Down(why) => (false, why.clone()),
        };
        let factors: Vec<_> = trial
            .factors
            .iter()
            .map(|factor| json!({ "name": factor.name, "levels": factor.levels }))
            .collect();
        let wanted = self.wanted.as_ref().map(|(code, feature)| {
            let levels = trial.factors.levels(*feature);
            json!({ "code": code, "levels": levels, "kind": trial.feature_name(*feature) })
        });
        let Message { text, error, time } = &self.message;
        json!({
            "title": trial.title, "question": trial.question, "labels": trial.labels,
            "blinded": trial.kits.is_some(),
            "scale": trial.plan.scale(), "factors": factors, "pattern": trial.code.pattern(),
            "unicode": trial.code.unicode(),
            "notes": NoteKind::ALL.map(|kind| json!({ "kind": kind, "name": kind.name() })),
            "up": up, "looking": self.connection == Connection::Looking, "device": device,
            "status": self.status.as_ref().map(progress),
            "full": self.status.as_ref().and_then(no_room),
            "waiting": self.waiting.iter().map(|one| patient(trial, one)).collect::<Vec<_>>(),
            "operator": self.operator, "unanswered": self.unanswered, "wanted": wanted,
            "message": { "text": text, "error": error, "time": time },
        })
    }

    /// The answer to an order; none if it is not the last word on it.
    pub fn answer(&self, news: &News) -> Option<Value> {
        let trial = &self.trial;
        Some(match news {
            News::Enrolled(one) => json!({ "done": "enrolled", "patient": patient(trial, one) }),
            News::Recorded(recorded) => json!({
                "done": "recorded", "code": recorded.code, "number": recorded.number,
                "closed": recorded.closed,
            }),
            News::Found(record) => json!({ "done": "found", "patient": whole(trial, record) }),
            News::Noted(code) => json!({ "done": "noted", "code": code }),
            News::Operator(name) => json!({ "done": "operator", "name": name }),
            News::Waiting(_) => json!({ "done": "dropped" }),
            News::Report(report) => {
                let (report, status) = report.as_ref();
                let effects = Effects::new(report, status, Some(trial));
                let rows = effects.all().map(|row| {
                    json!({
                        "name": row.name, "estimate": row.estimate, "low": row.low,
                        "high": row.high, "outcomes": row.outcomes,
                    })
                });
                let rows: Vec<_> = rows.collect();
                let arms = arms_of(trial);
                json!({
                    "done": "report", "svg": picture::svg(&trial.title, &effects, Some(&arms)),
                    "rows": rows, "enrolled": effects.enrolled, "outcomes": effects.outcomes(),
                    "why": effects.why, "arms": arms, "trial": effects.trial.to_string(),
                    "warning": effects.warning(),
                })
            }
            News::List(csv) => json!({ "done": "list", "csv": csv }),
            News::Failed(why) => json!({ "failed": why }),
            News::Connected(_)
            | News::Disconnected(_)
            | News::Progress(_)
            | News::Saved(_)
            | News::Pending(_)
            | News::Unanswered(_)
            | News::Entered(_)
            | News::Wanted { .. } => return None,
        })
    }
}

fn progress(status: &Status) -> Value {
    // True for every design: `uniform` measures from the first patient on, by a fair coin.
    let phase = match status.phase {
        Phase::Explore => "explore (which arm is better)",
        Phase::Measure => "measure (the effect)",
        Phase::Closed => "closed",
    };
    let look = match status.next_look {
        NextLook::After(resolved) => format!("next look after {resolved} resolved patients"),
        NextLook::AtClose => "next look at the close".to_owned(),
        NextLook::None => format!("looks so far {}", status.looks),
    };
    json!({
        "assigned": status.assigned, "patients": status.patients, "waiting": status.waiting,
        "phase": phase, "look": look, "closed": status.phase == Phase::Closed,
    })
}

/// The form of a patient on the page, in JSON.
fn patient(trial: &TrialFile, patient: &Patient) -> Value {
    json!({
        "code": patient.code, "number": patient.number, "kind": trial.feature_name(patient.feature),
        "arm": arm(trial, patient), "since": patient.since.to_string(), "operator": patient.operator,
        "due": trial.due.map(|due| due.after(patient.since).to_string()),
        "folded": folded(&patient.code),
    })
}

/// The treatment of a patient as the page shows it: `sign` chooses colour and shape, and is 2 for
/// every kit of a blinded trial. The only place where the page learns of an arm.
fn arm(trial: &TrialFile, patient: &Patient) -> Value {
    let sign = patient.given.arm().map_or(KIT_SIGN, Arm::index);
    json!({ "name": trial.given_name(&patient.given), "sign": sign })
}

/// The sign of a kit.
const KIT_SIGN: usize = 2;

/// The names of the arms in a report: in a blinded trial they are for the custodian alone.
fn arms_of(trial: &TrialFile) -> [String; 2] {
    if trial.kits.is_some() { ["arm 0", "arm 1"].map(str::to_owned) } else { trial.arms.clone() }
}

fn whole(trial: &TrialFile, record: &Record) -> Value {
    let notes = record.notes.iter().map(|note| {
        json!({
            "time": note.time, "operator": note.operator, "kind": note.kind.name(),
            "text": note.text,
        })
    });
    let mut shown = patient(trial, &record.patient);
    shown["recorded"] = json!(record.recorded);
    shown["notes"] = notes.collect();
    shown
}
