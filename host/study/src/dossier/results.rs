//! The sections with figures: operating characteristics, scenarios, curves and costs.

use std::fmt::Write;

use super::Dossier;
use super::html::{heading, paragraph, table};
use crate::chart::svg::Svg;
use crate::planner::compare::Yardstick;
use crate::planner::describe::{alternatives, has_interim, rows, spread};
use crate::planner::verdict::percent;
use crate::scenarios::{Cell, Effect};
use crate::simulate::overall::overall_note;
use crate::simulate::{Figure, Summary};

/// A share in per cent, with its standard error.
fn cell(share: Option<Figure>) -> String {
    share.map_or("-".into(), |share| {
        format!("{:.1} ± {:.1}", 100.0 * share.mean, 100.0 * share.error)
    })
}

pub(super) fn characteristics(dossier: &Dossier) -> String {
    let comparison = dossier.comparison;
    let rows = rows(dossier.question, dossier.found.proposal.patients, comparison.yardstick);
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|(name, cell)| {
            core::iter::once(name.replace("... ", "– "))
                .chain(comparison.columns.iter().map(cell))
                .collect()
        })
        .collect();
    let names = comparison.columns.iter().map(|column| match column.name.as_str() {
        "fixed" => "fixed, no privacy".to_owned(),
        "uniform" => "uniform (private, fair coins)".to_owned(),
        other => format!("{other} (private, adaptive)"),
    });
    let headings: Vec<String> = core::iter::once(String::new()).chain(names).collect();
    let mut text = heading("3. Operating characteristics as planned");
    text += &table(
        "The planned trial beside two fixed ones; ± is one standard error",
        &headings,
        &rows,
    );
    text += &paragraph(&format!("(1) {}", overall_note(has_interim(comparison))));
    text + &spread(dossier.question).map_or_else(String::new, |spread| paragraph(&spread))
}

pub(super) fn scenarios(dossier: &Dossier) -> String {
    let mut text = heading("4. If the assumptions are wrong");
    text += &paragraph(
        "Each scenario is simulated with no effect, the planned one, half of it, its opposite, and \
         with one kind of patient against the others. \"Excludes 0\" is the power where there is an \
         effect, and the type I error where there is none; \"any error\" is the share of trials in \
         which any kind of patient without an effect excludes 0, or any kind excludes it on the \
         wrong side.",
    );
    let _ = write!(text, "<figure>\n{}</figure>\n", picture(&dossier.study.cells));
    let mut names: Vec<&str> = Vec::new();
    for (cell, _) in &dossier.study.cells {
        if !names.contains(&cell.name.as_str()) {
            names.push(&cell.name);
        }
    }
    let headings = [
        "effect",
        "design",
        "excludes 0, a kind (%)",
        "holds the effect (%)",
        "any error (%)",
        "excludes 0, overall (1) (%)",
        "width, a kind",
        "better arm",
    ]
    .map(String::from);
    for name in names {
        let cells = dossier.study.cells.iter().filter(|(cell, _)| cell.name == name);
        let rows: Vec<Vec<String>> = cells
            .map(|(cell, s)| {
                let better = match cell.effect {
                    Effect::Null => "-".into(),
                    _ => percent(1.0 - s.worse_share),
                };
                vec![
                    // A hyphen at which no line breaks.
                    cell.effect.name().replace('-', "\u{2011}"),
                    cell.scenario.name(),
                    self::cell(s.excludes_0),
                    self::cell(s.coverage),
                    self::cell(Some(s.any_error)),
                    self::cell(s.overall_excludes_0),
                    s.width.map_or("-".into(), |width| format!("{width:.3}")),
                    better,
                ]
            })
            .collect();
        text += &table(name, &headings, &rows);
    }
    text
}

const COLOURS: [&str; 3] = ["#0072B2", "#D55E00", "#009E73"];

