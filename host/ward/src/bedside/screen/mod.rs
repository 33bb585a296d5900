//! The bedside screen: model, update, view.
//!
//! The [`Model`] is everything the screen knows; [`Model::key`] and [`Model::news`] change it and
//! may give an [`Order`] for the device; [`view`](view::view) draws it and changes nothing. None of
//! them waits: orders go to the thread of [`super::worker`], which owns device and log, and its
//! answers come back as [`News`]. So the screen never hangs, and a test can play every scene
//! without a device.
//!
//! The scenes and the keys between them:
//!
//! ```text
//! list --E--> code --Enter--> kind --Enter--> sure? --E--> asking --> ARM in large letters --Enter--> list
//! list --O or Enter--> outcome --Enter--> sure? --R--> (early, late? --A-->) asking --> list
//! list --L--> sure? --R--> asking --> list            list --A--> the arm once more        Esc: one step back
//! list --K--> reason --Enter--> sure? --G--> asking --> the other kit (blinded trials)
//! list --N--> kind of note --Enter--> note --Enter--> list    list --F--> code --Enter--> arm    list --I--> operator
//! sign in --Enter--> list (where there is a staff file); list --E--> questions about eligibility --Enter--> code
//! sure? --Enter--> PIN --Enter--> asking (acts that are signed)
//! list --/ or a digit--> search, part of a code       Enter: keep the matches, Esc: all patients again
//! ```
//!
//! A chosen outcome is held only by the scenes in which it is chosen and confirmed.

mod confirm;
mod help;
pub mod letters;
mod news;
mod picker;
pub mod run;
mod sign;
mod update;
pub mod view;
mod waiting;
mod widgets;

pub use crate::bedside::orders::{Connection, News, Order};
pub use picker::Picker;

use jiff::Timestamp;

use crate::records::eligibility::Answer;
use crate::records::log::NoteKind;
use crate::records::pin::Pin;
use crate::records::register::Patient;
use crate::records::trial_file::TrialFile;
use equipoise::wire::Status;

/// Scene in the middle of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scene {
    /// Patients waiting for their outcome.
    List,
    /// Typing the code of the next patient.
    Code {
        /// The text typed so far.
        text: String,
    },
    /// Choosing the kind of the next patient, one factor after the other.
    Kind {
        /// The patient code.
        code: String,
        /// Levels chosen so far, one a factor.
        levels: Vec<usize>,
        /// The level of the next factor.
        picker: Picker,
    },
    /// Confirming an enrolment.
    SureEnrol {
        /// The patient code.
        code: String,
        /// The kind of patient.
        feature: u8,
        /// Whether an earlier terminal had confirmed it.
        resumed: bool,
    },
    /// The device has been asked.
    Asking {
        /// The request, in words.
        what: String,
        /// Whether it is an enrolment, which goes on without this screen.
        enrolment: bool,
        /// Whether it is in the log.
        logged: bool,
    },
    /// The arm of a patient, in large letters.
    Arm(Patient),
    /// Choosing an outcome from its labels.
    Outcome {
        /// The patient.
        patient: Patient,
        /// The label under the cursor.
        picker: Picker,
    },
    /// Typing an outcome.
    Number {
        /// The patient.
        patient: Patient,
        /// The text typed so far.
        text: String,
    },
    /// Confirming an outcome (`None`: its loss).
    SureOutcome {
        /// The patient.
        patient: Patient,
        /// The outcome.
        y: Option<u16>,
    },
    /// Confirming an outcome about which there is a doubt.
    SureAnyway {
        /// The patient.
        patient: Patient,
        /// The outcome.
        y: u16,
        /// The doubt, in words.
        why: String,
    },
    /// Typing why a kit cannot be used.
    Reason {
        /// The patient.
        patient: Patient,
        /// The text typed so far.
        text: String,
    },
    /// Confirming a replacement kit.
    SureReplace {
        /// The patient.
        patient: Patient,
        /// Why the kit cannot be used.
        reason: String,
    },
    /// Confirming that records which the log does not have are elsewhere.
    SureElsewhere {
        /// The gap in words.
        gap: String,
    },
    /// Choosing what a note is about.
    NoteKind {
        /// The patient.
        patient: Patient,
        /// The kind under the cursor.
        picker: Picker,
    },
    /// Choosing the kind of patient that would have been right, one factor after the other.
    RightKind {
        /// The patient.
        patient: Patient,
        /// Levels chosen so far, one a factor.
        levels: Vec<usize>,
        /// The level of the next factor.
        picker: Picker,
    },
    /// Typing a note.
    Note {
        /// The patient.
        patient: Patient,
        /// Kind of note.
        kind: NoteKind,
        /// The kind of patient that would have been right, of a note about a wrong one.
        should_be: Option<u8>,
        /// The text typed so far.
        text: String,
    },
    /// Typing the code of a patient who was enrolled before.
    Find {
        /// The text typed so far.
        text: String,
    },
    /// Typing who works at the terminal.
    Operator {
        /// The text typed so far.
        text: String,
    },
    /// The list of keys.
    Help,
    /// Nobody is signed in: typing id and PIN.
    SignIn {
        /// Short id.
        id: String,
        /// The PIN, once the id was entered.
        pin: Option<Pin>,
    },
    /// Typing the PIN for an order that is signed.
    Pin {
        /// The PIN so far.
        text: Pin,
        /// The order.
        order: Box<Order>,
        /// The scene after it.
        then: Box<Self>,
        /// The scene before it.
        back: Box<Self>,
    },
    /// Answering a question about eligibility; the answers so far are the model's.
    Eligible {
        /// The answer under the cursor.
        picker: Picker,
    },
}

