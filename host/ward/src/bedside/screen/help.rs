//! Keys of every scene, in words.

use super::sign::sign_help;
use super::{Model, Scene};

/// The keys that can be pressed now.
pub(super) const fn keys(model: &Model) -> &'static str {
    if let Some(keys) = sign_help(model) {
        return keys;
    }
    match &model.scene {
        Scene::List if model.searching => {
            "Type part of a code   Up/Down choose   Enter keep   Esc all"
        }
        Scene::List if model.waiting.is_empty() => {
            "E enrol   F find   I operator   ? help   Q quit"
        }
        Scene::List if model.trial.kits.is_some() => {
            "E enrol  / search  O outcome  L lost  A kit  K other kit  N note  ? help  Q quit"
        }
        Scene::List => {
            "E enrol  / search  O outcome  L lost  A arm  N note  F find  ? help  Q quit"
        }
        Scene::Code { .. } => "Type the code   Enter next   Esc back",
        Scene::Kind { .. }
        | Scene::Outcome { .. }
        | Scene::NoteKind { .. }
        | Scene::RightKind { .. } => "Up/Down or number choose   Enter next   Esc back",
        Scene::Number { .. } => "Type the number   Enter next   Esc back",
        Scene::Reason { .. } => "Type the reason   Enter next   Esc back",
        Scene::Note { .. } => "Type the note   Enter write it to the log   Esc back",
        Scene::Find { .. } => "Type the code   Enter show the arm   Esc back",
        Scene::Operator { .. } => "Type a name   Enter switch   Esc back",
        Scene::SureEnrol { resumed: true, .. } => "R enrol   Esc do not enrol",
        Scene::SureEnrol { .. } => "E enrol   Esc back",
        Scene::SureReplace { .. } => "G give another kit   Esc back",
        Scene::SureElsewhere { .. } => "C confirm   Esc back",
        Scene::SureOutcome { .. } => "R record as shown   Esc back",
        Scene::SureAnyway { .. } => "A record anyway   Esc back",
        Scene::Asking { enrolment: true, logged: true, .. } => {
            "Please wait   Q quit (nothing is lost)"
        }
        Scene::Asking { .. } => "Please wait",
        Scene::Arm(_) => "Enter when you have read it",
        _ => "Enter or Esc back",
    }
}

/// The scene of all keys.
pub(super) const HELP: &str = "
  E          enrol the next patient: code and kind, then the arm or kit appears
  Up, Down   choose a patient who is waiting for an outcome
  /, digits  search the waiting patients by part of their code
  O, Enter   enter the outcome of the chosen patient
  L          declare that the outcome will never come
  A          show the arm or kit of the chosen patient once more
  K          give the chosen patient another kit (blinded trials)
  N          write a note on the chosen patient
  F          find the arm or kit of a patient who was enrolled before
  I          switch the operator; with a staff file: sign out
  C          write the list of all enrolments to a CSV file beside the log
  Q          leave; nothing is lost, the next start goes on here

  An outcome goes to the device and is kept nowhere on this terminal.
  If the device is unplugged, plug it in again: the terminal goes on.";
