//! The estimates of a report as a forest plot: one line a feature, in block characters or as SVG.

use crate::records::report::{Effects, Estimate, SAYS_NOTHING};
use crate::records::text::escaped;
use crate::records::trial_file::TrialFile;
use equipoise::plan::Better;
use equipoise_study::chart::forest::{Forest, Interval, Line, Scale};

/// Columns of the picture in a terminal; odd, so that it has a middle.
const COLUMNS: usize = 33;

fn interval(row: &Estimate) -> Interval {
    Interval {
        name: escaped(&row.name),
        estimate: row.estimate,
        ends: [row.low, row.high],
        truth: row.truth,
        pooled: false,
        remark: row.is_worthless().then_some(SAYS_NOTHING),
    }
}

/// The intervals in block characters, a line each, below the ends of their scale.
#[must_use]
pub fn blocks(rows: &[&Estimate]) -> (String, Vec<String>) {
    let intervals: Vec<Interval> = rows.iter().map(|row| interval(row)).collect();
    let scale = Scale::of(&intervals);
    let lines = intervals.iter().map(|interval| scale.blocks(interval, COLUMNS));
    (scale.ends(COLUMNS), lines.collect())
}

impl Effects {
    /// Of the arms 0 and 1, the one that an effect below zero favours, and the one above.
    #[must_use]
    pub const fn favoured<T: Copy>(&self, [zero, one]: [T; 2]) -> [T; 2] {
        match self.better {
            Better::High => [zero, one],
            Better::Low => [one, zero],
        }
    }
}

/// The picture as a file of its own, readable without colour. Names and the direction come from the
/// trial file.
#[must_use]
pub fn svg(title: &str, effects: &Effects, trial: Option<&TrialFile>) -> String {
    let what = "Treatment effect with 95 % confidence interval, by kind of patient";
    let arms = trial.map(|trial| &trial.arms);
    let [zero, one] = arms.map_or(["arm 0", "arm 1"], |[zero, one]| [zero, one]);
    let better = trial.map_or_else(
        || match effects.better {
            Better::High => "higher outcomes".to_owned(),
            Better::Low => "lower outcomes".to_owned(),
        },
        |trial| escaped(&trial.better()),
    );
    let forest = Forest {
        title: escaped(title),
        subtitle: format!("{what}; trial {}\nBetter is {better}", effects.trial),
        lines: effects.all().map(|row| Line::Interval(interval(row))).collect(),
        sides: effects.favoured([zero, one]).map(|arm| format!("favours {}", escaped(arm))),
        decimals: 2,
    };
    forest.svg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::report::tests::effects;
    use crate::records::trial_file::EXAMPLE;

    fn row(estimate: f64, low: f64, high: f64) -> Estimate {
        let name = "<a & b>".to_owned();
        let standard_error = 0.1;
        Estimate {
            feature: Some(0),
            name,
            estimate,
            standard_error,
            low,
            high,
            outcomes: 9,
            basis: None,
            ratios: None,
            truth: None,
        }
    }

    #[test]
    fn an_interval_stands_where_its_numbers_are() {
        let rows = [row(0.25, 0.0, 0.5), row(-0.5, -0.9, -0.1)];
        let (ends, lines) = blocks(&[&rows[0], &rows[1]]);
        assert_eq!(ends, "-0.9            0            +0.9");
        assert_eq!(lines[0], "················├───●────┤·······");
        assert_eq!(lines[1], "├──────●──────┤·│················");
    }

    /// A row whose estimate says nothing says so below its numbers, and no other row does.
    #[test]
    fn worthless_rows_say_so() {
        let rows = vec![row(0.1, 0.0, 0.2), row(0.3, -1.0, 1.0), row(1.0, 1.0, 1.0)];
        let svg = svg("title", &effects(rows), None);
        let lines: Vec<&str> = svg.lines().collect();
        let below = |numbers: &str| {
            let place = lines.iter().position(|line| line.contains(numbers)).unwrap();
            lines[place + 1].ends_with(">the estimate says nothing</text>")
        };
        assert!(below("(-1.00 to +1.00)") && below("(+1.00 to +1.00)"), "{svg}");
        assert_eq!(svg.matches("says nothing").count(), 2, "{svg}");
    }

    /// The picture says which outcomes are the better ones, in both directions, with a trial file
    /// and without.
    #[test]
    fn the_direction_is_in_the_picture() {
        let text = EXAMPLE.replacen("Walks unaided on day 14?", "Dead on day 30?", 1);
        let low = text.replacen("better = \"high\"", "better = \"low\"", 1);
        let said = |trial: &str| {
            let trial = TrialFile::parse("t", trial).unwrap();
            let mut effects = effects(vec![row(0.1, 0.0, 0.2)]);
            effects.better = trial.plan.better();
            [svg("title", &effects, Some(&trial)), svg("title", &effects, None)]
        };
        for (trial, words) in [
            (&text, ["Better is more: Dead on day 30? YES", "Better is higher outcomes"]),
            (&low, ["Better is fewer: Dead on day 30? YES", "Better is lower outcomes"]),
        ] {
            for (picture, words) in said(trial).iter().zip(words) {
                assert!(picture.contains(&format!(">{words}</text>")), "{picture}");
            }
        }
    }

    #[test]
    fn names_cannot_break_the_picture() {
        let rows = vec![row(0.1, 0.0, 0.2)];
        let svg = svg("\"<script>\"", &effects(rows), None);
        assert!(svg.contains("&lt;a &amp; b&gt;") && !svg.contains("<script>"));
    }
}
