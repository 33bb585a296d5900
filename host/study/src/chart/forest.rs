//! The forest plot: estimates with their 95 % intervals, a line each, zero always shown, as SVG or
//! in block characters.
//!
//! [`Forest`] is a picture of its own, readable without colour: a disc is an estimate, a diamond a
//! pooled one. [`Scale`] draws the same lines in a terminal.

use super::svg::{FIRST_SUBTITLE, Svg};

/// An estimate with its interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Whose effect it is.
    pub name: String,
    /// The estimate.
    pub estimate: f64,
    /// Low and high end of the interval.
    pub ends: [f64; 2],
    /// The true effect, where it is known.
    pub truth: Option<f64>,
    /// Whether it combines other estimates.
    pub pooled: bool,
    /// Words below its numbers.
    pub remark: Option<&'static str>,
}

/// The range of effects a plot shows: the same to both sides of zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    reach: f64,
}

impl Scale {
    /// The smallest tenth that holds every interval.
    #[must_use]
    pub fn of<'a>(intervals: impl IntoIterator<Item = &'a Interval>) -> Self {
        let values = intervals.into_iter().flat_map(|interval| {
            let Interval { estimate, ends: [low, high], truth, .. } = interval;
            [*low, *high, *estimate, truth.unwrap_or(0.0)]
        });
        let widest = values.map(f64::abs).fold(0.0, f64::max);
        Self { reach: ((widest * 10.0).ceil() / 10.0).clamp(0.1, 1.0) }
    }

    /// The ends of the scale above a plot of this many columns; odd, so that it has a middle.
    #[must_use]
    pub fn ends(&self, columns: usize) -> String {
        let (left, right) = (format!("{:+.1}", -self.reach), format!("{:+.1}", self.reach));
        let middle = columns / 2;
        format!("{left:<middle$}0{right:>middle$}")
    }

    /// The place of a value: 0 at the left end, 1 at the right one.
    fn share(&self, value: f64) -> f64 {
        ((value / self.reach + 1.0) / 2.0).clamp(0.0, 1.0)
    }

    /// One line: `├──●──┤` for the interval (`◆` for a pooled one), `│` for zero, `x` for the truth
    /// where it is known.
    #[must_use]
    pub fn blocks(&self, interval: &Interval, columns: usize) -> String {
        let column = |value: f64| (self.share(value) * (columns - 1) as f64).round() as usize;
        let ([low, high], at) = (interval.ends.map(column), column(interval.estimate));
        let truth = interval.truth.map(column);
        let mark = |place: usize| match place {
            c if c == at && interval.pooled => '◆',
            c if c == at => '●',
            c if truth == Some(c) => 'x',
            c if c == low => '├',
            c if c == high => '┤',
            c if c > low && c < high => '─',
            c if c == columns / 2 => '│',
            _ => '·',
        };
        (0..columns).map(mark).collect()
    }
}

/// A line of the picture.
#[derive(Clone, Debug)]
pub enum Line {
    /// The name of the intervals below it.
    Heading(String),
    /// An interval.
    Interval(Interval),
    /// Words on the intervals above it; the next line stands apart.
    Note(String),
}

/// A forest plot.
#[derive(Clone, Debug)]
pub struct Forest {
    /// Heading of the picture.
    pub title: String,
    /// Circumstances, below the heading; may have several lines.
    pub subtitle: String,
    /// From above.
    pub lines: Vec<Line>,
    /// Words on effects below and above zero, as `favours arm 0`.
    pub sides: [String; 2],
    /// Decimals of the numbers beside the plot.
    pub decimals: usize,
}

/// Width of the part with the intervals, and of a letter (on the safe side).
const PLOT: f64 = 420.0;
const LETTER: f64 = 7.8;
const MARGIN: f64 = 24.0;
const TOP: f64 = 84.0;
const ROW: f64 = 28.0;
/// Height of a line of the subtitle.
const SUBTITLE: f64 = 18.0;
const SECOND_LINE: f64 = 8.0;
/// Room behind a note, and in front of intervals that have a heading.
const GAP: f64 = 12.0;
const INDENT: f64 = 16.0;
const COLOUR: &str = "#1f4e79";
/// Letters over the grid stay readable.
const OVER_GRID: &str = "stroke=\"white\" stroke-width=\"3\" paint-order=\"stroke\"";

fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

impl Forest {
    fn intervals(&self) -> impl Iterator<Item = &Interval> {
        self.lines.iter().filter_map(|line| match line {
            Line::Interval(interval) => Some(interval),
            Line::Heading(_) | Line::Note(_) => None,
        })
    }

    fn numbers(&self, interval: &Interval) -> String {
        let Interval { estimate, ends: [low, high], .. } = interval;
        let n = self.decimals;
        format!("{estimate:+.n$} ({low:+.n$} to {high:+.n$})")
    }

