//! The page as HTML.

use crate::prelude::*;
use std::fmt::Write;

use super::Dossier;
use crate::host::chart::svg::{Svg, escape};
use crate::host::planner::compare::Yardstick;
use crate::host::planner::describe::{headline, reproduce, rows};
use crate::host::planner::search::Effort;
use crate::host::planner::verdict::{advice, percent};
use crate::host::scenarios::{Cell, Effect};
use crate::host::simulate::{Figure, SimulateError, Summary};
use crate::plan::Design;

const STYLE: &str = "\
@page { size: A4; margin: 18mm 16mm; }
* { box-sizing: border-box; }
body { font: 15px/1.5 'DejaVu Sans', Arial, sans-serif; color: #1a1a1a; max-width: 52rem;
       margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; border-bottom: 1px solid #bbb; break-after: avoid; }
p, li { max-width: 46rem; }
table { border-collapse: collapse; width: 100%; font-size: .86rem; margin: .8rem 0 1.2rem;
        font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: bold; padding-bottom: .3rem; break-after: avoid; }
th, td { padding: .18rem .45rem; border-bottom: 1px solid #ddd; text-align: right;
         vertical-align: top; }
td + td { white-space: nowrap; }
th:first-child, td:first-child, .words td { text-align: left; white-space: normal; }
thead th { border-bottom: 2px solid #555; }
thead { display: table-header-group; }
tr, figure, table, .verdict { break-inside: avoid; }
figure { margin: 1rem 0; }
figure svg { width: 100%; height: auto; }
.verdict { border-left: 5px solid #0072B2; background: #f1f6fa; padding: .6rem 1rem; }
pre { background: #f5f5f5; padding: .7rem .9rem; font-size: .76rem; white-space: pre-wrap;
      overflow-wrap: anywhere; }
.small { font-size: .84rem; color: #444; }
@media print {
  body { font-size: 10.5pt; margin: 0; padding: 0; max-width: none; }
  h2 { margin-top: 1.2rem; }
  table { font-size: 8.5pt; }
  pre { font-size: 7.5pt; }
}
";

/// A share in per cent, with its standard error.
fn cell(share: Option<Figure>) -> String {
    share.map_or("-".into(), |share| {
        format!("{:.1} ± {:.1}", 100.0 * share.mean, 100.0 * share.error)
    })
}

/// A table from a caption, its headings and its rows.
fn table(caption: &str, headings: &[String], rows: &[Vec<String>]) -> String {
    let mut text = format!("<table>\n<caption>{}</caption>\n<thead><tr>", escape(caption));
    for heading in headings {
        let _ = write!(text, "<th scope=\"col\">{}</th>", escape(heading));
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in rows {
        text += "<tr>";
        for cell in row {
            let _ = write!(text, "<td>{}</td>", escape(&cell.replace("+-", "±")));
        }
        text += "</tr>\n";
    }
    text + "</tbody>\n</table>\n"
}

/// A table of two columns of words.
fn facts(rows: &[(&str, String)]) -> String {
    let row = |(name, value): &(&str, String)| {
        format!("<tr><td>{}</td><td>{}</td></tr>\n", escape(name), escape(value))
    };
    format!(
        "<table class=\"words\"><tbody>\n{}</tbody></table>\n",
        rows.iter().map(row).collect::<String>()
    )
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

fn heading(text: &str) -> String {
    format!("<h2>{}</h2>\n", escape(text))
}

fn list(items: &[String]) -> String {
    let items: String = items.iter().map(|item| format!("<li>{}</li>\n", escape(item))).collect();
    format!("<ul>\n{items}</ul>\n")
}

/// The page.
pub(super) fn write(dossier: &Dossier) -> Result<String, SimulateError> {
    let title = format!("{}: design and operating characteristics", dossier.words.title);
    let mut body = format!("<h1>{}</h1>\n", escape(&dossier.words.title));
    body += &format!(
        "<p class=\"small\">Design and operating characteristics, for the appendix of the protocol. \
         Made by equipoise {}; every number comes from a simulation with the program that runs on \
         the device.</p>\n",
        env!("CARGO_PKG_VERSION")
    );
    body += &format!(
        "<div class=\"verdict\"><p><b>{}</b></p>\n{}</div>\n",
        escape(&headline(dossier.question, dossier.found).replace("+-", "±")),
        paragraph(&advice(dossier.comparison))
    );
    body += &design(dossier);
    body += &plan(dossier)?;
    body += &characteristics(dossier);
    body += &scenarios(dossier);
    body += &curves(dossier);
    body += &costs(dossier);
    body += &privacy(dossier);
    body += &limits(dossier);
    body += &again(dossier)?;
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(&title)
    ))
}

fn design(dossier: &Dossier) -> String {
    let [zero, one] = &dossier.words.arms;
    let features = dossier.question.base.plan.features();
    let mut text = heading("1. The design in plain words");
    text += &paragraph(&format!(
        "Patients are given to {zero} (arm 0) or {one} (arm 1) by a small device at the bedside, a {}. \
         It knows {features} kinds of patient. The outcome of a patient is the answer to: {}",
        dossier.words.board, dossier.words.question
    ));
    text += &paragraph(match dossier.found.choice.design {
        Design::Uniform => {
            "Every patient gets an arm by a fair coin, to the end of the trial. The effect of each \
             kind of patient is measured from all outcomes."
        }
        _ => {
            "The trial begins with a fair coin for everyone. At planned looks in the first half, and \
             for all at half, the device decides for each kind of patient which arm leads, and from \
             then on gives most patients of that kind the leading arm, and the others the trailing \
             one, by a biased coin. No arm is ever given up. The effect of each kind of patient is \
             measured from all outcomes of the trial, with a 95 % interval that allows for the \
             adaptation."
        }
    });
    text
}

fn plan(dossier: &Dossier) -> Result<String, SimulateError> {
    let scenario = dossier.question.scenario(&dossier.found.choice, Effort::Fine)?;
    let (plan, world) = (&scenario.plan, &scenario.world);
    let mut text = heading("2. The plan and its assumptions");
    text += &facts(&[
        ("design", plan.design().to_string()),
        ("patients", plan.patients().to_string()),
        ("kinds of patient (features)", plan.features().to_string()),
        (
            "outcome",
            format!("0 to {}{}", plan.scale(), if plan.scale() == 1 { " (no or yes)" } else { "" }),
        ),
        ("epsilon, the privacy loss of one patient", plan.epsilon().to_string()),
        ("alpha (0: best estimate, 1: fewest on the worse arm)", plan.alpha().to_string()),
        ("beta, the level at which a kind leaves the fair coin", plan.beta().to_string()),
        ("planned reports before the last", plan.reports().to_string()),
        ("assumed mean outcome under arm 0", dossier.question.baseline.to_string()),
        ("assumed effect (arm 1 minus arm 0)", format!("{:.4}", dossier.found.choice.effect)),
        ("assumed arrivals of the kinds", world.arrivals.to_string()),
        ("outcomes come late by, in patients", world.delay.to_string()),
        (
            "outcomes that never come, arm 0 and arm 1",
            format!("{} and {}", percent(world.lost.0[0]), percent(world.lost.0[1])),
        ),
    ]);
    text += &paragraph(
        "The assumptions are the planner's, not findings. Section 4 shows what happens if they are \
         wrong.",
    );
    Ok(text)
}

fn characteristics(dossier: &Dossier) -> String {
    let comparison = dossier.comparison;
    let rows = rows(dossier.question, dossier.found.choice.patients, comparison.yardstick);
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
    text
}

fn scenarios(dossier: &Dossier) -> String {
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
        "excludes 0, overall (%)",
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
                    cell.effect.name().into(),
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

fn curves(dossier: &Dossier) -> String {
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

fn costs(dossier: &Dossier) -> String {
    let equal = match dossier.comparison.yardstick {
        Yardstick::Power(power) => format!("a power of {}", percent(power)),
        Yardstick::Width(width) => format!("intervals {width:.3} wide"),
    };
    let rows: Vec<Vec<String>> = dossier
        .comparison
        .columns
        .iter()
        .map(|column| {
            let patients = column.needed.as_ref().map(|needed| needed.choice.patients);
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
    text + &paragraph(
        "From the last row to the row above it: the price of privacy. From there to the first row: \
         the price of adaptation in patients, and what it spares in patients on the worse arm.",
    )
}

fn privacy(dossier: &Dossier) -> String {
    let epsilon = dossier.found.choice.epsilon.to_f64();
    let factor = epsilon.exp();
    // From a prior of one half, the most that anything published can move a belief.
    let belief = factor / (1.0 + factor);
    let mut text = heading("7. What is promised to a patient");
    text += &paragraph(
        "The outcome of a patient is entered into the device and never leaves it. What leaves it, the \
         arms of later patients and the report, is mixed with random noise, so that it would look \
         almost the same if this patient had had another outcome, had been of another kind, or had \
         not been recorded at all.",
    );
    text += &paragraph(&format!(
        "In numbers: whatever anybody sees of the trial, however much they know about everybody else, \
         the odds of any belief about this one patient's data change by a factor of at most {factor:.2} \
         (epsilon = {}). Who thinks it as likely as not that a patient had a good outcome can be moved \
         by the trial to {} at most.",
        dossier.found.choice.epsilon,
        percent(belief)
    ));
    text + &paragraph(
        "The promise is kept by mathematics, not by trust in those who read the report; its proof is \
         part of the program. It covers one enrolment: a person who is enrolled twice has twice the \
         epsilon. It does not cover what the clinic itself writes down.",
    )
}

fn limits(dossier: &Dossier) -> String {
    let mut items = vec![
        "It does not stop the trial: a person decides on the report. \"Settled early\" is no finding."
            .to_owned(),
        "It does not tell a late outcome from a lost one: outcomes must be recorded after the same \
         follow-up for every patient, whatever they are. If good outcomes are recorded later than bad \
         ones, the intervals are wrong."
            .to_owned(),
        "It does not correct for losses that depend on the outcome and the arm.".to_owned(),
        "Each 95 % interval stands alone. For several reports choose a boundary; for several kinds of \
         patient ask for simultaneous intervals."
            .to_owned(),
        "It cannot be opened to see raw outcomes: they are not kept in a form that could be audited \
         patient by patient. The clinic's own records remain the source."
            .to_owned(),
        "It is not a certified medical device, and no substitute for a statistician, an ethics board \
         or data monitors."
            .to_owned(),
    ];
    if dossier.found.choice.design == Design::Interim {
        items.insert(
            1,
            "Adaptation makes late patients of a kind unlike early ones in their chances of an arm; a \
             drift of the effect itself over time is averaged, not shown."
                .to_owned(),
        );
    }
    heading("8. What the device cannot do") + &list(&items)
}

/// A command, an option a line, so that no line breaks inside one.
fn command(text: &str) -> String {
    format!("<pre>{}</pre>\n", escape(&text.replace(" --", " \\\n    --")))
}

fn again(dossier: &Dossier) -> Result<String, SimulateError> {
    let mut text = heading("9. How to find every number again");
    text += &paragraph(&format!(
        "Version {} of equipoise; all results are the same to the last digit on any machine. This page:",
        env!("CARGO_PKG_VERSION")
    ));
    text += &command(&dossier.words.command);
    text += &paragraph(
        "Section 3, the figures at the planned number of patients (with p1 = p0 for \"without an effect\"):",
    );
    text += &command(&reproduce(dossier.question, dossier.found)?);
    text += &paragraph(
        "Section 4, with the following file: equipoise simulate --scenarios GRID.toml --csv grid.csv",
    );
    text += &format!("<pre>{}</pre>\n", escape(&dossier.study.grid));
    text += &paragraph("The trial file for the device:");
    text += &format!("<pre>{}</pre>\n", escape(&dossier.words.trial_file));
    Ok(text)
}
