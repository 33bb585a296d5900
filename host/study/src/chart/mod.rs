//! Pictures: one plane with points, error bars, curves, reference lines and a legend beside it.
//!
//! A [`Chart`] becomes SVG text of 800 x 600. It is written here, because axes, ticks, legend and
//! markers are a few shapes, and a picture must look the same on every machine. The legend stands
//! outside the plane, so it never covers a point. Series differ in colour (Okabe and Ito's palette,
//! safe for colour-blind readers) and in marker.

pub mod forest;
mod range;
pub mod svg;

use std::fmt::Write;

use range::{Range, number};
use svg::Svg;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 600.0;
/// Edges of the plane: left, right, top, bottom.
const PLANE: [f64; 4] = [84.0, 566.0, 76.0, 530.0];
const LEGEND: f64 = 584.0;
const COLOURS: [&str; 9] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#6B6B6B",
    "#6B6B6B",
];
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

/// Form in which a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Markers joined by a line.
    Curve,
    /// Markers alone.
    Points,
    /// A dashed line without markers, cut to the plane.
    Reference,
    /// The same, but the plane is made large enough for it.
    Bound,
    /// A dashed level across the plane, at the height of the first point.
    Level,
}

impl Look {
    const fn is_dashed(self) -> bool {
        matches!(self, Self::Reference | Self::Bound | Self::Level)
    }

    /// Colour, width and dashes of the line of series number `i`.
    fn stroke(self, i: usize) -> String {
        let colour = COLOURS[i % COLOURS.len()];
        let mut attributes = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"");
        if self.is_dashed() {
            let _ = write!(attributes, " stroke-dasharray=\"{}\"", DASHES[i % DASHES.len()]);
        }
        attributes
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
    /// Whether it is logarithmic; then values at or below 0 are not drawn.
    pub log: bool,
}

/// A picture.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Subject of the chart.
    pub title: String,
    /// Under which circumstances.
    pub subtitle: String,
    /// Across and up.
    pub axes: [Axis; 2],
    /// In the order of the legend.
    pub series: Vec<Series>,
}

/// A marker of series number `i` at a place.
fn marker(svg: &mut Svg, i: usize, [x, y]: [f64; 2]) {
    let attributes =
        format!("fill=\"{}\" stroke=\"white\" stroke-width=\"0.8\"", COLOURS[i % COLOURS.len()]);
    let path = match i % 8 {
        0 => return svg.disc([x, y], 4.6, &attributes),
        1 => format!("M{:.1} {:.1}h8.4v8.4h-8.4z", x - 4.2, y - 4.2),
        2 => format!("M{x:.1} {:.1}l5.4 9.4h-10.8z", y - 5.8),
        3 => format!("M{x:.1} {:.1}l5.6 5.6l-5.6 5.6l-5.6 -5.6z", y - 5.6),
        4 => format!("M{x:.1} {:.1}l5.4 -9.4h-10.8z", y + 5.8),
        5 => format!(
            "M{:.1} {:.1}h3.6v-3.6h3.6v3.6h3.6v3.6h-3.6v3.6h-3.6v-3.6h-3.6z",
            x - 5.4,
            y - 1.8
        ),
        6 => format!("M{x:.1} {:.1}l5.5 4l-2.1 6.5h-6.8l-2.1 -6.5z", y - 5.7),
        _ => format!("M{:.1} {:.1}h10.8v4.2h-10.8z", x - 5.4, y - 2.1),
    };
    svg.path(&path, &attributes);
}