    /// The picture as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let scale = Scale::of(self.intervals());
        let headed = self.lines.iter().any(|line| matches!(line, Line::Heading(_)));
        let names = MARGIN + if headed { INDENT } else { 0.0 };
        let [zero, one] = &self.sides;
        let (zero, one) = (format!("← {zero}"), format!("{one} →"));
        let widest = self.intervals().map(|interval| names + width(&interval.name));
        let left = MARGIN + widest.fold(MARGIN + width(&zero) - PLOT / 2.0, f64::max);
        let (right, middle) = (left + PLOT, left + PLOT / 2.0);
        let x = |value: f64| left + PLOT * scale.share(value);
        let height = |line: &Line| match line {
            Line::Note(_) => ROW + GAP,
            Line::Interval(Interval { remark: Some(_), .. }) => ROW + SECOND_LINE,
            Line::Heading(_) | Line::Interval(_) => ROW,
        };
        let further = self.subtitle.lines().skip(1);
        let first = TOP + SUBTITLE * further.clone().count() as f64;
        let bottom = first + self.lines.iter().map(height).sum::<f64>();
        let numbers = self.intervals().map(|interval| width(&self.numbers(interval)));
        let wide = (right + numbers.fold(0.0, f64::max) + 2.0 * MARGIN)
            .max(middle + width(&one) + MARGIN)
            .max(width(&self.title) * 1.4 + MARGIN * 2.0);
        let wide = further.map(|line| width(line) + MARGIN * 2.0).fold(wide, f64::max);
        let mut svg = Svg::new(wide.round(), (bottom + 76.0).round(), &self.title);
        svg.headings(&self.title, self.subtitle.lines().next().unwrap_or_default());
        for (line, words) in (1_u32..).zip(self.subtitle.lines().skip(1)) {
            let y = FIRST_SUBTITLE + SUBTITLE * f64::from(line);
            svg.text(MARGIN, y, "fill=\"#444\"", words);
        }
        for step in -2..=2 {
            let value = scale.reach * f64::from(step) / 2.0;
            let colour = if step == 0 { "stroke=\"#333\"" } else { "stroke=\"#ddd\"" };
            let label = if step == 0 { "0".to_owned() } else { format!("{value:+.2}") };
            svg.line([x(value), first - 8.0], [x(value), bottom], colour);
            svg.text(x(value), bottom + 20.0, "text-anchor=\"middle\" fill=\"#555\"", &label);
        }
        let mut top = first;
        for line in &self.lines {
            let room = if matches!(line, Line::Note(_)) { ROW } else { height(line) };
            let y = top + room / 2.0;
            match line {
                Line::Heading(name) => {
                    let attributes = format!("font-weight=\"bold\" {OVER_GRID}");
                    svg.text(MARGIN, y + 5.0, &attributes, name);
                }
                Line::Interval(interval) => {
                    svg.text(names, y + 5.0, "", &interval.name);
                    draw(&mut svg, interval, y, &x);
                    let (numbers, aside) = (self.numbers(interval), right + MARGIN);
                    let raised = if interval.remark.is_some() { -2.0 } else { 5.0 };
                    svg.text(aside, y + raised, "fill=\"#333\"", &numbers);
                    if let Some(remark) = interval.remark {
                        svg.text(aside, y + 12.0, "fill=\"#333\" font-size=\"11\"", remark);
                    }
                }
                Line::Note(words) => {
                    let attributes = format!("fill=\"#444\" font-size=\"12\" {OVER_GRID}");
                    svg.text(names, y + 3.0, &attributes, words);
                }
            }
            top += height(line);
        }
        let below = bottom + 50.0;
        svg.text(middle - 14.0, below, "text-anchor=\"end\" fill=\"#333\"", &zero);
        svg.text(middle + 14.0, below, "fill=\"#333\"", &one);
        svg.finish()
    }
}

fn draw(svg: &mut Svg, interval: &Interval, y: f64, x: &impl Fn(f64) -> f64) {
    let ([low, high], at) = (interval.ends.map(x), x(interval.estimate));
    let fill = format!("fill=\"{COLOUR}\"");
    if interval.pooled {
        let (above, below) = (y - 7.0, y + 7.0);
        let path =
            format!("M{low:.1} {y:.1}L{at:.1} {above:.1}L{high:.1} {y:.1}L{at:.1} {below:.1}z");
        return svg.path(&path, &fill);
    }
    let stroke = format!("stroke=\"{COLOUR}\" stroke-width=\"2\"");
    svg.line([low, y], [high, y], &stroke);
    for end in [low, high] {
        svg.line([end, y - 6.0], [end, y + 6.0], &stroke);
    }
    svg.disc([at, y], 5.0, &fill);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(name: &str, pooled: bool) -> Interval {
        let (name, ends) = (name.to_owned(), [0.1, 0.3]);
        Interval { name, estimate: 0.2, ends, truth: None, pooled, remark: None }
    }

    fn plot(lines: Vec<Line>) -> String {
        let (title, subtitle) = ("t".to_owned(), "s".to_owned());
        let sides = ["a", "b"].map(String::from);
        Forest { title, subtitle, lines, sides, decimals: 3 }.svg()
    }

    /// Sites are discs and what combines them is a diamond, in the terminal and in the picture.
    #[test]
    fn pooled_estimates_are_diamonds() {
        let (site, whole) = (interval("north", false), interval("all", true));
        let scale = Scale::of([&site, &whole]);
        assert_eq!(scale.ends(13), "-0.3  0  +0.3");
        assert_eq!(scale.blocks(&site, 13), "······│·├─●─┤");
        assert_eq!(scale.blocks(&whole, 13), "······│·├─◆─┤");
        for (interval, shapes) in [(site, [1, 0]), (whole, [0, 1])] {
            let svg = plot(vec![Line::Interval(interval)]);
            let found = ["<circle", "z\" fill="].map(|shape| svg.matches(shape).count());
            assert_eq!(found, shapes, "{svg}");
            assert!(svg.contains("+0.200 (+0.100 to +0.300)"), "{svg}");
        }
    }

    /// The plot begins behind the longest name, so that none reaches into it.
    #[test]
    fn long_names_move_the_plot() {
        let circle = |name: &str| {
            let svg = plot(vec![Line::Interval(interval(name, false))]);
            let at = svg.split("cx=\"").nth(1).and_then(|rest| rest.split('"').next());
            at.unwrap().parse::<f64>().unwrap()
        };
        let (short, long) = (circle("north"), circle(&"north ".repeat(10)));
        assert!((long - short - 55.0 * LETTER).abs() < 0.2, "{short} {long}");
    }
}
