//! Pooled effects as a table with a forest plot, as SVG and as JSON.

use std::fmt::Write;

use super::{Combined, Pooled};
use crate::chart::forest::{Forest, Interval, Line, Scale};
use equipoise::estimate::Z95;
use equipoise::plan::Better;

/// Columns of the plot in a terminal; odd, so that it has a middle.
const COLUMNS: usize = 41;

/// The intervals of an effect: its sites, then all of them together.
fn intervals(effect: &Combined) -> Vec<Interval> {
    let interval = |name: &str, estimate: f64, ends: [f64; 2], pooled| Interval {
        name: name.into(),
        estimate,
        // No effect can be larger.
        ends: ends.map(|end| end.clamp(-1.0, 1.0)),
        truth: None,
        pooled,
        remark: None,
    };
    let site = |one: &super::SiteEstimate| {
        let ends = [one.estimate - Z95 * one.error, one.estimate + Z95 * one.error];
        interval(&one.site, one.estimate, ends, false)
    };
    let whole = |name, pooled: &Pooled| interval(name, pooled.estimate, pooled.ends, true);
    let mut all: Vec<Interval> = effect.sites.iter().map(site).collect();
    all.push(whole("fixed effect", &effect.fixed));
    all.extend(effect.random.as_ref().map(|random| whole("random effects", random)));
    all
}

/// Line on heterogeneity below the sites of an effect.
fn heterogeneity(effect: &Combined) -> String {
    let (Some([q, p]), Some(i2), Some(tau2)) = (effect.q, effect.i2, effect.tau2) else {
        return "one site: no heterogeneity to speak of".into();
    };
    let (freedom, i2, p) = (effect.sites.len() - 1, 100.0 * i2, p_value(p));
    format!("Q = {q:.2} on {freedom} df ({p}), I2 = {i2:.0} %, tau2 = {tau2:.5}")
}

/// A p-value for people: never 0.
fn p_value(p: f64) -> String {
    match p {
        p if p >= 0.0005 => format!("p = {p:.3}"),
        p if p > 0.0 => format!("p = {p:.1e}"),
        _ => format!("p < {:.0e}", f64::MIN_POSITIVE),
    }
}

