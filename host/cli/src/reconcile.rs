//! `equipoise reconcile`: the hospital's chart held against the log.

use std::path::PathBuf;

use super::coordinator::LogArgs;
use super::error::CliError;
use super::session::OutputArgs;
use equipoise_ward::records::reconcile::{Reconciliation, chart};

/// `equipoise reconcile`
#[derive(Debug, clap::Args)]
pub struct ReconcileArgs {
    /// The chart as CSV, with columns `code`, `kind`, `arm` (or `kit`), `outcome`, `reason`
    #[arg(long, value_name = "FILE")]
    chart: PathBuf,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Compares a chart with the log; nothing is written but the result.
///
/// # Errors
/// Chart and log differ (refused), or a file cannot be used (usage).
pub fn reconcile(args: &ReconcileArgs) -> Result<(), CliError> {
    let (register, trial) = args.log.read()?;
    let path = &args.chart;
    let text = std::fs::read_to_string(path).map_err(|error| CliError::file(path, &error))?;
    let rows = chart::read(&text, trial.kits.is_some())
        .map_err(|why| CliError::usage(format!("{}: {why}", path.display())))?;
    let result = Reconciliation::new(&register, &trial, &rows);
    args.output.write(&result.text())?;
    if result.agrees() {
        return Ok(());
    }
    Err(CliError::refused(format!(
        "{} differences between chart and log: each is to be explained",
        result.findings.len()
    )))
}
