//! `equipoise demo`: a whole trial from the first patient to the report, end to end over a device's
//! serial line.
//!
//! Patients are simulated; everything else is real: the device (virtual, or the firmware under
//! QEMU), the line with its checksums and tags, the terminal's client and log. Outcomes come late,
//! some never. In the first half the power fails in the middle of an enrolment. The true effects,
//! with which the estimates are compared, are known to the simulation only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bedside::Bedside;
use crate::failure::Failure;
use crate::line::boards::StartedBoard;
use crate::line::client::Client;
use crate::line::custodian;
use crate::records::keys::KeyFile;
use crate::records::kit_label::{KitLabel, RawLabel};
use crate::records::log;
use crate::records::register::Treatment;
use crate::records::report::{self, Effects};
use crate::records::trial_file::TrialFile;
use equipoise::kits::all::arms;
use equipoise::plan::Plan;
use equipoise::terms::Arm;
use equipoise::terms::Phase;
use equipoise::wire::FileDigest;
use equipoise_study::output::say;

/// Chance of a good outcome on arm 0 and arm 1, by feature; further features repeat the list.
const TRUTH: [[f64; 2]; 4] = [[0.35, 0.65], [0.30, 0.60], [0.45, 0.55], [0.60, 0.40]];
/// An outcome comes at most this many patients later; below what a device lets wait.
const LATEST: u64 = 60;
/// One outcome in this many never comes.
const LOST_ONE_IN: u64 = 20;
/// A blinded trial has one extra kit an arm for this many patients, as a reserve for replacements.
const RESERVE_ONE_IN: u32 = 20;
/// One patient in this many breaks the kit and gets a replacement.
const BROKEN_ONE_IN: u64 = 50;
/// Patients on the emulated board if no number is given; it is slower than the virtual one, which
/// takes the number of the trial file.
const QEMU_PATIENTS: u32 = 1000;

/// An emulated board on a busy machine takes its time to boot.
const PATIENCE: Duration = Duration::from_secs(15);

/// Which board plays the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Inside this program.
    #[default]
    Virtual,
    /// The firmware for the micro:bit v1, emulated.
    Qemu,
}

/// Settings of a demonstration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Patients of the trial; by default as in the trial file, fewer under QEMU.
    pub patients: Option<u32>,
    /// Which board plays the device.
    pub board: Kind,
    /// Seed of the simulated patients; by default another one each time.
    pub seed: Option<u64>,
    /// Kit numbers instead of arms.
    pub blinded: bool,
}

/// A folder of its own, in memory where the machine has such a place, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = base.join(format!(
            "equipoise-demo-{}-{:08x}",
            std::process::id(),
            getrandom::u32().unwrap_or(0)
        ));
        std::fs::create_dir(&path).map_err(|error| Failure::file(&path, &error))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the demonstration.
///
/// # Errors
/// The board cannot be started, or the trial did not go as it should.
pub fn demo(args: &Settings) -> Result<(), Failure> {
    let start = Instant::now();
    let mut trial = TrialFile::example()?;
    let mut parameters = trial.plan.parameters();
    let usual = if args.board == Kind::Qemu { QEMU_PATIENTS } else { parameters.patients };
    parameters.patients = args.patients.unwrap_or(usual);
    if args.blinded {
        parameters.kits = parameters.patients + parameters.patients / RESERVE_ONE_IN + 1;
    }
    trial.plan = Plan::new(parameters).map_err(|error| Failure::Usage(error.to_string()))?;
    if args.blinded {
        // The example is about walking, which nobody can be blind to.
        trial.title = "A new drug against pain after hip surgery".to_owned();
        trial.arms = ["Placebo", "Analgetin"].map(str::to_owned);
        let labels = KitLabel::new(RawLabel::example(), parameters.kits);
        trial.kits = Some(labels.map_err(Failure::Usage)?);
    }
    let folder = Folder::new()?;
    let board = match args.board {
        Kind::Virtual => StartedBoard::virtual_on(&folder.0.join("flash"))?,
        Kind::Qemu => StartedBoard::qemu(&folder.0)?,
    };
    let key = KeyFile::generate(&folder.0.join("custodian.key"))?;
    let seed = args.seed.map_or_else(getrandom::u64, Ok);
    let seed = seed.map_err(|error| Failure::Usage(format!("no randomness: {error}")))?;

    let mut client = Client::new(board.line()).with_patience(PATIENCE);
    let hello = client.connect()?;
    say(&format!(
        "{}\n{} simulated patients of {} kinds; device: {}, version {}, over its serial line.\n\
         Outcomes come up to {LATEST} patients late, one in {LOST_ONE_IN} never.\n\n",
        trial.title,
        trial.plan.patients(),
        trial.plan.features(),
        client.port().unwrap_or_default(),
        hello.version
    ));
    let begun = custodian::provision(&mut client, &trial.plan, FileDigest(trial.digest()), &key)?;
    tell(0, &format!("the custodian begins the trial, claim: {}", begun.claim.name()));
    let log_file = folder.0.join("log.jsonl");
    let bedside = Bedside::open(client, trial.clone(), &log_file, "demo")?;
    let chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let kits = trial.plan.kits();
    let arms = arms(&key.kit_key(FileDigest(trial.digest()), kits), kits);
    let mut ward =
        Ward { bedside, chance, due: BTreeMap::new(), worse: 0, last: (Phase::Explore, 0), arms };
    ward.all_patients(&board)?;
    custodian::close(ward.bedside.client(), &key)?;
    tell(trial.plan.patients(), "the custodian closes the trial: the final look");
    conclude(&mut ward, &key, &log_file, start)
}