impl Chart {
    fn ranges(&self) -> [Range; 2] {
        let axis = |k: usize| {
            // Reference lines do not widen the plane, levels only upwards and downwards.
            let widens =
                move |s: &&Series| s.look != Look::Reference && (s.look != Look::Level || k == 1);
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
        let mut svg = Svg::new(WIDTH, HEIGHT, &self.title);
        svg.headings(&self.title, &self.subtitle);
        self.draw_axes(&mut svg, &ranges);
        svg.clipped("plane", [left, top], [right - left, bottom - top], |svg| {
            for (i, series) in self.series.iter().enumerate() {
                draw_series(svg, i, series, &place);
            }
        });
        // Labels last, so that no curve covers them. Curves of a trade-off fall from left to right,
        // so there is most room below and to the left, but for a label at the edge of the plane.
        for point in self.series.iter().flat_map(|s| &s.points) {
            if let (Some(label), Some([x, y])) = (&point.label, place(point.at)) {
                let attributes = "text-anchor=\"end\" font-size=\"12\" stroke=\"white\" \
                                  stroke-width=\"3\" paint-order=\"stroke\"";
                svg.text(f64::max(x - 7.0, left + 48.0), y + 18.0, attributes, label);
            }
        }
        self.draw_legend(&mut svg);
        svg.finish()
    }

    fn draw_axes(&self, svg: &mut Svg, ranges: &[Range; 2]) {
        let [left, right, top, bottom] = PLANE;
        let (width, height) = (right - left, bottom - top);
        let shade = |numbered| if numbered { "stroke=\"#DDD\"" } else { "stroke=\"#F2F2F2\"" };
        for (value, numbered) in ranges[0].ticks() {
            let x = left + ranges[0].place(value).unwrap_or(0.0) * width;
            svg.line([x, top], [x, bottom], shade(numbered));
            if numbered {
                svg.text(x, bottom + 18.0, "text-anchor=\"middle\"", &number(value));
            }
        }
        for (value, numbered) in ranges[1].ticks() {
            let y = bottom - ranges[1].place(value).unwrap_or(0.0) * height;
            svg.line([left, y], [right, y], shade(numbered));
            if numbered {
                svg.text(left - 8.0, y + 4.5, "text-anchor=\"end\"", &number(value));
            }
        }
        svg.rect([left, top], [width, height], "fill=\"none\" stroke=\"#444\"");
        let across = "text-anchor=\"middle\" font-size=\"14\"";
        svg.text(left + width / 2.0, bottom + 44.0, across, self.axes[0].name);
        svg.upward_text(22.0, top + height / 2.0, self.axes[1].name);
    }

    fn draw_legend(&self, svg: &mut Svg) {
        let mut y = PLANE[2] + 12.0;
        for (i, series) in self.series.iter().enumerate() {
            if series.look != Look::Points {
                svg.line([LEGEND, y], [LEGEND + 28.0, y], &series.look.stroke(i));
            }
            if !series.look.is_dashed() {
                marker(svg, i, [LEGEND + 14.0, y]);
            }
            for line in series.name.lines() {
                svg.text(LEGEND + 36.0, y + 4.5, "", line);
                y += 17.0;
            }
            y += 8.0;
        }
    }
}

fn draw_series(
    svg: &mut Svg,
    i: usize,
    series: &Series,
    place: &impl Fn([f64; 2]) -> Option<[f64; 2]>,
) {
    if series.look != Look::Points {
        let mut path = String::new();
        for [x, y] in series.points.iter().filter_map(|p| place(p.at)) {
            let _ = match series.look {
                Look::Level => write!(path, "M{} {y:.1}H{}", PLANE[0], PLANE[1]),
                _ => write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' }),
            };
        }
        svg.path(&path, &series.look.stroke(i));
    }
    if series.look.is_dashed() {
        return;
    }
    let bar = format!("stroke=\"{}\" stroke-width=\"1.2\"", COLOURS[i % COLOURS.len()]);
    for point in &series.points {
        let Some(centre) = place(point.at) else { continue };
        for k in [0, 1] {
            let end = |sign: f64| {
                let mut at = point.at;
                at[k] += sign * point.error[k];
                place(at).unwrap_or(centre)
            };
            if point.error[k] > 0.0 {
                svg.line(end(-1.0), end(1.0), &bar);
            }
        }
        marker(svg, i, centre);
    }
}
