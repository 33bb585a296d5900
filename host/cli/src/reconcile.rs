//! `equipoise reconcile`: the hospital's chart held against the log and the device's report.

use std::path::{Path, PathBuf};

use super::coordinator::LogArgs;
use super::error::CliError;
use super::session::OutputArgs;
use equipoise::device::auth::Role;
use equipoise_ward::records::keys::KeyFile;
use equipoise_ward::records::reconcile::sums::SumsCheck;
use equipoise_ward::records::reconcile::{Reconciliation, chart, ledger};
use equipoise_ward::records::site::{self, Macs, Site};

/// `equipoise reconcile`
#[derive(Debug, clap::Args)]
pub struct ReconcileArgs {
    /// The chart as CSV, with columns `code`, `kind`, `arm` (or `kit`), `outcome`, `reason`
    #[arg(long, value_name = "FILE")]
    chart: PathBuf,
    /// Report of `equipoise report --format json`: its noisy sums are compared with the chart's
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The custodian's or the report's key, to check the report's MAC
    #[arg(long, value_name = "FILE", requires = "report")]
    key_file: Option<PathBuf>,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Compares a chart with the log, and with a report if there is one; nothing is written but the
/// result.
///
/// # Errors
/// Chart and log or report differ (refused), or a file cannot be used (usage).
pub fn reconcile(args: &ReconcileArgs) -> Result<(), CliError> {
    let (register, trial) = args.log.read()?;
    let path = &args.chart;
    let text = std::fs::read_to_string(path).map_err(|error| CliError::file(path, &error))?;
    let rows = chart::read(&text, trial.kits.is_some())
        .map_err(|why| CliError::usage(format!("{}: {why}", path.display())))?;
    let result = Reconciliation::new(&register, &trial, &rows);
    let mut text = result.text();
    let sums = args.report.as_deref().map(|path| {
        let (site, macs) = args.site(path)?;
        let steps = ledger::steps(&args.log.entries(&trial)?);
        let sums = SumsCheck::new(&register, &steps, &trial, &rows, &site);
        Ok::<_, CliError>((sums.map_err(CliError::refused)?, macs))
    });
    let sums = sums.transpose()?;
    if let Some((sums, macs)) = &sums {
        text.push_str(&sums.text());
        text.push_str(match macs {
            Macs::Right => "The report's MAC is right.\n",
            Macs::NotChecked => "The report's MAC was not checked (--key-file).\n",
        });
    }
    args.output.write(&text)?;
    let mut differences = Vec::new();
    if !result.agrees() {
        let count = result.findings.len();
        differences
            .push(format!("{count} differences between chart and log: each is to be explained"));
    }
    if let Some((sums, _)) = sums.filter(|(sums, _)| !sums.agrees()) {
        differences.push(format!(
            "the sums of chart and report differ by more than the noise explains: {}",
            sums.place()
        ));
    }
    if differences.is_empty() { Ok(()) } else { Err(CliError::refused(differences.join("; "))) }
}

impl ReconcileArgs {
    /// The report, with its MAC checked if there is a key.
    fn site(&self, path: &Path) -> Result<(Site, Macs), CliError> {
        let text = std::fs::read_to_string(path).map_err(|error| CliError::file(path, &error))?;
        let site = Site::parse(&path.display().to_string(), &text).map_err(CliError::usage)?;
        let key = self.key_file.as_deref().map(|path| KeyFile::read_for(path, Role::Report));
        let keys: Vec<KeyFile> = key.transpose()?.into_iter().collect();
        let macs = site::check(std::slice::from_ref(&site), &keys).map_err(CliError::refused)?;
        Ok((site, macs))
    }
}
