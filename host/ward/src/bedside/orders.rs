//! Messages between views and the device thread.
//!
//! A view (the screen, the page in the browser) gives an [`Order`] under its [`Ticket`]. The thread
//! answers with [`News`]: for everybody, or for one ticket.

use crate::bedside::Recorded;
use crate::line::client::Report;
use crate::records::log::NoteKind;
use crate::records::register::{Note, Patient};
use equipoise::wire::Status;

/// Who is told the answer to an order.
pub type Ticket = u64;

/// Whether there is a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// Not known yet.
    Looking,
    /// Yes, on this port.
    Up(String),
    /// No; why.
    Down(String),
}

/// The ticket of the screen in this terminal.
pub const SCREEN: Ticket = 0;

/// An order and the ticket it was given under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Who is told the answer.
    pub ticket: Ticket,
    /// The order.
    pub order: Order,
}

/// News and whom it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The ticket of the order that it answers; none if it is for everybody.
    pub ticket: Option<Ticket>,
    /// The news.
    pub news: News,
}

/// Log record of a patient with an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Code, number, kind, arm, time and operator.
    pub patient: Patient,
    /// When the outcome or loss was recorded.
    pub recorded: Option<String>,
    /// The notes, in order.
    pub notes: Vec<Note>,
}

/// Order of a person at a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// An arm for a patient.
    Enrol {
        /// Patient code.
        code: String,
        /// Kind of patient.
        feature: u8,
    },
    /// An outcome.
    Outcome {
        /// The patient's number.
        number: u32,
        /// The outcome.
        y: u16,
    },
    /// No outcome, ever.
    Lost {
        /// The patient's number.
        number: u32,
    },
    /// Another kit, for one that cannot be used; what comes back is as after an enrolment.
    Replace {
        /// The patient's number.
        number: u32,
    },
    /// A note on a patient.
    Note {
        /// The patient's number.
        number: u32,
        /// Kind of note.
        kind: NoteKind,
        /// Text of the note.
        text: String,
    },
    /// The arm of a patient who was enrolled before.
    Find {
        /// Patient code.
        code: String,
    },
    /// Another person works at the terminal.
    Operator {
        /// Name or initials.
        name: String,
    },
    /// The report, if there is one.
    Report,
    /// The list of all enrolments, as CSV.
    List,
    /// The same, written to a file beside the log.
    SaveList,
    /// Give up an enrolment that an earlier terminal had confirmed and not asked for.
    Drop {
        /// Patient code.
        code: String,
    },
}

/// News from the device thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The device answers, on this port.
    Connected(String),
    /// The device does not answer; why.
    Disconnected(String),
    /// The public facts.
    Progress(Status),
    /// Everybody whose outcome is waited for.
    Waiting(Vec<Patient>),
    /// A patient has an arm, or a kit.
    Enrolled(Patient),
    /// An outcome or a loss was recorded.
    Recorded(Recorded),
    /// A patient who was enrolled before.
    Found(Record),
    /// A note is in the log: the patient's code.
    Noted(String),
    /// Who works at the terminal.
    Operator(String),
    /// An order was not carried out; why.
    Failed(String),
    /// The report of the device, with the facts at that time.
    Report(Box<(Report, Status)>),
    /// The list of all enrolments, as CSV.
    List(String),
    /// The list is in this file.
    Saved(String),
    /// An enrolment is in the log and has no answer yet: the code.
    Pending(String),
    /// The code whose enrolment was confirmed and has no answer yet, or that there is none.
    Unanswered(Option<String>),
    /// An earlier terminal ended between the confirmation of an enrolment and asking for it.
    Wanted {
        /// Patient code.
        code: String,
        /// Kind of patient.
        feature: u8,
    },
    /// A browser opened the page; the next one needs this address. For the screen alone.
    Entered(String),
}
