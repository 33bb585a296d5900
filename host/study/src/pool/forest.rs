//! Pooled effects as a table with a forest plot, as SVG and as JSON.

use std::fmt::Write;

use super::{Combined, Pooled};
use crate::chart::svg::Svg;
use equipoise::estimate::Z95;

/// Columns of the plot in a terminal; odd, so that it has a middle.
const COLUMNS: usize = 41;

/// A line of the plot: name, estimate, interval, and whether it is a pooled one.
struct Line {
    name: String,
    estimate: f64,
    ends: [f64; 2],
    pooled: bool,
}

fn lines(effect: &Combined) -> Vec<Line> {
    let site = |part: &super::Part| Line {
        name: part.site.clone(),
        estimate: part.estimate,
        ends: [part.estimate - Z95 * part.error, part.estimate + Z95 * part.error],
        pooled: false,
    };
    let whole = |name: &str, pooled: &Pooled| Line {
        name: name.into(),
        estimate: pooled.estimate,
        ends: pooled.ends,
        pooled: true,
    };
    let mut lines: Vec<Line> = effect.parts.iter().map(site).collect();
    lines.push(whole("fixed effect", &effect.fixed));
    lines.extend(effect.random.as_ref().map(|random| whole("random effects", random)));
    for line in &mut lines {
        // No effect can be larger.
        line.ends = line.ends.map(|end| end.clamp(-1.0, 1.0));
    }
    lines
}

/// Half the width of the plot: the smallest tenth that holds all but the wildest intervals.
fn reach(effects: &[Combined]) -> f64 {
    let ends = effects.iter().flat_map(lines).flat_map(|line| line.ends);
    let widest = ends.map(f64::abs).fold(0.0, f64::max);
    ((widest * 10.0).ceil() / 10.0).clamp(0.1, 1.0)
}

/// Line on heterogeneity below the sites of an effect.
fn heterogeneity(effect: &Combined) -> String {
    effect.q.map_or("one site: no heterogeneity to speak of".into(), |[q, p]| {
        let (freedom, i2) = (effect.parts.len() - 1, 100.0 * effect.i2);
        format!(
            "Q = {q:.2} on {freedom} df (p = {p:.3}), I2 = {i2:.0} %, tau2 = {:.5}",
            effect.tau2
        )
    })
}

/// The table with its plot.
#[must_use]
pub fn table(effects: &[Combined]) -> String {
    let reach = reach(effects);
    let sites = effects.iter().flat_map(lines).map(|line| line.name.chars().count() + 2);
    let names = effects.iter().map(|effect| effect.name.chars().count());
    let widest = sites.chain(names).max().unwrap_or(0);
    let column = |value: f64| {
        let share = (value / reach + 1.0) / 2.0;
        (share.clamp(0.0, 1.0) * (COLUMNS - 1) as f64).round() as usize
    };
    let mut text = String::new();
    for effect in effects {
        let (left, right) = (format!("{:+.1}", -reach), format!("{reach:+.1}"));
        let middle = COLUMNS / 2;
        let _ = writeln!(
            text,
            "{:<widest$}  estimate     low    high  {left:<middle$}0{right:>middle$}",
            effect.name
        );
        for Line { name, estimate, ends: [low, high], pooled } in lines(effect) {
            let (from, at, to) = (column(low), column(estimate), column(high));
            let mark = |c: usize| match c {
                c if c == at && pooled => '◆',
                c if c == at => '●',
                c if c == from => '├',
                c if c == to => '┤',
                c if c > from && c < to => '─',
                c if c == COLUMNS / 2 => '│',
                _ => '·',
            };
            let plot: String = (0..COLUMNS).map(mark).collect();
            let name = format!("  {name}");
            let _ =
                writeln!(text, "{name:<widest$}    {estimate:+.3}  {low:+.3}  {high:+.3}  {plot}");
        }
        let _ = writeln!(text, "  {}\n", heterogeneity(effect));
    }
    text
}

/// The JSON form.
#[must_use]
pub fn json(title: &str, checked: bool, effects: &[Combined]) -> String {
    let pooled = |p: &Pooled| {
        serde_json::json!({
            "estimate": p.estimate, "standard_error": p.error, "low": p.ends[0], "high": p.ends[1],
        })
    };
    let effect = |e: &Combined| {
        let sites = e.parts.iter().map(|part| {
            serde_json::json!({
                "site": part.site, "estimate": part.estimate, "standard_error": part.error,
            })
        });
        serde_json::json!({
            "name": e.name, "sites": sites.collect::<Vec<_>>(), "fixed": pooled(&e.fixed),
            "random": e.random.as_ref().map(pooled), "q": e.q.map(|q| q[0]),
            "q_p_value": e.q.map(|q| q[1]), "i2": e.i2, "tau2": e.tau2,
        })
    };
    let effects: Vec<_> = effects.iter().map(effect).collect();
    let line = serde_json::json!({
        "title": title, "level": 0.95, "macs_checked": checked, "effects": effects,
    });
    format!("{line}\n")
}

const WIDTH: f64 = 900.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 700.0;
const TOP: f64 = 84.0;
const ROW: f64 = 22.0;

/// The forest plot as a picture of its own.
#[must_use]
pub fn svg(title: &str, effects: &[Combined]) -> String {
    let rows: usize = effects.iter().map(|effect| lines(effect).len() + 3).sum();
    let height = TOP + rows as f64 * ROW + 40.0;
    let reach = reach(effects);
    let place = |value: f64| {
        let share = (value / reach + 1.0) / 2.0;
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    };
    let mut svg = Svg::new(WIDTH, height, title);
    svg.headings(title, "Arm 1 minus arm 0 by site, 95 % intervals; diamonds: all sites together");
    let bottom = height - 40.0;
    for value in [-reach, -reach / 2.0, 0.0, reach / 2.0, reach] {
        let shade = if value == 0.0 { "stroke=\"#444\"" } else { "stroke=\"#DDD\"" };
        svg.line([place(value), TOP - 10.0], [place(value), bottom], shade);
        svg.text(place(value), bottom + 18.0, "text-anchor=\"middle\"", &format!("{value:+.2}"));
    }
    let mut y = TOP + 8.0;
    for effect in effects {
        svg.text(24.0, y, "font-weight=\"bold\"", &effect.name);
        y += ROW;
        for Line { name, estimate, ends: [low, high], pooled } in lines(effect) {
            svg.text(40.0, y, "", &name);
            let (from, at, to) = (place(low), place(estimate), place(high));
            let middle = y - 4.5;
            if pooled {
                let path = format!(
                    "M{from:.1} {middle:.1}L{at:.1} {:.1}L{to:.1} {middle:.1}L{at:.1} {:.1}z",
                    middle - 6.0,
                    middle + 6.0
                );
                svg.path(&path, "fill=\"#0072B2\"");
            } else {
                svg.line([from, middle], [to, middle], "stroke=\"#222\" stroke-width=\"1.4\"");
                svg.rect([at - 4.0, middle - 4.0], [8.0, 8.0], "fill=\"#222\"");
            }
            let numbers = format!("{estimate:+.3} [{low:+.3}, {high:+.3}]");
            svg.text(WIDTH - 24.0, y, "text-anchor=\"end\"", &numbers);
            y += ROW;
        }
        svg.text(40.0, y, "fill=\"#444\" font-size=\"12\"", &heterogeneity(effect));
        y += 2.0 * ROW;
    }
    svg.finish()
}