/// Everything the screen knows.
#[derive(Clone, Debug)]
pub struct Model {
    /// The names of the trial.
    pub trial: TrialFile,
    /// Whether there is a device.
    pub connection: Connection,
    /// Whether the device has been asked and has not answered for some time.
    pub silent: bool,
    /// Whether the device is a virtual one.
    pub practice: bool,
    /// The public facts, as last heard.
    pub status: Option<Status>,
    /// Patients without an outcome, the longest waiting first.
    pub waiting: Vec<Patient>,
    /// The records that the log does not have, in words.
    pub gap: Option<String>,
    /// Which of the patients shown is under the cursor.
    pub cursor: usize,
    /// Part of a code: only patients with it are shown.
    pub search: String,
    /// Whether keys change the search.
    pub searching: bool,
    /// The number of the patient who was chosen when the search began.
    before_search: Option<u32>,
    /// The scene in the middle.
    pub scene: Scene,
    /// Who works at the terminal.
    pub operator: String,
    /// The last thing worth saying.
    pub message: String,
    /// Whether it is an error.
    pub error: bool,
    /// The time, for how long patients have waited.
    pub now: Timestamp,
    /// Whether to use colour.
    pub colour: bool,
    /// Whether to leave the screen.
    pub quit: bool,
    /// Whether the trial has a staff file.
    pub staff: bool,
    /// Answers about eligibility, for the enrolment that is being entered.
    pub answers: Vec<Answer>,
    /// The PIN for the order that is given next.
    pub pin: Option<Pin>,
    /// The scene to go back to if that PIN is wrong.
    before_pin: Option<Box<Scene>>,
    /// News of a patient that came while nobody was signed in.
    held: Option<Box<News>>,
}

impl Model {
    /// A screen that has heard nothing yet.
    #[must_use]
    pub const fn new(trial: TrialFile, now: Timestamp, colour: bool) -> Self {
        Self {
            trial,
            connection: Connection::Looking,
            silent: false,
            practice: false,
            status: None,
            waiting: Vec::new(),
            gap: None,
            cursor: 0,
            search: String::new(),
            searching: false,
            before_search: None,
            scene: Scene::List,
            operator: String::new(),
            message: String::new(),
            error: false,
            now,
            colour,
            quit: false,
            staff: false,
            answers: Vec::new(),
            pin: None,
            before_pin: None,
            held: None,
        }
    }
}
