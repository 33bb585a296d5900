//! `equipoise audit`.

use crate::prelude::*;
use std::path::PathBuf;

use super::error::CliError;
use crate::host::audit::kits::{FEATURES, Numbering, attack};
use crate::host::audit::{self, Methods, table};
use crate::host::output::{check_file, say, write_file};
use crate::kits::{MAX_KITS, advantage};
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
    /// A statistical attack on the kit numbers of blinded trials
    #[arg(long)]
    kits: bool,
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

/// Trials and patients of the attack on kit numbers, and on increasing ones.
const ATTACKED: [(Numbering, u32, u32); 2] =
    [(Numbering::Permutation, 40, 5_000), (Numbering::Increasing, 10, 5_000)];

/// Attacks the kit numbers that ship, and increasing ones for comparison.
fn attack_kits() -> Result<(), CliError> {
    let mut broken = false;
    for (numbering, trials, patients) in ATTACKED {
        let seed = getrandom::u64().map_err(CliError::usage)?;
        let found = attack(numbering, trials, patients, seed);
        let name = match numbering {
            Numbering::Permutation => "the permutation that ships",
            Numbering::Increasing => "increasing numbers, for comparison",
        };
        let [share, guessed] = found.right.map(|right| right * 100.0);
        let verdict = if found.succeeds() { "the attack SUCCEEDS" } else { "nothing found" };
        say(&format!(
            "kit numbers by {name}: {} assignments, one arm given to {:.1} %\n  arms guessed right by the share alone \
             {share:.2} %, by the attack {guessed:.2} %: {verdict}\n",
            found.assignments,
            found.share * 100.0
        ));
        for (feature, z) in FEATURES.iter().zip(found.dependence) {
            say(&format!("  {feature:<28} {z:>9.1} standard errors from independence\n"));
        }
        broken |= numbering == Numbering::Permutation && found.succeeds();
    }
    let bound = [MAX_KITS, 4_400].map(advantage);
    say(&format!(
        "proven distance from a random permutation: 2^{:.0} for {MAX_KITS} kits an arm, 2^{:.0} for 4400\n",
        bound[0], bound[1]
    ));
    if broken { Err(CliError::refused("kit numbers tell arms")) } else { Ok(()) }
}

/// Runs the audit and prints it.
///
/// # Errors
/// A claim was exceeded that somebody relies on, or the chart cannot be written.
pub fn audit(args: &AuditArgs) -> Result<(), CliError> {
    if let Some(path) = &args.svg {
        check_file(path, args.force).map_err(|error| CliError::file(path, &error))?;
    }
    let AuditArgs { exact, structured, black_box, kits, .. } = *args;
    let all = !(exact || structured || black_box || kits);
    let methods = Methods {
        exact: all || exact,
        structured: all || structured,
        black_box: (all || black_box).then_some(args.runs),
    };
    let findings = audit::findings_of(methods, args.design);
    if kits && !(exact || structured || black_box) {
        return attack_kits();
    }
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
