//! `equipoise audit`.

use std::path::PathBuf;

use super::error::CliError;
use super::values::named;
use equipoise::kits::advantage;
use equipoise::plan::DesignName;
use equipoise::terms::MAX_KITS;
use equipoise_audit::finding::Finding;
use equipoise_audit::kits::{Attack, FEATURES, Numbering, attack};
use equipoise_audit::suite::PAIRS;
use equipoise_audit::{self, Methods, table};
use equipoise_study::output::{check_file, say, write_file};

/// `equipoise audit`
#[derive(Debug, clap::Args)]
pub struct AuditArgs {
    /// Audit this design only
    #[arg(long, value_parser = named(DesignName::ALL, DesignName::name))]
    design: Option<DesignName>,
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
    /// Write the chart as SVG
    #[arg(long, value_name = "FILE.svg", alias = "svg")]
    out: Option<PathBuf>,
    /// Overwrite the file if it exists
    #[arg(long, requires = "out")]
    force: bool,
}

impl AuditArgs {
    /// The methods for designs, and whether kit numbers are attacked: all if nothing is named.
    /// (Kit numbers are the same for every design, so a design alone does not ask for them.)
    fn selected(&self) -> (Methods, bool) {
        let Self { exact, structured, black_box, kits, .. } = *self;
        let all = !(exact || structured || black_box || kits);
        let methods = Methods {
            exact: (all || exact).then_some(PAIRS),
            structured: all || structured,
            black_box: (all || black_box).then_some(self.runs),
        };
        (methods, kits || all && self.design.is_none())
    }
}

/// Trials and patients of the attack on kit numbers, and on increasing ones.
const ATTACKED: [(Numbering, u32, u32); 2] =
    [(Numbering::Permutation, 40, 5_000), (Numbering::Increasing, 10, 5_000)];

/// The attack on the kit numbers that ship, and on increasing ones for comparison.
fn attack_kits() -> Result<Vec<(Numbering, Attack)>, CliError> {
    let one = |(numbering, trials, patients)| {
        let seed = getrandom::u64().map_err(CliError::usage)?;
        Ok((numbering, attack(numbering, trials, patients, seed)))
    };
    ATTACKED.into_iter().map(one).collect()
}

/// Whether the kit numbers that ship reveal arms.
fn reveals_arms(attacks: &[(Numbering, Attack)]) -> bool {
    attacks
        .iter()
        .any(|(numbering, attack)| *numbering == Numbering::Permutation && attack.succeeds())
}

fn describe_attacks(attacks: &[(Numbering, Attack)]) -> String {
    let mut text = String::new();
    for (numbering, found) in attacks {
        let name = match numbering {
            Numbering::Permutation => "the permutation that ships",
            Numbering::Increasing => "increasing numbers, for comparison",
        };
        let [share, guessed] = found.right.map(|right| right * 100.0);
        let verdict = if found.succeeds() { "the attack SUCCEEDS" } else { "nothing found" };
        text += &format!(
            "kit numbers by {name}: {} assignments, one arm given to {:.1} %\n  arms guessed right by the share alone \
             {share:.2} %, by the attack {guessed:.2} %: {verdict}\n",
            found.assignments,
            found.share * 100.0
        );
        for (feature, z) in FEATURES.iter().zip(found.dependence) {
            text += &format!("  {feature:<28} {z:>9.1} standard errors from independence\n");
        }
    }
    let bound = [MAX_KITS, 4_400].map(advantage);
    text + &format!(
        "proven distance from a random permutation: 2^{:.0} for {MAX_KITS} kits an arm, 2^{:.0} for 4400\n",
        bound[0], bound[1]
    )
}

/// Findings and attacks as one array.
fn json(findings: &[Finding], attacks: &[(Numbering, Attack)]) -> serde_json::Result<String> {
    let mut rows = Vec::new();
    for finding in findings {
        rows.push(serde_json::to_value(finding)?);
    }
    for (numbering, found) in attacks {
        rows.push(serde_json::json!({
            "method": "kits",
            "numbering": match numbering {
                Numbering::Permutation => "permutation",
                Numbering::Increasing => "increasing",
            },
            "assignments": found.assignments,
            "share": found.share,
            "guessed_by_share": found.right[0],
            "guessed_by_attack": found.right[1],
            "succeeds": found.succeeds(),
        }));
    }
    serde_json::to_string_pretty(&rows)
}

/// Runs the audit and prints it.
///
/// # Errors
/// A claim was exceeded that somebody relies on, kit numbers reveal arms, or the chart cannot be
/// written.
pub fn audit(args: &AuditArgs) -> Result<(), CliError> {
    if let Some(path) = &args.out {
        check_file(path, args.force).map_err(|error| CliError::file(path, &error))?;
    }
    let (methods, kits) = args.selected();
    let findings = equipoise_audit::findings_of(methods, args.design);
    let attacks = if kits { attack_kits()? } else { Vec::new() };
    if args.json {
        say(&(json(&findings, &attacks).map_err(CliError::usage)? + "\n"));
    } else {
        if methods.exact.is_some() || methods.structured || methods.black_box.is_some() {
            let (table, chart) = (table::table(&findings), table::chart(&findings));
            say(&format!("{table}\nLoss found, against the claim (\u{2502}):\n{chart}"));
        }
        if !attacks.is_empty() {
            say(&describe_attacks(&attacks));
        }
    }
    if let Some(path) = &args.out {
        write_file(path, table::svg(&findings), args.force)
            .map_err(|error| CliError::file(path, &error))?;
    }
    if equipoise_audit::fails(&findings, args.design) {
        return Err(CliError::refused("a privacy claim is exceeded"));
    }
    if reveals_arms(&attacks) {
        return Err(CliError::refused(
            "kit numbers reveal arms: the attack on the permutation that ships succeeds",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: AuditArgs,
    }

    /// Nothing named means everything; what is named is used, and nothing else.
    #[test]
    fn methods_are_those_named() {
        for (words, expected) in [
            (&[][..], [true; 4]),
            (&["--design=interim"], [true, true, true, false]),
            (&["--kits"], [false, false, false, true]),
            (&["--kits", "--design=interim"], [false, false, false, true]),
            (&["--kits", "--exact"], [true, false, false, true]),
            (&["--structured"], [false, true, false, false]),
            (&["--black-box", "--structured"], [false, true, true, false]),
        ] {
            let line = Line::parse_from([&["audit"], words].concat());
            let (methods, kits) = line.args.selected();
            let Methods { exact, structured, black_box } = methods;
            let used = [exact.is_some(), structured, black_box.is_some(), kits];
            assert_eq!(used, expected, "{words:?}");
        }
    }
}