/// The sentence on sites that were left out, if there are any.
#[must_use]
pub fn warning(effects: &[Combined], nowhere: &[String]) -> Option<String> {
    let one = |effect: &Combined| {
        let sites = effect.left_out.join(", ");
        (!sites.is_empty()).then(|| format!("{} ({sites})", effect.name))
    };
    let some = effects.iter().filter_map(one);
    let all = nowhere.iter().map(|name| format!("{name} (every site)"));
    let names = some.chain(all).collect::<Vec<_>>().join("; ");
    (!names.is_empty()).then(|| {
        format!(
            "Left out, because the estimate says nothing (no standard error, or an interval that \
             holds every\npossible effect or none): {names}."
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
        let sites = e.sites.iter().map(|part| {
            let [low, high] =
                [-1.0, 1.0].map(|side| (part.estimate + side * Z95 * part.error).clamp(-1.0, 1.0));
            serde_json::json!({
                "site": part.site, "estimate": part.estimate, "standard_error": part.error,
                "low": low, "high": high,
            })
        });
        serde_json::json!({
            "name": e.name, "sites": sites.collect::<Vec<_>>(), "fixed": pooled(&e.fixed),
            "random": e.random.as_ref().map(pooled), "q": e.q.map(|q| q[0]),
            "q_p_value": e.q.map(|q| q[1]), "i2": e.i2, "tau2": e.tau2, "left_out": e.left_out,
        })
    };
    let effects: Vec<_> = effects.iter().map(effect).collect();
    let line = serde_json::json!({
        "title": title, "level": 0.95, "macs_checked": checked, "effects": effects,
        "fixed_method": "inverse variances",
        "random_method": "DerSimonian-Laird, modified Hartung-Knapp (at least 1)",
    });
    format!("{line}\n")
}

/// The forest plot as a picture of its own. Which arm an effect favours depends on which outcomes
/// are the better ones; where that is not known, it says which arm has the higher ones.
#[must_use]
pub fn svg(title: &str, better: Option<Better>, effects: &[Combined]) -> String {
    let lines = effects.iter().flat_map(|effect| {
        let intervals = intervals(effect).into_iter().map(Line::Interval);
        core::iter::once(Line::Heading(effect.name.clone()))
            .chain(intervals)
            .chain([Line::Note(heterogeneity(effect))])
    });
    let subtitle = "Arm 1 minus arm 0 by site, 95 % intervals; diamonds: all sites together";
    let (sides, words) = match better {
        Some(Better::High) => (["favours arm 0", "favours arm 1"], "\nBetter is higher outcomes"),
        Some(Better::Low) => (["favours arm 1", "favours arm 0"], "\nBetter is lower outcomes"),
        None => (["arm 0 has the higher outcomes", "arm 1 has the higher outcomes"], ""),
    };
    let (title, subtitle, lines) = (title.into(), format!("{subtitle}{words}"), lines.collect());
    Forest { title, subtitle, lines, sides: sides.map(String::from), decimals: 3 }.svg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{SiteEstimate, combine};

    /// In a trial of deaths an effect above zero, more deaths with arm 1, favours arm 0.
    #[test]
    fn the_picture_has_the_direction() {
        let site = SiteEstimate { site: "a".into(), estimate: 0.2, error: 0.1 };
        let effects = [combine("x", vec![site]).unwrap()];
        for (better, words) in [
            (Some(Better::High), ["favours arm 1 →", "Better is higher outcomes"]),
            (Some(Better::Low), ["favours arm 0 →", "Better is lower outcomes"]),
            (None, ["arm 1 has the higher outcomes →", "← arm 0 has the higher outcomes"]),
        ] {
            let picture = svg("t", better, &effects);
            assert!(words.iter().all(|words| picture.contains(words)), "{picture}");
        }
    }

    /// Table and JSON show the same estimates, which are not cut, and the same ends, which are; a
    /// p-value is never 0.
    #[test]
    fn table_and_json_cut_alike() {
        let site =
            |name: &str, estimate, error| SiteEstimate { site: name.into(), estimate, error };
        let far = vec![site("a", 1.2, 0.3), site("b", -0.5, 0.02)];
        let effects = [combine("x", far).unwrap()];
        let table = table(&effects);
        let found: serde_json::Value =
            serde_json::from_str(&json("t", false, &effects)).unwrap_or_default();
        let effect = &found["effects"][0];
        let numbers = |row: &serde_json::Value| {
            let of = |name: &str| format!("{:+.3}", row[name].as_f64().unwrap_or(f64::NAN));
            format!("{}  {}  {}", of("estimate"), of("low"), of("high"))
        };
        // a by hand: 1.2 - 1.96 * 0.3 = 0.612, and 1.788 cut to 1.
        assert_eq!(numbers(&effect["sites"][0]), "+1.200  +0.612  +1.000");
        for row in [&effect["sites"][0], &effect["sites"][1], &effect["fixed"], &effect["random"]] {
            assert!(table.contains(&numbers(row)), "{} in\n{table}", numbers(row));
        }
        // Q = 1.7^2/(0.09 + 0.0004) = 31.97 on one degree of freedom.
        let p = effect["q_p_value"].as_f64().unwrap_or(0.0);
        assert!(table.contains("Q = 31.97 on 1 df (p = 1.6e-8)"), "{table}");
        assert!((p / 1.57e-8 - 1.0).abs() < 0.01, "{p}");
        let agree = vec![site("a", 0.9, 0.01), site("b", -0.9, 0.01)];
        let apart = [combine("x", agree).unwrap()];
        assert!(!super::table(&apart).contains("p = 0"), "{}", super::table(&apart));
    }
}
