//! The privacy audit: `equipoise audit` compares what a design claims with what can be found out
//! about it.
//!
//! * [`exact`]: every chance of a small trial through the code that ships, for all records of one
//!   patient;
//! * [`sampler`]: the law of the noise, from the sampler's tables and by draws;
//! * [`structured`]: the parts whose laws are known, at full size;
//! * [`black_box`]: the device over its line, many times, with the error of its bounds stated.
//!
//! `interim` and `uniform` claim (epsilon, 0): that is our claim, and if anything exceeds it the
//! command fails. `dp-conse` is held against the (epsilon, 1/n) of its paper, a claim we do not
//! make: a device calls the design `unproven`. So an audit of all designs reports that claim as
//! exceeded and still succeeds; asked for with `--design dp-conse` it fails. `conse` claims nothing
//! and is there for comparison.

pub mod black_box;
pub mod cases;
pub mod enumerator;
pub mod exact;
pub mod findings;
pub mod loss;
pub mod sampler;
pub mod structured;
pub mod suite;
pub mod table;

use crate::prelude::*;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::plan::Design;
use suite::{Finding, Verdict};

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
    /// Every chance of small trials, through the code that ships
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
}

fn named(name: &str) -> Result<Design, String> {
    let known = Design::ALL.into_iter().find(|design| design.name() == name);
    known.ok_or_else(|| {
        format!("{name} is no design, allowed {}", crate::plan::Key::Design.allowed())
    })
}

/// Runs the audit and prints it.
#[must_use]
pub fn run(args: &AuditArgs) -> ExitCode {
    let findings = findings_of(args);
    if args.json {
        match serde_json::to_string_pretty(&findings) {
            Ok(json) => super::output::say(&format!("{json}\n")),
            Err(error) => return refused(&error.to_string()),
        }
    } else {
        let (table, chart) = (table::table(&findings), table::chart(&findings));
        super::output::say(&format!("{table}\nLoss found, against the claim (\u{2502}):\n{chart}"));
    }
    if let Some(path) = &args.svg
        && let Err(error) = std::fs::write(path, table::svg(&findings))
    {
        return refused(&format!("{}: {error}", path.display()));
    }
    ExitCode::from(u8::from(fails(&findings, args.design)))
}

fn refused(why: &str) -> ExitCode {
    eprintln!("equipoise: {why}");
    ExitCode::from(2)
}

/// Is a claim exceeded that someone relies on?
fn fails(findings: &[Finding], asked: Option<Design>) -> bool {
    let ours = [Design::Interim, Design::Uniform].map(Design::name);
    let relied_on = |f: &&Finding| ours.contains(&f.design) || asked.is_some();
    findings.iter().filter(relied_on).any(|f| f.verdict == Verdict::Exceeded)
}

fn findings_of(args: &AuditArgs) -> Vec<Finding> {
    let all = !(args.exact || args.structured || args.black_box);
    let designs =
        Design::ALL.into_iter().filter(|design| args.design.is_none_or(|only| only == *design));
    let mut findings = Vec::new();
    for design in designs {
        if all || args.exact {
            findings.extend(suite::noise(design).iter().map(sampler::finding));
            findings.extend(suite::families(design).iter().map(suite::Family::finding));
        }
        if all || args.structured {
            findings.extend(suite::structured(design));
        }
        if all || args.black_box {
            let experiments =
                black_box::experiments().into_iter().filter(|e| e.plan.design() == design);
            findings.extend(experiments.map(|experiment| experiment.finding(args.runs)));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::audit::loss::Loss;
    use crate::host::audit::suite::{Claim, Method};

    #[test]
    fn only_a_claim_someone_relies_on_fails_the_audit() {
        let finding = |design, epsilon| {
            let claim = Some(Claim { epsilon: 1.0, delta: 0.0 });
            Finding::new(design, Method::Exact, String::new(), claim, Loss { epsilon, delta: 0.0 })
        };
        let (held, broken) = (finding(Design::Interim, 1.0), finding(Design::Interim, 1.1));
        let published = finding(Design::DpConse, 5.0);
        assert_eq!((held.verdict, broken.verdict), (Verdict::Holds, Verdict::Exceeded));
        assert!(!fails(&[held.clone(), published.clone()], None));
        assert!(fails(&[published], Some(Design::DpConse)));
        assert!(fails(&[held, broken], None));
    }
}