/// Power with the planned effect, and errors without one, by scenario.
fn picture(cells: &[(Cell, Summary)]) -> String {
    let chosen =
        |(cell, _): &&(Cell, Summary)| matches!(cell.effect, Effect::Null | Effect::Planned);
    let mut rows: Vec<(String, Vec<(String, Figure)>)> = Vec::new();
    for (cell, summary) in cells.iter().filter(chosen) {
        let kind = if cell.effect == Effect::Null { "no effect" } else { "planned effect" };
        let name = format!("{}, {kind}", cell.name);
        let Some(power) = summary.excludes_0 else { continue };
        let point = (cell.scenario.name(), power);
        match rows.last_mut().filter(|(last, _)| *last == name) {
            Some((_, points)) => points.push(point),
            None => rows.push((name, vec![point])),
        }
    }
    let (left, right, top) = (330.0, 860.0, 92.0);
    let bottom = top + 26.0 * rows.len() as f64;
    let place = |share: f64| left + share * (right - left);
    let title = "Intervals that exclude 0, by scenario";
    let mut svg = Svg::new(900.0, bottom + 40.0, title);
    svg.headings(title, "a kind of patient, on average over kinds");
    for tick in [0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 1.0] {
        svg.line([place(tick), top - 12.0], [place(tick), bottom], "stroke=\"#DDD\"");
        let number = format!("{:.0} %", 100.0 * tick);
        svg.text(place(tick), bottom + 18.0, "text-anchor=\"middle\" font-size=\"11\"", &number);
    }
    for (place, ((name, _), colour)) in
        rows.first().map_or(&[][..], |(_, points)| points).iter().zip(COLOURS).enumerate()
    {
        let x = left + 150.0 * place as f64;
        svg.disc([x, 70.0], 5.0, &format!("fill=\"{colour}\""));
        svg.text(x + 10.0, 74.5, "", name);
    }
    for (i, (name, points)) in rows.iter().enumerate() {
        let y = top + 26.0 * i as f64 + 8.0;
        svg.text(24.0, y + 4.5, "", name);
        for ((_, power), colour) in points.iter().zip(COLOURS) {
            let ends = [power.mean - power.error, power.mean + power.error];
            let [low, high] = ends.map(|end| place(end.clamp(0.0, 1.0)));
            svg.line([low, y], [high, y], &format!("stroke=\"{colour}\" stroke-width=\"2\""));
            svg.disc([place(power.mean), y], 4.5, &format!("fill=\"{colour}\""));
        }
    }
    svg.finish()
}

pub(super) fn curves(dossier: &Dossier) -> String {
    let mut text = heading("5. Power over patients and effect");
    for (i, chart) in dossier.study.charts.iter().enumerate() {
        // Names inside a page must differ.
        let svg = chart.svg().replace("id=\"plane\"", &format!("id=\"plane{i}\""));
        let svg = svg.replace("url(#plane)", &format!("url(#plane{i})"));
        let _ = write!(text, "<figure>\n{svg}</figure>\n");
    }
    text + &paragraph(
        "Bars are one standard error; one kind of patient, on average over kinds, unless the plan asks for the overall effect.",
    )
}

pub(super) fn costs(dossier: &Dossier) -> String {
    let equal = match dossier.comparison.yardstick {
        Yardstick::Power(power) => format!("a power of {}", percent(power)),
        Yardstick::Width(width) => format!("intervals {width:.3} wide"),
    };
    let rows: Vec<Vec<String>> = dossier
        .comparison
        .columns
        .iter()
        .map(|column| {
            let patients = column.needed.as_ref().map(|needed| needed.proposal.patients);
            vec![
                column.name.clone(),
                patients.map_or("-".into(), |n| n.to_string()),
                column.worse().map_or("-".into(), |worse| format!("{worse:.0}")),
            ]
        })
        .collect();
    let headings = ["design", "patients", "of them on the worse arm"].map(String::from);
    let mut text = heading("6. What privacy and adaptation cost");
    text += &table(&format!("Patients for {equal}"), &headings, &rows);
    text += &paragraph(
        "From fixed to uniform: the price of privacy. From uniform to interim: the price of adaptation in \
         patients, and what it spares in patients on the worse arm.",
    );
    let lines = alternatives(dossier.question, dossier.answer);
    if let [headings, rows @ ..] = &lines[..] {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.to_vec()).collect();
        let caption = "The adaptive trial with other values; epsilon is the ethics board's choice";
        text += &table(caption, headings, &rows);
    }
    text
}
