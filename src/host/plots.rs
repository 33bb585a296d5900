//! Pictures: one plane, points with error bars, curves, reference lines, a legend beside the plane.
//!
//! A [`Chart`] becomes SVG text of 800 x 600, written here: axes, ticks, legend and markers are a few shapes, and a
//! picture must look the same on every machine. The legend stands outside the plane, so it never covers a point.
//! Series are told apart by colour (Okabe and Ito's palette, safe for colour-blind readers) and by marker.
//!
//! PNG needs fonts, which a program without a desktop does not have: [`save`] hands the SVG to `rsvg-convert`
//! (Debian: librsvg2-bin) and says so if that is not installed.

use crate::prelude::*;
use std::fmt::Write;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::simulate::SimulateError;
use super::simulate::command::write as write_file;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 600.0;
/// Edges of the plane: left, right, top, bottom.
const PLANE: [f64; 4] = [84.0, 566.0, 76.0, 530.0];
const LEGEND: f64 = 584.0;
const COLOURS: [&str; 9] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#6B6B6B", "#6B6B6B"];
/// Dashes of reference lines.
const DASHES: [&str; 3] = ["7 4", "2 3", "9 3 2 3"];

/// A point with the standard errors of its coordinates.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// Across and up.
    pub at: [f64; 2],
    /// Their standard errors; 0 draws no bar.
    pub error: [f64; 2],
    /// A word beside the point.
    pub label: Option<String>,
}

/// What a series is drawn as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Markers joined by a line.
    Curve,
    /// Markers alone.
    Points,
    /// A dashed line without markers, cut to the plane.
    Reference,
    /// A dashed level across the plane, at the height of the first point.
    Level,
}

impl Look {
    const fn is_dashed(self) -> bool {
        matches!(self, Self::Reference | Self::Level)
    }

    /// The dashes of series number `i`, as an attribute.
    fn dash(self, i: usize) -> String {
        if self.is_dashed() {
            format!(" stroke-dasharray=\"{}\"", DASHES[i % DASHES.len()])
        } else {
            String::new()
        }
    }
}

/// Points that belong together.
#[derive(Clone, Debug)]
pub struct Series {
    /// The words of the legend.
    pub name: String,
    /// Drawn as.
    pub look: Look,
    /// In drawing order.
    pub points: Vec<Point>,
}

/// One direction of the plane.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The words along it, with the unit.
    pub name: &'static str,
    /// Is it logarithmic? Then values at or below 0 are not drawn.
    pub log: bool,
}

/// A picture.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// Under which circumstances.
    pub subtitle: String,
    /// Across and up.
    pub axes: [Axis; 2],
    /// In the order of the legend.
    pub series: Vec<Series>,
}

/// The drawn range of an axis, in the units in which it is linear.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
    log: bool,
}

impl Range {
    fn new(values: impl Iterator<Item = f64>, log: bool) -> Self {
        let linear = |v: f64| if log { v.log10() } else { v };
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|v| v.is_finite() && (!log || *v > 0.0)).map(linear) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let margin = ((high - low) * 0.06).max(if log { 0.05 } else { 1e-9 });
        Self { low: low - margin, high: high + margin, log }
    }

    /// 0 at the low end, 1 at the high one; `None` where there is no logarithm.
    fn place(&self, value: f64) -> Option<f64> {
        let linear = if self.log { value.log10() } else { value };
        linear.is_finite().then(|| (linear - self.low) / (self.high - self.low))
    }

    /// Round values, and whether they get a number.
    fn ticks(&self) -> Vec<(f64, bool)> {
        let mut ticks = Vec::new();
        if self.log {
            let span = self.high - self.low;
            let numbered: &[u32] = match span {
                s if s < 0.6 => &[1, 2, 3, 4, 5, 6, 7, 8, 9],
                s if s < 1.3 => &[1, 2, 3, 5, 7],
                s if s < 2.2 => &[1, 2, 5],
                _ => &[1],
            };
            for decade in self.low.floor() as i32..=self.high.ceil() as i32 {
                for digit in 1..=9 {
                    let value = f64::from(digit) * 10f64.powi(decade);
                    if self.place(value).is_some_and(|at| (0.0..=1.0).contains(&at)) {
                        ticks.push((value, numbered.contains(&digit)));
                    }
                }
            }
        } else {
            let rough = (self.high - self.low) / 8.0;
            let power = 10f64.powf(rough.log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough);
            let step = step.unwrap_or(rough);
            let first = (self.low / step).ceil() as i64;
            ticks.extend((first..).map(|k| (k as f64 * step, true)).take_while(|(v, _)| *v <= self.high));
        }
        ticks
    }
}

fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-5..1e7).contains(&value.abs()) {
        return format!("{value:e}");
    }
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let whole = text.split('.').next().unwrap_or(text).trim_start_matches('-').len();
    if whole <= 4 || text.contains('.') {
        return text.into();
    }
    let (head, tail) = text.split_at(text.len() - 3);
    match head.len() {
        4.. => format!("{},{},{tail}", &head[..head.len() - 3], &head[head.len() - 3..]),
        _ => format!("{head},{tail}"),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A marker of series number `i` at a place.
fn marker(i: usize, [x, y]: [f64; 2]) -> String {
    let colour = COLOURS[i % COLOURS.len()];
    let path =
        |d: String| format!("<path d=\"{d}\" fill=\"{colour}\" stroke=\"white\" stroke-width=\"0.8\"/>\n");
    match i % 8 {
        0 => format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.6\" fill=\"{colour}\" stroke=\"white\" stroke-width=\"0.8\"/>\n"
        ),
        1 => path(format!("M{:.1} {:.1}h8.4v8.4h-8.4z", x - 4.2, y - 4.2)),
        2 => path(format!("M{x:.1} {:.1}l5.4 9.4h-10.8z", y - 5.8)),
        3 => path(format!("M{x:.1} {:.1}l5.6 5.6l-5.6 5.6l-5.6 -5.6z", y - 5.6)),
        4 => path(format!("M{x:.1} {:.1}l5.4 -9.4h-10.8z", y + 5.8)),
        5 => {
            path(format!("M{:.1} {:.1}h3.6v-3.6h3.6v3.6h3.6v3.6h-3.6v3.6h-3.6v-3.6h-3.6z", x - 5.4, y - 1.8))
        }
        6 => path(format!("M{x:.1} {:.1}l5.5 4l-2.1 6.5h-6.8l-2.1 -6.5z", y - 5.7)),
        _ => path(format!("M{:.1} {:.1}h10.8v4.2h-10.8z", x - 5.4, y - 2.1)),
    }
}

impl Chart {
    fn ranges(&self) -> [Range; 2] {
        let axis = |k: usize| {
            // Reference lines do not widen the plane, levels only upwards and downwards.
            let widens = move |s: &&Series| s.look != Look::Reference && (s.look != Look::Level || k == 1);
            let drawn = self.series.iter().filter(widens);
            let values = drawn.flat_map(|s| &s.points).flat_map(move |p| {
                let (low, high) = (p.at[k] - p.error[k], p.at[k] + p.error[k]);
                [low, p.at[k], high]
            });
            Range::new(values, self.axes[k].log)
        };
        [axis(0), axis(1)]
    }

    /// The picture as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let [left, right, top, bottom] = PLANE;
        let ranges = self.ranges();
        let place = |at: [f64; 2]| {
            let (across, up) = (ranges[0].place(at[0])?, ranges[1].place(at[1])?);
            Some([left + across * (right - left), bottom - up * (bottom - top)])
        };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} \
             {HEIGHT}\" font-family=\"DejaVu Sans, Arial, sans-serif\" font-size=\"13\">\n<title>{}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<clipPath id=\"plane\"><rect x=\"{left}\" y=\"{top}\" \
             width=\"{}\" height=\"{}\"/></clipPath>\n",
            escape(&self.title),
            right - left,
            bottom - top,
        );
        let _ = writeln!(
            svg,
            "<text x=\"24\" y=\"32\" font-size=\"18\" font-weight=\"bold\">{}</text>\n<text x=\"24\" y=\"54\" \
             fill=\"#444\">{}</text>",
            escape(&self.title),
            escape(&self.subtitle)
        );
        self.draw_axes(&mut svg, &ranges);
        for (i, series) in self.series.iter().enumerate() {
            let _ = writeln!(svg, "<g clip-path=\"url(#plane)\">");
            draw_series(&mut svg, i, series, &place);
            let _ = writeln!(svg, "</g>");
        }
        // Words last, so that no curve runs over them. Curves of a trade fall from left to right, so there is most room
        // below and to the left, but for the width of a word at the edge of the plane.
        for point in self.series.iter().flat_map(|s| &s.points) {
            if let (Some(label), Some([x, y])) = (&point.label, place(point.at)) {
                let _ = writeln!(
                    svg,
                    "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"12\" stroke=\"white\" \
                     stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
                    f64::max(x - 7.0, left + 48.0),
                    y + 18.0,
                    escape(label)
                );
            }
        }
        self.draw_legend(&mut svg);
        svg + "</svg>\n"
    }

    fn draw_axes(&self, svg: &mut String, ranges: &[Range; 2]) {
        let [left, right, top, bottom] = PLANE;
        for (value, numbered) in ranges[0].ticks() {
            let x = left + ranges[0].place(value).unwrap_or(0.0) * (right - left);
            let shade = if numbered { "#DDD" } else { "#F2F2F2" };
            let _ = writeln!(svg, "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"{shade}\"/>");
            if numbered {
                let (y, text) = (bottom + 18.0, number(value));
                let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>");
            }
        }
        for (value, numbered) in ranges[1].ticks() {
            let y = bottom - ranges[1].place(value).unwrap_or(0.0) * (bottom - top);
            let shade = if numbered { "#DDD" } else { "#F2F2F2" };
            let _ = writeln!(svg, "<path d=\"M{left} {y:.1}H{right}\" stroke=\"{shade}\"/>");
            if numbered {
                let (x, y, text) = (left - 8.0, y + 4.5, number(value));
                let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{text}</text>");
            }
        }
        let (width, height) = (right - left, bottom - top);
        let (middle, centre) = (left + width / 2.0, top + height / 2.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#444\"/>\n\
             <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" font-size=\"14\">{}</text>\n\
             <text transform=\"translate(22 {centre}) rotate(-90)\" text-anchor=\"middle\" font-size=\"14\">{}</text>",
            bottom + 44.0,
            escape(self.axes[0].name),
            escape(self.axes[1].name)
        );
    }

    fn draw_legend(&self, svg: &mut String) {
        let mut y = PLANE[2] + 12.0;
        for (i, series) in self.series.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            if series.look != Look::Points {
                let dash = series.look.dash(i);
                let _ = writeln!(
                    svg,
                    "<path d=\"M{LEGEND} {y}h28\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>"
                );
            }
            if !series.look.is_dashed() {
                *svg += &marker(i, [LEGEND + 14.0, y]);
            }
            for line in series.name.lines() {
                let _ = writeln!(
                    svg,
                    "<text x=\"{}\" y=\"{:.1}\">{}</text>",
                    LEGEND + 36.0,
                    y + 4.5,
                    escape(line)
                );
                y += 17.0;
            }
            y += 8.0;
        }
    }
}

