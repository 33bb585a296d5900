//! Messages between views and the device thread.
//!
//! A view (the screen, the page in the browser) gives an [`Order`] under its [`Ticket`]. The thread
//! answers with [`News`]: for everybody, or for one ticket.

use std::time::Duration;

use crate::bedside::seats::{Seat, Signed};
use crate::bedside::{Recorded, Unblinded};
use crate::line::client::Report;
use crate::records::eligibility::Answer;
use crate::records::log::NoteKind;
use crate::records::pin::Pin;
use crate::records::register::{KitGiven, Note, Patient};
use crate::records::resolution::Resolution;
use crate::records::trial_file::TrialFile;
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
    /// Yes, but this trial cannot run on it; why.
    Unfit(String),
}

/// The ticket of the screen in this terminal.
pub const SCREEN: Ticket = 0;

/// An order and the ticket it was given under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Who is told the answer.
    pub ticket: Ticket,
    /// The seat it was given at.
    pub seat: Seat,
    /// The PIN of the person at the seat, if they signed.
    pub pin: Option<Pin>,
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
    /// How the wait for the outcome ended.
    pub resolved: Option<Resolution>,
    /// The notes, in order.
    pub notes: Vec<Note>,
    /// The kits of a blinded trial, in order.
    pub kits: Vec<KitGiven>,
}

/// How long the device thread tells nothing before a view says that the device is silent. It tells
/// something every second, and the slowest answer of a device takes 2.5 seconds.
pub const SILENCE: Duration = Duration::from_secs(3);

/// Order of a person at a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// An arm for a patient.
    Enrol {
        /// Patient code.
        code: String,
        /// Kind of patient.
        feature: u8,
        /// Answers about eligibility and consent; none if the log has them already.
        answers: Vec<Answer>,
    },
    /// Whether a code can be enrolled.
    Check {
        /// Patient code.
        code: String,
        /// Kind of patient, if it was chosen.
        feature: Option<u8>,
    },
    /// Answers of which one excludes a patient.
    NotEligible {
        /// In the order of the questions, up to the one that excludes.
        answers: Vec<Answer>,
    },
    /// A person begins to work at the seat.
    SignIn {
        /// Short id.
        id: String,
        /// Their PIN.
        pin: Pin,
    },
    /// The person at the seat leaves it.
    SignOut,
    /// The person at the seat is still there.
    Here,
    /// Whether the PIN that came with it is that of the person at the seat.
    CheckPin,
    /// An outcome.
    Outcome {
        /// The patient's number.
        number: u32,
        /// The outcome.
        y: u16,
        /// Whether a person confirmed it in spite of a doubt.
        anyway: bool,
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
        /// Why the kit cannot be used.
        reason: String,
    },
    /// A note on a patient.
    Note {
        /// The patient's number.
        number: u32,
        /// Kind of note.
        kind: NoteKind,
        /// Text of the note.
        text: String,
        /// The kind of patient that would have been right, for a note about a wrong one.
        should_be: Option<u8>,
    },
    /// The records of patients that this log does not know are elsewhere.
    Elsewhere {
        /// The gap in words, as the person has read it.
        gap: String,
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
    /// The arm of a blinded patient, in an emergency.
    Unblind {
        /// The patient's number.
        number: u32,
        /// Why the arm must be known.
        reason: String,
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
    /// The device answers, but this trial cannot run on it; why.
    Unfit(String),
    /// Whether the device is a virtual one, for practice.
    Practice(bool),
    /// A code can be enrolled; the form in which it is kept.
    Checked(String),
    /// A code is enrolled already.
    Known {
        /// In words.
        why: String,
        /// The code as it was enrolled.
        code: String,
    },
    /// The public facts.
    Progress(Status),
    /// Everybody whose outcome is waited for.
    Waiting(Vec<Patient>),
    /// The records that this log does not have, in words; none if it has all.
    Gap(Option<String>),
    /// A patient has an arm, or a kit.
    Enrolled(Patient),
    /// An outcome was recorded, or declared lost.
    Recorded(Recorded),
    /// A patient who was enrolled before.
    Found(Record),
    /// A note is in the log: the patient's code.
    Noted(String),
    /// Who works at the terminal.
    Operator(String),
    /// An outcome was not sent, because there is a doubt about it; a person may confirm it.
    Doubt(String),
    /// An order was not carried out; why.
    Failed(String),
    /// An order was not carried out because of the PIN; why.
    WrongPin(String),
    /// Who is signed in where; none if there is no staff file.
    Seats(Option<Signed>),
    /// The person at the seat signed in or out, is still there, or typed the right PIN.
    Seated,
    /// A patient is not eligible; why.
    Excluded(String),
    /// Whether this machine may unblind.
    Unblinds(bool),
    /// A patient was unblinded. For the view that asked alone.
    Unblinded(Box<Unblinded>),
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

/// The sentence that says what a patient was given: a number, or a kit in place of another.
#[must_use]
pub fn given(trial: &TrialFile, patient: &Patient) -> String {
    let Patient { code, number, .. } = patient;
    trial.replaced_name(&patient.given).map_or_else(
        || format!("Patient {code} is number {number}."),
        |old| {
            let new = trial.given_name(&patient.given);
            format!("Patient {code} has kit {new} instead of {old}.")
        },
    )
}
