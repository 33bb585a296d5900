//! State shown by every page: a fold over the news, and its form in JSON.

use equipoise::terms::Arm;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::bedside::no_room;
use crate::bedside::orders::{Connection, News, Record, Told, given};
use crate::bedside::seats::Signed;
use crate::records::alike::folded;
use crate::records::eligibility::Question;
use crate::records::log::NoteKind;
use crate::records::register::Patient;
use crate::records::report::Effects;
use crate::records::trial_file::TrialFile;
use crate::records::words::stamp;
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
    gap: Option<String>,
    unanswered: Option<String>,
    wanted: Option<(String, u8)>,
    message: Message,
    /// Whether the device is a virtual one.
    practice: bool,
    /// Whether this machine may unblind.
    unblinds: bool,
    /// Who is signed in where; none if there is no staff file.
    seats: Option<Signed>,
}

impl State {
    pub fn new(trial: TrialFile) -> Self {
        Self {
            trial,
            connection: Connection::Looking,
            status: None,
            waiting: Vec::new(),
            operator: String::new(),
            gap: None,
            unanswered: None,
            wanted: None,
            message: Message::default(),
            practice: false,
            unblinds: false,
            seats: None,
        }
    }

    pub const fn trial(&self) -> &TrialFile {
        &self.trial
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
            News::Unfit(why) => self.connection = Connection::Unfit(why.clone()),
            News::Practice(practice) => self.practice = *practice,
            News::Unblinds(unblinds) => self.unblinds = *unblinds,
            News::Progress(status) => self.status = Some(*status),
            News::Gap(gap) => self.gap.clone_from(gap),
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
                self.say(&given(&self.trial, patient), false);
            }
            News::Recorded(recorded) => self.say(&recorded.in_words(), false),
            News::Noted(code) => {
                self.say(&format!("The note on patient {code} is in the log."), false);
            }
            // The view that gave an order is told of its failure; nobody else acts on it.
            News::Failed(_) | News::WrongPin(_) if told.ticket.is_some() => {}
            News::Failed(why) | News::WrongPin(why) => self.say(why, true),
            News::Excluded(why) => self.say(&format!("A patient is {why}."), false),
            News::Seats(seats) => self.seats.clone_from(seats),
            News::Seated => {}
            News::Pending(code) => self.unanswered = Some(code.clone()),
            // An address lets a browser in: no page learns of one.
            News::Found(_)
            | News::Doubt(_)
            | News::Report(_)
            | News::List(_)
            | News::Saved(_)
            | News::Checked(_)
            | News::Known { .. }
            // An arm is for the tab that asked.
            | News::Unblinded(_)
            | News::Entered(_) => {}
        }
    }

    fn say(&mut self, text: &str, error: bool) {
        self.message = Message { text: text.to_owned(), error, time: Timestamp::now().to_string() };
    }

    /// Whether the page at this seat may see patients and work.
    pub fn is_open(&self, seat: &str) -> bool {
        self.seats.as_ref().is_none_or(|signed| signed.contains_key(seat))
    }

    /// The state for the page at this seat. Where nobody signed in, it has nothing of patients. A
    /// `silent` device has been asked and has not answered for some time.
    pub fn json_at(&self, seat: &str, silent: bool) -> Value {
        let mut shown = self.json();
        if silent && matches!(self.connection, Connection::Up(_)) {
            shown["link"] = "silent".into();
            shown["up"] = false.into();
        }
        shown["staff"] = self.seats.is_some().into();
        shown["signed"] = json!(self.seats.as_ref().and_then(|signed| signed.get(seat)));
        if let Some(signed) = &self.seats {
            shown["operator"] = json!(signed.get(seat));
        }
        if !self.is_open(seat) {
            shown["waiting"] = json!([]);
            shown["message"] = json!({ "text": "", "error": false, "time": "" });
            (shown["unanswered"], shown["wanted"]) = (Value::Null, Value::Null);
        }
        shown
    }

    /// Text that changes whenever a page at some seat is to be told something.
    pub fn whole_text(&self) -> String {
        format!("{}{:?}", self.json(), self.seats)
    }

    fn json(&self) -> Value {
        let trial = &self.trial;
        let (link, device) = match &self.connection {
            Connection::Looking => ("looking", "Looking for the device."),
            Connection::Up(port) => ("up", port.as_str()),
            Connection::Down(why) => ("down", why.as_str()),
            Connection::Unfit(why) => ("unfit", why.as_str()),
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
            "scale": trial.plan.scale(), "factors": factors, "hint": trial.code.hint(),
            "direction": trial.direction(), "better": trial.better(),
            "notes": NoteKind::ALL.map(|kind| json!({ "kind": kind, "name": kind.name() })),
            "up": link == "up", "link": link, "device": device, "practice": self.practice,
            "unblinds": self.unblinds,
            "id": self.status.as_ref().map(|status| status.name.id.to_string()),
            "status": self.status.as_ref().map(progress),
            "full": self.status.as_ref().and_then(no_room),
            "waiting": self.waiting.iter().map(|one| patient(trial, one)).collect::<Vec<_>>(),
            "eligibility": trial.eligibility.questions().iter().map(question).collect::<Vec<_>>(),
            "sign": trial.signing.acts, "lock": trial.signing.lock_after().as_secs(),
            "operator": self.operator, "gap": self.gap, "unanswered": self.unanswered,
            "wanted": wanted,
            "message": { "text": text, "error": error, "time": time },
        })
    }

    /// The answer to an order; none if it is not the last word on it.
    pub fn answer(&self, news: &News) -> Option<Value> {
        let trial = &self.trial;
        Some(match news {
            News::Enrolled(one) => json!({ "done": "enrolled", "patient": patient(trial, one) }),
            News::Recorded(recorded) => json!({
                "done": if recorded.lost { "lost" } else { "recorded" },
                "code": recorded.code, "number": recorded.number,
                "closed": recorded.closed,
            }),
            News::Found(record) => json!({ "done": "found", "patient": whole(trial, record) }),
            News::Gap(_) => json!({ "done": "elsewhere" }),
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
                    "done": "report",
                    "rows": rows, "enrolled": effects.enrolled, "outcomes": effects.outcomes(),
                    "why": effects.why, "arms": arms, "trial": effects.trial.to_string(),
                    "warning": effects.warning(), "stage": effects.progress.headline(),
                    "resolved": effects.progress.end.resolved,
                })
            }
            News::List(csv) => json!({ "done": "list", "csv": csv }),
            News::Doubt(why) => json!({ "doubt": why }),
            News::Failed(why) | News::WrongPin(why) => json!({ "failed": why }),
            News::Excluded(why) => json!({ "done": "excluded", "why": why }),
            News::Seated => json!({ "done": "seated" }),
            News::Checked(code) => json!({ "done": "checked", "code": code }),
            News::Unblinded(told) => json!({
                "done": "unblinded", "code": told.patient.code, "number": told.patient.number,
                "arm": { "name": trial.arm_name(told.arm), "sign": told.arm.index() },
                "time": told.entry.time, "operator": told.entry.operator,
            }),
            News::Known { why, code } => json!({ "failed": why, "known": code }),
            News::Connected(_)
            | News::Disconnected(_)
            | News::Unfit(_)
            | News::Practice(_)
            | News::Unblinds(_)
            | News::Progress(_)
            | News::Saved(_)
            | News::Pending(_)
            | News::Unanswered(_)
            | News::Seats(_)
            | News::Entered(_)
            | News::Wanted { .. } => return None,
        })
    }
}