fn draw_series(svg: &mut String, i: usize, series: &Series, place: &impl Fn([f64; 2]) -> Option<[f64; 2]>) {
    let colour = COLOURS[i % COLOURS.len()];
    if series.look != Look::Points {
        let mut path = String::new();
        for [x, y] in series.points.iter().filter_map(|p| place(p.at)) {
            let _ = match series.look {
                Look::Level => write!(path, "M{} {y:.1}H{}", PLANE[0], PLANE[1]),
                _ => write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' }),
            };
        }
        let dash = series.look.dash(i);
        let _ =
            writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>");
    }
    if series.look.is_dashed() {
        return;
    }
    for point in &series.points {
        let Some(centre) = place(point.at) else { continue };
        for k in [0, 1] {
            let end = |sign: f64| {
                let mut at = point.at;
                at[k] += sign * point.error[k];
                place(at).unwrap_or(centre)
            };
            if point.error[k] > 0.0 {
                let ([x0, y0], [x1, y1]) = (end(-1.0), end(1.0));
                let _ = writeln!(
                    svg,
                    "<path d=\"M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}\" stroke=\"{colour}\" stroke-width=\"1.2\"/>"
                );
            }
        }
        *svg += &marker(i, centre);
    }
}

/// Writes a picture, or with `.csv` the numbers behind it.
///
/// # Errors
/// A name that ends otherwise, a file that cannot be written, or no converter for PNG.
pub fn save(path: &str, chart: &Chart, csv: &str) -> Result<(), SimulateError> {
    let failed = |reason: &str| SimulateError::File(path.into(), reason.into());
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("svg") => write_file(path, chart.svg().as_bytes()),
        Some("csv") => write_file(path, csv.as_bytes()),
        Some("png") => {
            let mut converter = Command::new("rsvg-convert");
            converter.args(["--zoom=2", "--format=png", "--output", path]).stdin(Stdio::piped());
            let mut child = converter.spawn().map_err(|_| {
                failed("PNG needs rsvg-convert (Debian: apt-get install librsvg2-bin); or write .svg")
            })?;
            if let Some(mut input) = child.stdin.take() {
                input.write_all(chart.svg().as_bytes()).map_err(|error| failed(&error.to_string()))?;
            }
            match child.wait() {
                Ok(status) if status.success() => Ok(()),
                _ => Err(failed("rsvg-convert failed")),
            }
        }
        _ => Err(SimulateError::value("out", path, "a name that ends in .svg, .png or .csv")),
    }
}

/// Checks the name before hours of work.
///
/// # Errors
/// A name that [`save`] would not take.
pub fn check_name(path: &str) -> Result<(), SimulateError> {
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("svg" | "png" | "csv") => Ok(()),
        _ => Err(SimulateError::value("out", path, "a name that ends in .svg, .png or .csv")),
    }
}
