//! `equipoise` without a subcommand: a virtual device with the bedside screen or page.
//!
//! The device's flash is a file; its key, trial file and log lie beside it (`FILE.key`,
//! `FILE.trial.toml`, `FILE.log.jsonl`). The first start asks for a trial, makes a key and
//! provisions the device over its line, as a custodian would; every later start goes on where the
//! last one stopped.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::bedside::Bedside;
use crate::bedside::sign::staff_file;
use crate::failure::Failure;
use crate::line::boards::StartedBoard;
use crate::line::client::Client;
use crate::line::custodian;
use crate::records::key_check;
use crate::records::keys::KeyFile;
use crate::records::log::head_path;
use crate::records::place;
use crate::records::trial_file::{EXAMPLE, TrialFile};
use equipoise::wire::{Claim, FileDigest, State};
use equipoise_study::output::say;

/// The files of one virtual device.
struct Files {
    flash: PathBuf,
}

impl Files {
    fn beside(&self, end: &str) -> PathBuf {
        let mut name = self.flash.clone().into_os_string();
        name.push(end);
        name.into()
    }

    fn key(&self) -> PathBuf {
        self.beside(".key")
    }

    fn trial(&self) -> PathBuf {
        self.beside(".trial.toml")
    }

    fn log(&self) -> PathBuf {
        self.beside(".log.jsonl")
    }

    /// A blank device begins a new log; one that is there is of an erased trial and is kept under
    /// another name.
    fn set_old_log_aside(&self) -> Result<(), Failure> {
        let old = self.beside(&format!(".log.{}.jsonl", Timestamp::now().as_second()));
        for (from, to) in [(self.log(), old.clone()), (head_path(&self.log()), head_path(&old))] {
            if from.exists() {
                std::fs::rename(&from, to).map_err(|error| Failure::file(&from, &error))?;
            }
        }
        Ok(())
    }
}

/// A virtual device that holds a trial, with its log.
pub struct Virtual {
    files: Files,
    /// Ready for a view.
    pub bedside: Bedside,
}

impl Virtual {
    /// Starts the virtual device; a blank one is provisioned first. `unproven` is said of a new
    /// trial whose privacy is not proven.
    ///
    /// # Errors
    /// The files cannot be used.
    pub fn start(
        flash: Option<&Path>,
        trial: Option<&Path>,
        operator: &str,
        unproven: &str,
    ) -> Result<Self, Failure> {
        let flash = match flash {
            Some(path) => path.to_owned(),
            None => place::data()?.join("virtual").join("flash"),
        };
        let folder = flash
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
        let files = Files { flash };
        let board = StartedBoard::virtual_on(&files.flash)?;
        let mut client = Client::new(board.line());
        if client.connect()?.state == State::Blank {
            let claim = provision(&mut client, &files, trial)?;
            if claim == Claim::Unproven {
                say(&format!("{unproven}\n\nPress Enter to go on. "));
                read_line()?;
            }
        }
        let kept = files.trial();
        let path = trial.unwrap_or(&kept);
        let trial = TrialFile::read(path)?;
        let place = place::staff(FileDigest(trial.digest()), Some(path))?;
        let staff = staff_file(&trial, place)?;
        let bedside = Bedside::open(client, trial, &files.log(), operator)?.with_staff(staff);
        Ok(Self { files, bedside })
    }

    /// How to go on after the view was left.
    #[must_use]
    pub fn farewell(&self) -> String {
        let flash = self.files.flash.display();
        format!(
            "The trial goes on with the next start. To close it and see its report:\n  \
             equipoise device --flash {flash} --pty --link {flash}.port &\n  \
             equipoise close --yes --port {flash}.port --key-file {flash}.key\n  \
             equipoise report --port {flash}.port --trial {flash}.trial.toml --key-file {flash}.key --verify\n"
        )
    }
}

/// Where a person wants to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// In this terminal.
    Screen,
    /// In the browser.
    Page,
    /// In both.
    Both,
}

/// Asks a person where to work.
///
/// # Errors
/// Standard input ended.
pub fn ask_for_view() -> Result<View, Failure> {
    say("Where do you want to work?\n  1  in this terminal\n  2  in the browser\n  3  in both\n");
    loop {
        say("1, 2 or 3 (Enter: 1): ");
        match read_line()?.as_str() {
            "" | "1" => return Ok(View::Screen),
            "2" => return Ok(View::Page),
            "3" => return Ok(View::Both),
            other => say(&format!("{other:?} is not 1, 2 or 3.\n")),
        }
    }
}

fn provision(client: &mut Client, files: &Files, named: Option<&Path>) -> Result<Claim, Failure> {
    let text = match named {
        Some(path) => std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?,
        None => ask_for_trial()?,
    };
    let trial = TrialFile::parse(&named.unwrap_or(&files.trial()).display().to_string(), &text)?;
    trial.check_new().map_err(Failure::Usage)?;
    let key = if files.key().exists() {
        KeyFile::read(&files.key())?
    } else {
        KeyFile::generate(&files.key())?
    };
    files.set_old_log_aside()?;
    let copy = files.trial();
    std::fs::write(&copy, text).map_err(|error| Failure::file(&copy, &error))?;
    let begun = custodian::provision(client, &trial.plan, FileDigest(trial.digest()), &key)?;
    if let Err(error) = key_check::remember(&key, begun.trial) {
        eprintln!("equipoise: no record of the keys' check values was kept ({error})");
    }
    Ok(begun.claim)
}

fn ask_for_trial() -> Result<String, Failure> {
    let example = TrialFile::example()?.title;
    say(&format!(
        "This virtual device is blank. Which trial shall it run?\n  \
         1  the built-in example: {example}\n  \
         2  a trial file of yours\n"
    ));
    loop {
        say("1 or 2 (Enter: 1): ");
        match read_line()?.as_str() {
            "" | "1" => return Ok(EXAMPLE.to_owned()),
            "2" => {
                say("Path of the trial file: ");
                let path = PathBuf::from(read_line()?);
                match TrialFile::read(&path) {
                    Ok(_) => {
                        return std::fs::read_to_string(&path)
                            .map_err(|error| Failure::file(&path, &error));
                    }
                    Err(error) => say(&format!("{error}\n")),
                }
            }
            other => say(&format!("{other:?} is not 1 or 2.\n")),
        }
    }
}

fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) => Err(Failure::Usage("standard input ended before an answer".to_owned())),
        Ok(_) => Ok(line.trim().to_owned()),
        Err(error) => Err(Failure::Usage(format!("standard input: {error}"))),
    }
}
