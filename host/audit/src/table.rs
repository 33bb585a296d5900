//! Output of the audit: a table, a bar chart for the terminal, and the same chart as SVG.

use std::fmt::Write;

use super::finding::{Finding, Method, Verdict};
use equipoise_study::chart::svg::Svg;

/// Characters of a bar for the claimed epsilon.
const CLAIM: usize = 20;
/// Characters of the longest bar.
const LONGEST: usize = 3 * CLAIM;

impl Method {
    /// The name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Structured => "structured",
            Self::BlackBox => "black box",
            Self::Noise => "noise",
            Self::Seeds => "seeds",
            Self::Pairs => "pairs",
        }
    }
}

impl Verdict {
    /// The name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Exceeded => "EXCEEDED",
            Self::NoClaim => "no claim",
        }
    }
}

fn claimed(finding: &Finding) -> String {
    finding.claimed.map_or_else(|| "none".to_owned(), |claim| pair(claim.epsilon, claim.delta))
}

fn found(finding: &Finding) -> String {
    let at_least = if finding.method == Method::BlackBox { ">= " } else { "" };
    format!("{at_least}{}", pair(finding.epsilon, finding.delta))
}

fn pair(epsilon: f64, delta: f64) -> String {
    let delta = if delta <= 0.0 {
        "0".to_owned()
    } else if delta < 1e-4 {
        format!("{delta:.1e}")
    } else {
        format!("{delta:.4}")
    };
    // Rounded up at the sixth digit: never better than found.
    let epsilon =
        if epsilon.is_finite() { (epsilon * 1e6 - 1e-3).ceil().max(0.0) / 1e6 } else { epsilon };
    format!("({epsilon}, {delta})")
}

/// The table: claimed (epsilon, delta), found (epsilon at delta 0, delta at the claimed epsilon),
/// verdict.
#[must_use]
pub fn table(findings: &[Finding]) -> String {
    let header = ["design", "method", "claimed", "found", "verdict", "instance"].map(str::to_owned);
    let line = |f: &Finding| {
        let names = (f.design.to_owned(), f.method.name().to_owned(), f.verdict.name().to_owned());
        [names.0, names.1, claimed(f), found(f), names.2, f.instance.clone()]
    };
    let lines: Vec<_> = std::iter::once(header).chain(findings.iter().map(line)).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

/// The loss in characters, where the claim has [`CLAIM`].
fn length(finding: &Finding) -> Option<usize> {
    let claim = finding.claimed?.epsilon;
    Some((finding.epsilon / claim * CLAIM as f64).round().clamp(0.0, LONGEST as f64) as usize)
}

/// A bar a finding: blocks for the loss found, a mark where the claim ends. Losses are at delta =
/// 0.
#[must_use]
pub fn chart(findings: &[Finding]) -> String {
    let mut text = String::new();
    for (finding, length) in findings.iter().filter_map(|f| Some((f, length(f)?))) {
        let filled = "\u{2588}".repeat(length.min(CLAIM));
        let rest = " ".repeat(CLAIM.saturating_sub(length));
        let beyond = "\u{2593}".repeat(length.saturating_sub(CLAIM));
        let more = if length == LONGEST { "+" } else { "" };
        let _ = writeln!(
            text,
            "{:<9} {filled}{rest}\u{2502}{beyond}{more} {} {}",
            finding.design,
            finding.method.name(),
            finding.instance
        );
    }
    text
}

/// The chart as SVG.
#[must_use]
pub fn svg(findings: &[Finding]) -> String {
    const ROW: f64 = 22.0;
    const UNIT: f64 = 8.0;
    const LEFT: f64 = 90.0;
    const TOP: f64 = 80.0;
    let bars: Vec<_> = findings.iter().filter_map(|f| Some((f, length(f)?))).collect();
    let mark = LEFT + CLAIM as f64 * UNIT;
    let bottom = TOP + bars.len() as f64 * ROW;
    let title = "Privacy loss found, as a share of the claimed epsilon";
    let mut svg = Svg::new(1400.0, bottom + ROW, title);
    svg.headings(title, "The line is the claim; a red bar is a claim that was exceeded");
    for (at, (finding, length)) in bars.iter().enumerate() {
        let (y, width) = (TOP + at as f64 * ROW, *length as f64 * UNIT);
        let exceeded = finding.verdict == Verdict::Exceeded;
        svg.text(12.0, y + 12.0, "", finding.design);
        svg.rect(
            [LEFT, y],
            [width, 14.0],
            if exceeded { "fill=\"#D55E00\"" } else { "fill=\"#0072B2\"" },
        );
        svg.text(LEFT + width.max(mark - LEFT) + 8.0, y + 12.0, "", &finding.instance);
    }
    svg.line([mark, TOP - 6.0], [mark, bottom], "stroke=\"black\"");
    svg.finish()
}
