//! Intervals as a picture: one line a feature, with zero always shown, in block characters or as
//! SVG.

use crate::records::report::{Effects, Estimate, SAYS_NOTHING};
use crate::records::text::escaped;
use equipoise_study::chart::svg::Svg;

/// Columns of the picture in a terminal; odd, so that it has a middle.
const COLUMNS: usize = 33;

/// The range of effects a picture shows: the same to both sides of zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    reach: f64,
}

impl Scale {
    /// The smallest tenth that holds every interval.
    #[must_use]
    pub fn of(rows: &[&Estimate]) -> Self {
        let ends =
            rows.iter().flat_map(|row| [row.low, row.high, row.estimate, row.truth.unwrap_or(0.0)]);
        let widest = ends.map(f64::abs).fold(0.0, f64::max);
        Self { reach: ((widest * 10.0).ceil() / 10.0).clamp(0.1, 1.0) }
    }

    /// The ends of the scale above the picture.
    #[must_use]
    pub fn ends(&self) -> String {
        let (left, right) = (format!("{:+.1}", -self.reach), format!("{:+.1}", self.reach));
        let middle = COLUMNS / 2;
        format!("{left:<middle$}0{right:>middle$}")
    }

    fn column(&self, value: f64) -> usize {
        let share = (value / self.reach + 1.0) / 2.0;
        (share.clamp(0.0, 1.0) * (COLUMNS - 1) as f64).round() as usize
    }

    /// One feature: `├──●──┤` for the interval, `│` for zero, `x` for the truth where it is known.
    #[must_use]
    pub fn blocks(&self, row: &Estimate) -> String {
        let (low, at, high) =
            (self.column(row.low), self.column(row.estimate), self.column(row.high));
        let truth = row.truth.map(|truth| self.column(truth));
        let mark = |column: usize| match column {
            c if c == at => '●',
            c if truth == Some(c) => 'x',
            c if c == low => '├',
            c if c == high => '┤',
            c if c > low && c < high => '─',
            c if c == COLUMNS / 2 => '│',
            _ => '·',
        };
        (0..COLUMNS).map(mark).collect()
    }
}

/// Width of the part with the intervals, of a letter (on the safe side), and of the column with the
/// numbers.
const PLOT: f64 = 420.0;
const LETTER: f64 = 7.8;
const NUMBERS: f64 = 190.0;
const MARGIN: f64 = 24.0;
const TOP: f64 = 84.0;
const ROW: f64 = 34.0;
const COLOUR: &str = "#1f4e79";

fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// The picture as a file of its own, readable without colour.
#[must_use]
pub fn svg(title: &str, effects: &Effects, arms: Option<&[String; 2]>) -> String {
    let rows: Vec<(String, &Estimate)> =
        effects.all().map(|row| (escaped(&row.name), row)).collect();
    let scale = Scale::of(&effects.all().collect::<Vec<_>>());
    let [zero, one] = arms.map_or(["arm 0", "arm 1"], |[zero, one]| [zero, one]);
    let (zero, one) = (format!("← favours {zero}"), format!("favours {one} →"));
    let names = rows.iter().map(|(name, _)| width(name)).fold(width(&zero) - PLOT / 2.0, f64::max);
    let left = MARGIN * 2.0 + names.max(0.0);
    let right = left + PLOT;
    let middle = f64::midpoint(left, right);
    let x = |value: f64| left + PLOT * ((value / scale.reach + 1.0) / 2.0).clamp(0.0, 1.0);
    let bottom = TOP + ROW * rows.len() as f64;
    let wide =
        (right + NUMBERS).max(middle + width(&one) + MARGIN).max(width(title) * 1.4 + MARGIN * 2.0);
    let mut svg = Svg::new(wide.round(), (bottom + 76.0).round(), &escaped(title));
    let what = "Treatment effect with 95 % confidence interval, by kind of patient";
    svg.headings(&escaped(title), &format!("{what}; trial {}", effects.trial));
    for step in -2..=2 {
        let value = scale.reach * f64::from(step) / 2.0;
        let at = x(value);
        let colour = if step == 0 { "stroke=\"#333\"" } else { "stroke=\"#ddd\"" };
        let label = if step == 0 { "0".to_owned() } else { format!("{value:+.2}") };
        svg.line([at, TOP - 8.0], [at, bottom], colour);
        svg.text(at, bottom + 20.0, "text-anchor=\"middle\" fill=\"#555\"", &label);
    }
    let stroke = format!("stroke=\"{COLOUR}\" stroke-width=\"2\"");
    for (place, (name, row)) in rows.iter().enumerate() {
        let y = TOP + ROW * (place as f64 + 0.5);
        let (low, high) = (x(row.low), x(row.high));
        svg.text(MARGIN, y + 5.0, "", name);
        svg.line([low, y], [high, y], &stroke);
        for end in [low, high] {
            svg.line([end, y - 6.0], [end, y + 6.0], &stroke);
        }
        svg.disc([x(row.estimate), y], 5.0, &format!("fill=\"{COLOUR}\""));
        let numbers = format!("{:+.2} ({:+.2} to {:+.2})", row.estimate, row.low, row.high);
        let aside = right + MARGIN;
        if row.is_worthless() {
            svg.text(aside, y - 2.0, "fill=\"#333\"", &numbers);
            svg.text(aside, y + 12.0, "fill=\"#333\" font-size=\"11\"", SAYS_NOTHING);
        } else {
            svg.text(aside, y + 5.0, "fill=\"#333\"", &numbers);
        }
    }
    let below = bottom + 50.0;
    svg.text(middle - 14.0, below, "text-anchor=\"end\" fill=\"#333\"", &escaped(&zero));
    svg.text(middle + 14.0, below, "fill=\"#333\"", &escaped(&one));
    svg.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::report::tests::effects;

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
            truth: None,
        }
    }

    #[test]
    fn an_interval_stands_where_its_numbers_are() {
        let rows = [row(0.25, 0.0, 0.5), row(-0.5, -0.9, -0.1)];
        let scale = Scale::of(&[&rows[0], &rows[1]]);
        assert_eq!(scale.ends(), "-0.9            0            +0.9");
        assert_eq!(scale.blocks(&rows[0]), "················├───●────┤·······");
        assert_eq!(scale.blocks(&rows[1]), "├──────●──────┤·│················");
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

    #[test]
    fn names_cannot_break_the_picture() {
        let rows = vec![row(0.1, 0.0, 0.2)];
        let svg = svg("\"<script>\"", &effects(rows), None);
        assert!(svg.contains("&lt;a &amp; b&gt;") && !svg.contains("<script>"));
    }
}
