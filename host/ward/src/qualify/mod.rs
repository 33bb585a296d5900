//! `equipoise qualify`: a device is put through installation, operation and performance checks over
//! its own line, and the result is a page for the trial's file.
//!
//! # Stages
//! Each stage begins and ends with a blank device, and the record is written behind it. After an
//! interruption the same command goes on with the stage that was not finished; a trial that it left
//! on the device is erased, with the key that the qualification set.
//!
//! # Cost
//! The device gets the custodian's key, and each trial spends lifetime budget, which nothing gives
//! back. It ends blank, with that key.
//!
//! # Not here
//! A device does not tell the geometry of its flash, so it is not checked.

pub mod bench;
mod operation;
mod page;
mod performance;
pub mod plans;
pub mod record;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::line::link::Port;
use crate::own_file::write_private;
use crate::records::keys::KeyFile;
use crate::records::trial_file::TrialFile;
use bench::{Bench, Greeting, Power, Trouble, finding};
use equipoise::wire::{Hex, checksum};
use record::{Record, Verdict, now};

/// Name of the page in the folder.
const PAGE: &str = "qualification.html";
/// A stage.
type Stage = (&'static str, fn(&mut Bench, &mut Record) -> Result<(), Failure>);
/// The stages that need nothing but the device, in order.
const STAGES: [Stage; 5] = [
    ("lines and key", operation::blank),
    ("rules", operation::rules),
    ("kits", operation::blinded),
    ("capacity", operation::capacity),
    ("noise and times", performance::noise),
];
const OWN_PLAN: &str = "own plan";

/// A qualification to be made.
pub struct Qualification {
    /// Where the device is.
    pub port: Port,
    /// How its power is cut.
    pub power: Power,
    /// The folder of the result.
    pub folder: PathBuf,
    /// The user's own trial.
    pub trial: Option<TrialFile>,
    /// Hashes of the images of a release, with their names: the text of its list.
    pub images: Option<String>,
}

impl Qualification {
    /// Epsilon that it spends.
    #[must_use]
    pub fn cost(&self) -> f64 {
        plans::spent() + self.trial.as_ref().map_or(0.0, |trial| plans::epsilon(&trial.plan))
    }

    /// Runs every stage that is not done yet, and writes page and record.
    ///
    /// # Errors
    /// The device is gone, another device is there, or the disk refused. What was done is kept.
    pub fn run(&self, key: KeyFile) -> Result<Record, Failure> {
        std::fs::create_dir_all(&self.folder)
            .map_err(|error| Failure::file(&self.folder, &error))?;
        let mut record = Record::open(&self.folder)?;
        if record.ended.is_some() {
            return Err(Failure::Usage(format!(
                "{} holds a finished qualification: choose another folder",
                self.folder.display()
            )));
        }
        let mut bench = Bench::new(self.port.clone(), key, self.power.clone());
        self.install(&mut bench, &mut record)?;
        for (name, stage) in STAGES {
            self.stage(name, &mut record, |record| stage(&mut bench, record))?;
        }
        if let Some(trial) = &self.trial {
            let of = (trial, &self.port, self.folder.as_path());
            self.stage(OWN_PLAN, &mut record, |record| {
                performance::own_plan(&mut bench, record, of)
            })?;
        }
        let left = bench.greet().ok().and_then(|greeting| greeting.custody);
        record.fact(
            "Epsilon left afterwards",
            left.map_or_else(String::new, |(_, left)| left.to_string()),
        );
        record.ended = Some(now());
        let page = self.folder.join(PAGE);
        write_private(&page, page::html(&record), true)
            .map_err(|error| Failure::file(&page, &error))?;
        record.save(&self.folder)?;
        Ok(record)
    }

    fn stage(
        &self,
        name: &str,
        record: &mut Record,
        run: impl FnOnce(&mut Record) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if record.stages.iter().any(|done| done == name) {
            return Ok(());
        }
        eprintln!("-- {name}");
        let done = run(record);
        if done.is_ok() {
            record.stages.push(name.to_owned());
        }
        record.save(&self.folder)?;
        done
    }

    /// Installation: facts of this machine, of the program and of the device.
    fn install(&self, bench: &mut Bench, record: &mut Record) -> Result<(), Failure> {
        let greeting = match bench.greet() {
            Ok(greeting) => greeting,
            Err(Trouble::Gone(error)) => return Err(Failure::NoDevice(error)),
            Err(Trouble::Finding(what)) => return Err(Failure::Refused(what)),
        };
        let image = greeting.image.clone().unwrap_or_else(|| "none: a virtual device".to_owned());
        if record.value("Image").is_some_and(|known| known != image) {
            return Err(Failure::Refused(format!(
                "this qualification was begun with a device of image {}, here is {image}",
                record.value("Image").unwrap_or_default()
            )));
        }
        record.fact("Program", format!("equipoise {}", env!("CARGO_PKG_VERSION")));
        record.fact("SHA-256 of the program", program_hash());
        record.fact("System", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
        record.fact("Port", self.port.to_string());
        record.fact("Device's version", greeting.version.clone());
        record.fact("Image", image);
        if record.value("Epsilon left before").is_none() {
            let left = greeting.custody.map_or_else(String::new, |(_, left)| left.to_string());
            record.fact("Epsilon left before", left);
        }
        record.fact(
            "Own plan",
            self.trial.as_ref().map_or_else(
                || "none: no trial file was given".to_owned(),
                |trial| format!("{}: {}", trial.title, trial.plan),
            ),
        );
        eprintln!("-- installation");
        let version = env!("CARGO_PKG_VERSION");
        record.check("I-01", "Device and program have the same version", {
            if greeting.version == version {
                Ok(version.to_owned())
            } else {
                finding(format!("device {}, program {version}", greeting.version))
            }
        })?;
        record.check("I-02", "Known answer: the checksum of HELLO is 49D6", {
            let sum = format!("{:04X}", checksum(b"HELLO"));
            if sum == "49D6" { Ok(sum) } else { finding(sum) }
        })?;
        let expected = "The hash of the device's image is in the list of the release";
        match &self.images {
            Some(list) => record.check("I-03", expected, in_list(&greeting, list))?,
            None => record.not_applicable("I-03", expected, "no list was given (--images)"),
        }
        record.save(&self.folder)
    }
}

/// The hash of this program's file.
fn program_hash() -> String {
    let read = std::env::current_exe().and_then(std::fs::read);
    read.map_or_else(
        |error| format!("cannot be read: {error}"),
        |bytes| Hex(&Sha256::digest(bytes)[..]).to_string(),
    )
}

fn in_list(greeting: &Greeting, list: &str) -> Result<String, Trouble> {
    let Some(image) = &greeting.image else {
        return finding("the device names no image");
    };
    // A device names the first half of what a release lists.
    let is_hash = |word: &str| word.starts_with(image.as_str());
    let line = list.lines().find(|line| line.split_whitespace().any(is_hash));
    line.map_or_else(
        || finding(format!("{image} is not in the list")),
        |line| Ok(line.trim().to_owned()),
    )
}

/// The result in one sentence.
#[must_use]
pub fn summary(record: &Record, folder: &Path) -> String {
    let (failed, all) = (record.count(Verdict::Failed), record.checks.len());
    let page = folder.join(PAGE);
    let word = if record.has_passed() { "PASSED" } else { "FAILED" };
    format!("{word}: {failed} of {all} checks failed. Page: {}\n", page.display())
}
