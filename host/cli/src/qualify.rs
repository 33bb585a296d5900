//! `equipoise qualify`: a device put through its checks.

use std::path::PathBuf;

use super::error::CliError;
use equipoise_study::output::say;
use equipoise_ward::line::link::Port;
use equipoise_ward::qualify::bench::Power;
use equipoise_ward::qualify::{Qualification, summary};
use equipoise_ward::records::keys::KeyFile;
use equipoise_ward::records::trial_file::TrialFile;

/// Name of the key in the folder, if none is given.
const KEY: &str = "custodian.key";

/// `equipoise qualify`
#[derive(Debug, clap::Args)]
pub struct QualifyArgs {
    /// Port of the device: a serial port, a pseudo-terminal or a socket
    #[arg(long, value_name = "PORT")]
    port: Port,
    /// Folder for page and record; the same folder goes on after an interruption
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// The custodian's key that the device has or gets; by default a new one in the folder
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Trial file whose plan is run as well
    #[arg(long, value_name = "FILE")]
    trial: Option<PathBuf>,
    /// List of the release's images with their hashes
    #[arg(long, value_name = "FILE")]
    images: Option<PathBuf>,
    /// Shell command that cuts the device's power and restores it; by default a person is asked to
    #[arg(long, value_name = "COMMAND")]
    power: Option<String>,
    /// Do it: the device gets a key, and its lifetime budget is spent
    #[arg(long)]
    yes: bool,
}

/// Runs the qualification.
///
/// # Errors
/// A check failed (refused), or there is no device.
pub fn qualify(args: &QualifyArgs) -> Result<(), CliError> {
    let read = |path: &PathBuf| {
        std::fs::read_to_string(path).map_err(|error| CliError::file(path, &error))
    };
    let qualification = Qualification {
        port: args.port.clone(),
        power: args.power.clone().map_or(Power::Person, Power::Command),
        folder: args.out.clone(),
        trial: args.trial.as_deref().map(TrialFile::read).transpose()?,
        images: args.images.as_ref().map(read).transpose()?,
    };
    if !args.yes {
        return Err(CliError::refused(format!(
            "nothing was done. A qualification is for a device without a trial. It sets the \
             custodian's key, runs {} trials and erases each of them, and spends {:.2} of the \
             device's lifetime budget of epsilon, which nothing gives back. It ends with a blank \
             device that keeps the key. A trial on the device is erased, if the key fits. Say \
             --yes to begin",
            if qualification.trial.is_some() { 5 } else { 4 },
            qualification.cost()
        )));
    }
    std::fs::create_dir_all(&args.out).map_err(|error| CliError::file(&args.out, &error))?;
    let own = args.out.join(KEY);
    let key = match &args.key_file {
        Some(path) => KeyFile::read(path)?,
        None if own.exists() => KeyFile::read(&own)?,
        None => KeyFile::generate(&own)?,
    };
    let record = qualification.run(key)?;
    let text = summary(&record, &args.out);
    if record.has_passed() {
        say(&text);
        return Ok(());
    }
    Err(CliError::refused(text.trim_end()))
}
