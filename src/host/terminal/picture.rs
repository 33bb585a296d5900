//! Intervals as a picture: one line a feature, zero in sight, in block characters or as SVG.

use std::fmt::Write;

use super::report::Estimate;

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
    pub fn of(rows: &[Estimate]) -> Self {
        let ends = rows.iter().flat_map(|row| [row.low, row.high, row.estimate, row.truth.unwrap_or(0.0)]);
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
        let (low, at, high) = (self.column(row.low), self.column(row.estimate), self.column(row.high));
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

const WIDTH: f64 = 760.0;
const LEFT: f64 = 270.0;
const RIGHT: f64 = 730.0;
const TOP: f64 = 84.0;
const ROW: f64 = 34.0;

/// The picture as a file of its own, readable without colour.
#[must_use]
pub fn svg(title: &str, rows: &[Estimate], arms: Option<&[String; 2]>) -> String {
    let scale = Scale::of(rows);
    let x = |value: f64| LEFT + (RIGHT - LEFT) * ((value / scale.reach + 1.0) / 2.0).clamp(0.0, 1.0);
    let bottom = TOP + ROW * rows.len() as f64;
    let height = bottom + 76.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"14\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"20\" y=\"32\" font-size=\"18\" font-weight=\"bold\">{title}</text>\n\
         <text x=\"20\" y=\"54\" fill=\"#555\">Treatment effect with 95 % interval, by kind of patient</text>\n",
        title = escape(title)
    );
    for step in -2..=2 {
        let value = scale.reach * f64::from(step) / 2.0;
        let (at, colour) = (x(value), if step == 0 { "#333" } else { "#ddd" });
        let label = if step == 0 { "0".to_owned() } else { format!("{value:+.2}") };
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\" stroke=\"{colour}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{label}</text>",
            TOP - 8.0,
            bottom + 20.0
        );
    }
    for (place, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (place as f64 + 0.5);
        let (low, at, high) = (x(row.low), x(row.estimate), x(row.high));
        let _ = writeln!(
            svg,
            "<text x=\"20\" y=\"{:.1}\">{}</text>\
             <line x1=\"{low:.1}\" y1=\"{y:.1}\" x2=\"{high:.1}\" y2=\"{y:.1}\" stroke=\"#1f4e79\" stroke-width=\"3\"/>\
             <line x1=\"{low:.1}\" y1=\"{a:.1}\" x2=\"{low:.1}\" y2=\"{b:.1}\" stroke=\"#1f4e79\" stroke-width=\"2\"/>\
             <line x1=\"{high:.1}\" y1=\"{a:.1}\" x2=\"{high:.1}\" y2=\"{b:.1}\" stroke=\"#1f4e79\" stroke-width=\"2\"/>\
             <circle cx=\"{at:.1}\" cy=\"{y:.1}\" r=\"6\" fill=\"#1f4e79\"><title>{:+.3} ({:+.3} to {:+.3}), {} outcomes</title></circle>",
            y + 5.0,
            escape(&row.name),
            row.estimate,
            row.low,
            row.high,
            row.patients,
            a = y - 6.0,
            b = y + 6.0,
        );
    }
    let [zero, one] = arms.map_or(["arm 0", "arm 1"], |[zero, one]| [zero, one]);
    let middle = x(0.0);
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"end\" fill=\"#333\">← favours {}</text>\
         <text x=\"{:.1}\" y=\"{y:.1}\" fill=\"#333\">favours {} →</text>\n</svg>",
        middle - 14.0,
        escape(zero),
        middle + 14.0,
        escape(one),
        y = bottom + 50.0,
    );
    svg
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(estimate: f64, low: f64, high: f64) -> Estimate {
        Estimate { feature: 0, name: "<a & b>".to_owned(), estimate, low, high, patients: 9, truth: None }
    }

    #[test]
    fn an_interval_stands_where_its_numbers_are() {
        let rows = [row(0.25, 0.0, 0.5), row(-0.5, -0.9, -0.1)];
        let scale = Scale::of(&rows);
        assert_eq!(scale.ends(), "-0.9            0            +0.9");
        assert_eq!(scale.blocks(&rows[0]), "················├───●────┤·······");
        assert_eq!(scale.blocks(&rows[1]), "├──────●──────┤·│················");
    }

    #[test]
    fn names_cannot_break_the_picture() {
        let svg = svg("\"<script>\"", &[row(0.1, 0.0, 0.2)], None);
        assert!(svg.contains("&lt;a &amp; b&gt;") && !svg.contains("<script>"));
    }
}
