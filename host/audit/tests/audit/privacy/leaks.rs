//! Devices that leak on purpose, and whether the audit notices.
//!
//! Every [`Mutant`] is the device that ships with one part broken, and names the method that
//! catches it. `docs/privacy.md` lists them all; a test compares.

mod parts;
mod replies;

use std::path::Path;

use equipoise::plan::{DesignName, Plan};
use equipoise::terms::Arm;
use equipoise_audit::desk::{Desk, Fault, Steady};
use equipoise_audit::exact;
use equipoise_audit::exact::{Act, Case, Patient, Record, Room, SmallDesk, Stage, View};
use equipoise_audit::finding::TOLERANCE;
use equipoise_audit::loss::Loss;
use equipoise_audit::pairs::{Kind, Pair};
use equipoise_audit::seeds;
use rayon::prelude::*;

use super::mutants::exceeds;
use super::plan;
pub use replies::PARITY;

/// The method that catches a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// The exact audit of a trial of three patients.
    Exact,
    /// Pairs of trials of up to 620 patients.
    Pairs,
    /// Pairs of trials of more than 1,000 patients, in 4 to 64 features.
    Large,
    /// Pairs of blinded trials.
    Blinded,
    /// Seeds over many starts.
    Seeds,
}

impl Caught {
    /// The name in `docs/privacy.md`.
    const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Pairs => "pairs",
            Self::Large => "large pairs",
            Self::Blinded => "blinded pairs",
            Self::Seeds => "seeds",
        }
    }
}

/// A broken part.
pub enum Defect {
    /// Of the device at work.
    Device(Fault),
    /// Of its seeds, by their number since the start.
    Seeds(seeds::Spoil),
}

/// A device that leaks.
pub struct Mutant {
    /// Room of the device in which the fault is.
    pub room: &'static str,
    /// The fault, in a few words.
    pub about: &'static str,
    pub caught: Caught,
    pub defect: Defect,
}

impl Mutant {
    const fn new(room: &'static str, about: &'static str, caught: Caught, fault: Fault) -> Self {
        Self { room, about, caught, defect: Defect::Device(fault) }
    }

    const fn of_seeds(room: &'static str, about: &'static str, spoil: seeds::Spoil) -> Self {
        Self { room, about, caught: Caught::Seeds, defect: Defect::Seeds(spoil) }
    }
}

fn all() -> impl Iterator<Item = &'static Mutant> {
    replies::MUTANTS.iter().chain(parts::MUTANTS)
}

/// A room whose device is broken.
struct Leaking(Fault, View);

impl Room for Leaking {
    fn desk(&self, plan: &Plan) -> Option<SmallDesk> {
        Desk::new(plan, Steady::new(), 16, Some(self.0)).ok()
    }

    fn perform(&self, on: &mut Stage<'_>, act: Act) -> Option<Arm> {
        self.1.perform(on, act)
    }
}

/// The loss of a trial of three patients, whose first is open and has arm 0.
fn exact(room: &impl Room) -> Loss {
    let plan = plan("features=1 patients=3 epsilon=20 alpha=0");
    let patient = |outcome| Patient { feature: 0, outcome };
    let case = Case::new(plan, vec![patient(Some(1)); 3], 0);
    let record = |outcome| Record { patient: patient(outcome), arm: Some(Arm::Zero) };
    exact::laws(&case, &[Some(1), Some(0), None].map(record), room).worst(20.0)
}

/// Whether any of so many pairs of a kind, at an epsilon, loses more than epsilon.
fn pair_exceeds(kind: Kind, pairs: u64, epsilon: &str, fault: Option<Fault>) -> bool {
    let claimed: f64 = epsilon.parse().unwrap();
    let one = |seed| kind(DesignName::Interim, epsilon, seed).run(fault, None).0;
    (0..pairs).any(|seed| one(seed).epsilon > claimed + TOLERANCE)
}

/// Whether the method named finds the fault.
fn is_caught(caught: Caught, fault: Option<Fault>) -> bool {
    match caught {
        // A leak into a reply shows without the ledger, which takes longer.
        Caught::Exact => [View::Arms, View::Ledger].into_iter().any(|view| {
            exceeds(fault.map_or_else(|| exact(&view), |fault| exact(&Leaking(fault, view))))
        }),
        Caught::Pairs => pair_exceeds(Pair::random, 24, "1", fault),
        Caught::Large => pair_exceeds(Pair::large, 12, "8", fault),
        Caught::Blinded => pair_exceeds(Pair::blinded, 12, "8", fault),
        Caught::Seeds => false,
    }
}

/// Every mutant is caught by the method that it names. Requirement S2.
#[test]
fn every_mutant_is_caught() {
    let is_missed = |mutant: &&Mutant| match mutant.defect {
        Defect::Device(fault) => !is_caught(mutant.caught, Some(fault)),
        Defect::Seeds(spoil) => seeds::examine(DesignName::Interim, Some(spoil)).is_ok(),
    };
    let missed: Vec<_> =
        all().par_bridge().filter(is_missed).map(|m| (m.caught, m.about)).collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

/// The device that ships passes wherever mutants are caught.
#[test]
fn the_sound_device_is_not_caught() {
    for caught in [Caught::Exact, Caught::Pairs, Caught::Large, Caught::Blinded] {
        assert!(!is_caught(caught, None), "{caught:?}");
    }
    assert_eq!(seeds::examine(DesignName::Interim, None), Ok(()));
}

/// The small trial is too small for a leak that begins later.
#[test]
fn exact_is_blind_to_what_begins_later() {
    let later = all().find(|mutant| mutant.about.contains("from patient 150 on")).unwrap();
    let Defect::Device(fault) = later.defect else { panic!("{}", later.about) };
    let loss = exact(&Leaking(fault, View::Ledger));
    assert!(!exceeds(loss), "{loss:?}");
}

/// `docs/privacy.md` has a row for every mutant, and no other, with the method that catches it.
#[test]
fn document_lists_every_mutant() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/privacy.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, table) = text.split_once("| room | leak | caught by |\n|---|---|---|\n").unwrap();
    let listed: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    let row = |m: &Mutant| format!("| {} | {} | {} |", m.room, m.about, m.caught.name());
    let expected: Vec<String> = all().map(row).collect();
    assert_eq!(
        listed.join("\n"),
        expected.join("\n"),
        "the table should be:\n{}",
        expected.join("\n")
    );
}

/// Devices are broken in tests only: no source of a product breaks a part.
#[test]
fn no_product_is_broken() {
    fn sources(folder: &Path, found: &mut usize) {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                sources(&entry, found);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&entry).unwrap();
                assert!(!text.contains("Broken for "), "{}", entry.display());
                *found += 1;
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = 0;
    for folder in ["src", "host/audit/src", "host/cli/src", "host/study/src", "host/ward/src"] {
        sources(&root.join(folder), &mut found);
    }
    assert!(found > 200, "only {found} sources were found");
}

/// Every room of the device has at least two mutants.
#[test]
fn every_room_has_mutants() {
    for room in ["device", "trial", "design", "journal", "wire", "kits", "board"] {
        let count = all().filter(|mutant| mutant.room == room).count();
        assert!(count >= 2, "{room}: {count}");
    }
}
