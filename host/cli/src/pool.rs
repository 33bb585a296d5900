//! `equipoise pool`.

use std::path::{Path, PathBuf};

use super::error::CliError;
use super::values::read;
use equipoise::device::auth::Role;
use equipoise::wire::FileDigest;
use equipoise_study::output::{check_file, say, write_file};
use equipoise_study::pool::forest;
use equipoise_study::simulate::overall::{NOT_A_TEST, OVERALL};
use equipoise_ward::records::keys::KeyFile;
use equipoise_ward::records::site::digest_text;
use equipoise_ward::records::site::{self, Macs, Site};
use equipoise_ward::records::trial_file::TrialFile;

/// `equipoise pool`
#[derive(Clone, Debug, clap::Args)]
pub struct PoolArgs {
    /// Reports of the sites, as `equipoise report --format json` wrote them
    #[arg(required = true)]
    files: Vec<String>,
    /// The custodian's key of a site, to check the MACs; once for each different key
    #[arg(long, value_name = "FILE")]
    key_file: Vec<PathBuf>,
    /// The trial file that all devices must have run
    #[arg(long, value_name = "TRIAL.toml")]
    trial: Option<PathBuf>,
    /// Write the forest plot as SVG
    #[arg(long, value_name = "FILE.svg", alias = "svg")]
    out: Option<String>,
    /// Write everything as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
}

/// Combines the reports of several devices.
///
/// # Errors
/// A file that cannot be read or written; reports that do not belong together, or a wrong MAC.
pub fn pool(args: &PoolArgs) -> Result<(), CliError> {
    for out in [&args.out, &args.json].into_iter().flatten().filter(|out| *out != "-") {
        check_file(out, args.force).map_err(|error| CliError::file(out, &error))?;
    }
    let name = |path: &str| {
        Path::new(path).file_stem().map_or(path.into(), |name| name.to_string_lossy().into_owned())
    };
    let sites = args
        .files
        .iter()
        .map(|path| Site::parse(&name(path), &read(path)?).map_err(CliError::usage));
    let sites = sites.collect::<Result<Vec<_>, _>>()?;
    let keys = args
        .key_file
        .iter()
        .map(|path| KeyFile::read_for(path, Role::Report))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &args.trial {
        let digest = digest_text(FileDigest(TrialFile::read(path)?.digest()));
        site::check_digest(&sites, &digest).map_err(CliError::refused)?;
    }
    let macs = site::check(&sites, &keys).map_err(CliError::refused)?;
    let (effects, nowhere) = site::pool(&sites);
    let warning = forest::warning(&effects, &nowhere);
    if let Some(warning) = &warning {
        eprintln!("equipoise: {warning}");
    }
    let title = site::title(&sites);
    let write = |path: &str, text: String| {
        write_file(path, text, args.force).map_err(|error| CliError::file(path, &error))
    };
    if let Some(path) = &args.out {
        write(path, forest::svg(title, site::better(&sites), &effects))?;
    }
    let json = || forest::json(title, macs == Macs::Right, &effects);
    match args.json.as_deref() {
        Some("-") => {
            say(&json());
            return Ok(());
        }
        Some(path) => write(path, json())?,
        None => {}
    }
    let checked = match macs {
        Macs::Right => "All MACs are right: the rows came from devices that hold these keys.",
        Macs::NotChecked => "The MACs were not checked (--key-file).",
    };
    let warning = if site::has_interim(&sites) { format!("{NOT_A_TEST}\n") } else { String::new() };
    say(&format!(
        "{title}: {} sites, {} patients enrolled\n\n{}\
         Fixed effect: inverse variances. Random effects: DerSimonian-Laird with modified Hartung-Knapp\n\
         intervals (at least 1). These weights over sites are pool's own; the overall effect of a site is\n\
         {OVERALL}.\n{warning}\
         Raw outcomes of no site have left it. Epsilon is per patient, and a patient is in one report: pooling\n\
         costs nothing more.\n{checked}\n",
        sites.len(),
        site::enrolled(&sites),
        forest::table(&effects)
    ));
    Ok(())
}
