//! `equipoise audit`.

use crate::prelude::*;
use std::path::PathBuf;

use super::error::CliError;
use crate::host::audit::{self, Methods, table};
use crate::host::output::{check_file, say, write_file};
use crate::plan::Design;

/// Audit the privacy claims of the designs.
///
/// Exit codes: 0 every claim held, 1 a claim was exceeded (that of `interim` or `uniform`, or of
/// the design named with `--design`), 2 usage. The claim published for `dp-conse` is known to be
/// exceeded; it counts only when that design is named.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct AuditArgs {
    /// Audit this design only
    #[arg(long, value_name = "DESIGN", value_parser = named)]
    design: Option<Design>,
    /// Every chance of small trials, and pairs of larger ones, over the device's line
    #[arg(long)]
    exact: bool,
    /// Sums over known laws, at full size
    #[arg(long)]
    structured: bool,
    /// Runs of the device over its line
    #[arg(long)]
    black_box: bool,
    /// Runs of the black box on each of two neighbouring trials
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    runs: u32,
    /// Print JSON instead of a table and a chart
    #[arg(long)]
    json: bool,
    /// Write the chart to a file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Overwrite the file if it exists
    #[arg(long, requires = "svg")]
    force: bool,
}

fn named(name: &str) -> Result<Design, String> {
    let known = Design::ALL.into_iter().find(|design| design.name() == name);
    known.ok_or_else(|| {
        format!("{name} is no design, allowed {}", crate::plan::Key::Design.allowed())
    })
}

/// Runs the audit and prints it.
///
/// # Errors
/// A claim was exceeded that somebody relies on, or the chart cannot be written.
pub fn audit(args: &AuditArgs) -> Result<(), CliError> {
    if let Some(path) = &args.svg {
        check_file(path, args.force).map_err(|error| CliError::file(path, &error))?;
    }
    let AuditArgs { exact, structured, black_box, .. } = *args;
    let all = !(exact || structured || black_box);
    let methods = Methods {
        exact: all || exact,
        structured: all || structured,
        black_box: (all || black_box).then_some(args.runs),
    };
    let findings = audit::findings_of(methods, args.design);
    if args.json {
        let json = serde_json::to_string_pretty(&findings).map_err(CliError::usage)?;
        say(&format!("{json}\n"));
    } else {
        let (table, chart) = (table::table(&findings), table::chart(&findings));
        say(&format!("{table}\nLoss found, against the claim (\u{2502}):\n{chart}"));
    }
    if let Some(path) = &args.svg {
        write_file(path, table::svg(&findings), args.force)
            .map_err(|error| CliError::file(path, &error))?;
    }
    if audit::fails(&findings, args.design) {
        return Err(CliError::refused("a privacy claim is exceeded"));
    }
    Ok(())
}