/// Prints the report beside the true effects, and what the trial was worth.
fn conclude(
    ward: &mut Ward,
    key: &KeyFile,
    log_file: &Path,
    start: Instant,
) -> Result<(), Failure> {
    let report = custodian::report(ward.bedside.client(), Some(key))?;
    let trial = ward.bedside.trial().clone();
    let status = ward.bedside.status()?;
    let mut effects = Effects::new(&report, &status, Some(&trial));
    for row in &mut effects.rows {
        row.truth = row.feature.map(|feature| {
            let [zero, one] = truth(feature);
            one - zero
        });
    }
    let rows = &effects.rows;
    let inside = |row: &&report::Estimate| {
        row.truth.is_some_and(|truth| (row.low..=row.high).contains(&truth))
    };
    let covered = rows.iter().filter(inside).count();
    let patients = f64::from(trial.plan.patients());
    let (worse, uniform) = (f64::from(ward.worse), patients / 2.0);
    let spared = ((uniform - worse) / uniform * 100.0).max(0.0);
    let mac = if key.signed(&trial.plan, FileDigest(trial.digest()), &report) {
        "right"
    } else {
        "WRONG"
    };
    let (head, _) = log::verify(log_file, None)?;
    let kits = kits(&ward.bedside)?;
    say(&format!("\n{}", report::table(&effects, Some(&trial))));
    say(&format!(
        "The truth (x) lies in {covered} of {} intervals. The report's MAC is {mac}.\n\n\
         Worse arm:  {worse} patients, about {uniform:.0} in a uniform trial: {spared:.0} % of those were spared it.\n\
         Privacy:    epsilon {} spent, at most, for any one patient; delta 0.\n\
         Log:        {} lines, the chain holds; no outcome is in it.\n{kits}\
         Time:       {:.1} s\n\n\
         Next:\n  \
         equipoise                            a virtual device, in this terminal or in the browser\n  \
         equipoise demo --board qemu          the same on the emulated micro:bit\n  \
         equipoise device --flash t.flash --pty --link $XDG_RUNTIME_DIR/equipoise\n  \
         equipoise terminal --port $XDG_RUNTIME_DIR/equipoise --trial examples/trial.toml\n  \
         equipoise --help                     everything else\n  \
         equipoise web --flash demo.flash     the bedside in the browser\n",
        rows.len(),
        trial.plan.epsilon(),
        head.lines,
        start.elapsed().as_secs_f64(),
    ));
    Ok(())
}

/// Checks that every kit was given once and that no arm is in the log; returns a line about it,
/// empty in an open trial.
fn kits(bedside: &Bedside) -> Result<String, Failure> {
    if bedside.trial().kits.is_none() {
        return Ok(String::new());
    }
    let mut given: Vec<u32> = Vec::new();
    for patient in bedside.register().patients() {
        if let Treatment::Kits { kits, .. } = &patient.given {
            given.extend(kits);
        }
    }
    let count = given.len();
    given.sort_unstable();
    given.dedup();
    let path = bedside.log().path();
    let log = std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
    let named = bedside.trial().arms.iter().any(|arm| log.contains(arm.as_str()));
    if given.len() != count || named {
        return Err(Failure::Refused("a kit was given twice, or the log names an arm".to_owned()));
    }
    let replaced = count - bedside.register().patients().count();
    Ok(format!(
        "Kits:       {count} given, each to one patient, {replaced} of them replacements; no arm is in the log.\n"
    ))
}