fn question(question: &Question) -> Value {
    json!({ "text": question.text, "allowed": question.allowed, "consent": question.consent })
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
        "assigned": status.assigned, "patients": status.patients, "waiting": status.waiting(),
        "phase": phase, "look": look, "looks": status.looks, "closed": status.phase == Phase::Closed,
        "results": !status.results.takes_proof(status.phase == Phase::Closed),
    })
}

/// The form of a patient on the page, in JSON.
fn patient(trial: &TrialFile, patient: &Patient) -> Value {
    json!({
        "code": patient.code, "number": patient.number, "kind": trial.feature_name(patient.feature),
        "arm": arm(trial, patient), "since": stamp(patient.since), "operator": patient.operator,
        "due": trial.due.map(|due| stamp(due.after(patient.since))),
        "folded": folded(&patient.code), "marks": patient.marks.words(),
        "withdrawn": patient.marks.is_withdrawn(), "instead": trial.replaced_name(&patient.given),
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
            "text": note.text, "should_be": note.should_be,
        })
    });
    let mut shown = patient(trial, &record.patient);
    shown["resolved"] = record.resolved.as_ref().map_or(Value::Null, |resolved| {
        let (ending, time, by) = (resolved.ending.name(), &resolved.time, &resolved.operator);
        json!({ "ending": ending, "time": time, "operator": by })
    });
    shown["notes"] = notes.collect();
    let kits = record.kits.iter().map(|given| {
        json!({
            "label": trial.kit_label(given.kit), "time": stamp(given.time),
            "operator": given.operator, "reason": given.reason,
        })
    });
    shown["kits"] = kits.collect();
    shown
}
