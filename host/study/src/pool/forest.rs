//! Pooled effects as a table with a forest plot, as SVG and as JSON.

use std::fmt::Write;

use super::{Combined, Pooled};
use crate::chart::forest::{Forest, Interval, Line, Scale};
use equipoise::estimate::Z95;

/// Columns of the plot in a terminal; odd, so that it has a middle.
const COLUMNS: usize = 41;

/// The intervals of an effect: its sites, then all of them together.
fn intervals(effect: &Combined) -> Vec<Interval> {
    let interval = |name: &str, estimate, ends: [f64; 2], pooled| Interval {
        name: name.into(),
        estimate,
        // No effect can be larger.
        ends: ends.map(|end| end.clamp(-1.0, 1.0)),
        truth: None,
        pooled,
        remark: None,
    };
    let site = |part: &super::Part| {
        let ends = [part.estimate - Z95 * part.error, part.estimate + Z95 * part.error];
        interval(&part.site, part.estimate, ends, false)
    };
    let whole = |name, pooled: &Pooled| interval(name, pooled.estimate, pooled.ends, true);
    let mut all: Vec<Interval> = effect.parts.iter().map(site).collect();
    all.push(whole("fixed effect", &effect.fixed));
    all.extend(effect.random.as_ref().map(|random| whole("random effects", random)));
    all
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
    let all: Vec<Vec<Interval>> = effects.iter().map(intervals).collect();
    let scale = Scale::of(all.iter().flatten());
    let sites = all.iter().flatten().map(|interval| interval.name.chars().count() + 2);
    let names = effects.iter().map(|effect| effect.name.chars().count());
    let widest = sites.chain(names).max().unwrap_or(0);
    let mut text = String::new();
    for (effect, intervals) in effects.iter().zip(&all) {
        let (name, ends) = (&effect.name, scale.ends(COLUMNS));
        let _ = writeln!(text, "{name:<widest$}  estimate     low    high  {ends}");
        for interval in intervals {
            let Interval { name, estimate, ends: [low, high], .. } = interval;
            let (name, plot) = (format!("  {name}"), scale.blocks(interval, COLUMNS));
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

/// The forest plot as a picture of its own.
#[must_use]
pub fn svg(title: &str, effects: &[Combined]) -> String {
    let lines = effects.iter().flat_map(|effect| {
        let intervals = intervals(effect).into_iter().map(Line::Interval);
        core::iter::once(Line::Heading(effect.name.clone()))
            .chain(intervals)
            .chain([Line::Note(heterogeneity(effect))])
    });
    let subtitle = "Arm 1 minus arm 0 by site, 95 % intervals; diamonds: all sites together";
    let arms = ["arm 0", "arm 1"].map(String::from);
    let (title, subtitle, lines) = (title.into(), subtitle.into(), lines.collect());
    Forest { title, subtitle, lines, arms, decimals: 3 }.svg()
}