fn truth(feature: u8) -> [f64; 2] {
    TRUTH.into_iter().cycle().nth(feature.into()).unwrap_or_default()
}

fn tell(patient: u32, what: &str) {
    say(&format!("patient {patient:>6}  {what}\n"));
}

struct Ward {
    bedside: Bedside,
    chance: Xoshiro256PlusPlus,
    /// Outcomes to come, by the count of patients at which they are sent: the patient's number and
    /// the outcome (`None`: declared lost).
    due: BTreeMap<u64, Vec<(u32, Option<u16>)>>,
    worse: u32,
    last: (Phase, u32),
    /// The arm of every kit of a blinded trial, which the simulation knows and the ward does not.
    arms: Vec<Arm>,
}

impl Ward {
    fn all_patients(&mut self, board: &StartedBoard) -> Result<(), Failure> {
        let patients = self.bedside.trial().plan.patients();
        let cut = patients / 4 + 1;
        for patient in 1..=patients {
            if patient == cut {
                board.cut_power_at_next_assignment();
            }
            self.enrol(patient)?;
            if patient == cut {
                self.after_the_cut(board, patient)?;
            }
            self.outcomes_until(patient.into())?;
            self.progress(patient)?;
        }
        // Most of the late ones still come; the last few do not, and the close declares them lost.
        self.outcomes_until(u64::from(patients) + LATEST / 2)
    }

    fn enrol(&mut self, patient: u32) -> Result<(), Failure> {
        let features = u64::from(self.bedside.trial().plan.features());
        let feature = u8::try_from(self.chance.next_u64() % features).unwrap_or_default();
        let enrolled = self.bedside.enrol(&format!("P-{patient}"), feature)?;
        let mut given = enrolled.given.clone();
        if given.kit().is_some() && self.chance.next_u64().is_multiple_of(BROKEN_ONE_IN) {
            given = self.bedside.replace(enrolled.number, "damaged")?.given;
        }
        let kit = given.kit().and_then(|kit| self.arms.get(kit as usize - 1));
        let arm = given.arm().or(kit.copied());
        let arm = arm.ok_or_else(|| Failure::Refused(format!("patient {patient} has no arm")))?;
        let [zero, one] = truth(feature);
        let (p, other) = if arm == Arm::One { (one, zero) } else { (zero, one) };
        self.worse += u32::from(p < other);
        let uniform = (self.chance.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let y = u16::from(uniform < p);
        let lost = self.chance.next_u64().is_multiple_of(LOST_ONE_IN);
        let when = u64::from(patient) + 1 + self.chance.next_u64() % LATEST;
        self.due.entry(when).or_default().push((enrolled.number, (!lost).then_some(y)));
        Ok(())
    }

    fn outcomes_until(&mut self, patient: u64) -> Result<(), Failure> {
        while let Some(entry) = self.due.first_entry().filter(|entry| *entry.key() <= patient) {
            for (number, outcome) in entry.remove() {
                match outcome {
                    Some(y) => self.bedside.outcome(number, y)?,
                    None => self.bedside.lost(number)?,
                };
            }
        }
        Ok(())
    }

    fn after_the_cut(&mut self, board: &StartedBoard, patient: u32) -> Result<(), Failure> {
        let assigned = self.bedside.status()?.assigned;
        if !board.was_cut() || assigned != patient {
            return Err(Failure::Refused(format!(
                "after the power cut the device has {assigned} patients"
            )));
        }
        tell(
            patient,
            "POWER CUT in the middle of this enrolment: the device came back, the same line",
        );
        let given = if self.arms.is_empty() { "arm" } else { "kit" };
        tell(patient, &format!("was sent again, and the patient has one {given}"));
        Ok(())
    }

    fn progress(&mut self, patient: u32) -> Result<(), Failure> {
        let status = self.bedside.status()?;
        let (phase, looks) = self.last;
        if status.looks > looks {
            tell(patient, &format!("look {}, next: {}", status.looks, status.next_look));
        }
        if status.phase != phase {
            tell(patient, "first half done: the coin of every kind that was read stays to the end");
        }
        self.last = (status.phase, status.looks);
        Ok(())
    }
}
