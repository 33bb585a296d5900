//! The audit on paper: a table, a bar chart for the terminal, and the same chart as SVG.

use crate::prelude::*;
use std::fmt::Write;

use super::suite::{Finding, Method, Verdict};

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
    let epsilon = if epsilon.is_finite() { (epsilon * 1e6 - 1e-3).ceil().max(0.0) / 1e6 } else { epsilon };
    format!("({epsilon}, {delta})")
}

/// The table: claimed (epsilon, delta), found (epsilon at delta 0, delta at the claimed epsilon), verdict.
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

/// A bar a finding: blocks for the loss found, a mark where the claim ends. Losses are at delta = 0.
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
    const ROW: usize = 22;
    const UNIT: usize = 8;
    const LEFT: usize = 80;
    let bars: Vec<_> = findings.iter().filter_map(|f| Some((f, length(f)?))).collect();
    let mark = LEFT + CLAIM * UNIT;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1400\" height=\"{}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<text x=\"{mark}\" y=\"14\" text-anchor=\"middle\">claimed epsilon</text>\n",
        (bars.len() + 2) * ROW
    );
    for (at, (finding, length)) in bars.iter().enumerate() {
        let (y, width) = ((at + 1) * ROW, length * UNIT);
        let colour = if finding.verdict == Verdict::Exceeded { "#c0392b" } else { "#2471a3" };
        let (design, instance) = (finding.design, &finding.instance);
        let _ = writeln!(
            text,
            "<text x=\"4\" y=\"{0}\">{design}</text><rect x=\"{LEFT}\" y=\"{y}\" width=\"{width}\" height=\"14\" \
             fill=\"{colour}\"/><text x=\"{1}\" y=\"{0}\">{instance}</text>",
            y + 12,
            LEFT + width.max(CLAIM * UNIT) + 8,
        );
    }
    let bottom = (bars.len() + 1) * ROW;
    let _ = writeln!(text, "<path d=\"M{mark} 18V{bottom}\" stroke=\"black\"/>\n</svg>");
    text
}
