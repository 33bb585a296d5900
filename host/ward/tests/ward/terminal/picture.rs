//! The picture of the screen in README.md, drawn from a practice trial.

use std::fmt::Write;
use std::path::Path;

use ratatui::style::Modifier;

use super::*;
use equipoise_ward::records::text::xml;

/// Size of a character in the picture.
const CELL: [f64; 2] = [8.4, 18.0];
const SIZE: [u16; 2] = [80, 24];

/// The screen as SVG: runs of one style, light on dark as a terminal is.
fn svg(model: &Model) -> String {
    let terminal = drawn(model, SIZE[0], SIZE[1]);
    let [width, height] = [0, 1].map(|side| f64::from(SIZE[side]) * CELL[side] + 16.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\">\n\
         <title>The bedside screen with waiting patients of a practice trial</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#14171a\"/>\n"
    );
    let cells = terminal.backend().buffer().content();
    for (row, line) in cells.chunks(usize::from(SIZE[0])).enumerate() {
        let style = |column: usize| {
            let modifier = line[column].modifier;
            (modifier.contains(Modifier::REVERSED), modifier.contains(Modifier::BOLD))
        };
        let mut from = 0;
        for column in 1..=line.len() {
            if column < line.len() && style(column) == style(from) {
                continue;
            }
            let text: String = line[from..column].iter().map(|cell| cell.symbol()).collect();
            let [x, y] = [8.0 + from as f64 * CELL[0], 8.0 + row as f64 * CELL[1]];
            let wide = (column - from) as f64 * CELL[0];
            let (reversed, bold) = style(from);
            if reversed {
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{}\" fill=\"#eceff2\"/>",
                    CELL[1]
                );
            }
            if !text.trim().is_empty() {
                let fill = if reversed { "#14171a" } else { "#eceff2" };
                let weight = if bold { " font-weight=\"700\"" } else { "" };
                let _ = writeln!(
                    svg,
                    "<text xml:space=\"preserve\" x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{wide:.1}\" \
                     lengthAdjust=\"spacingAndGlyphs\" fill=\"{fill}\"{weight}>{}</text>",
                    y + 13.5,
                    xml(&text)
                );
            }
            from = column;
        }
    }
    svg + "</svg>\n"
}

/// README.md shows the screen as it is. With `EQUIPOISE_SCREENSHOTS` set to a folder, the picture
/// is left there.
#[test]
fn readme_shows_the_screen() {
    let text = equipoise_ward::records::trial_file::EXAMPLE
        .replace("labels = [", "due = \"14 days\"\nlabels = [");
    let mut model = working_model();
    model.trial = TrialFile::parse("example", &text).unwrap();
    model.news(News::Practice(true));
    model.news(News::Operator("ab Anna Berg".to_owned()));
    let mut waiting = vec![
        patient("H-07/12", 1200, "2026-11-01T05:30:00Z"),
        patient("H-07/15", 1208, "2026-11-02T11:05:00Z"),
        patient("H-07/16", 1211, "2026-11-04T09:40:00Z"),
        patient("H-07/19", 1234, "2026-11-16T08:18:00Z"),
    ];
    for (one, feature) in waiting.iter_mut().zip([2, 0, 3, 1]) {
        (one.feature, one.operator) = (feature, "ab Anna Berg".to_owned());
    }
    model.news(News::Waiting(waiting));
    model.news(News::Recorded(Recorded {
        number: 1198,
        code: Some("H-07/11".to_owned()),
        lost: false,
        closed: false,
    }));
    shows(&model, &["PRACTICE", "H-07/16", "OVERDUE", "Recorded for patient H-07/11"]);
    let (svg, name) = (svg(&model), "screen.svg");
    if let Some(folder) = std::env::var_os("EQUIPOISE_SCREENSHOTS") {
        std::fs::write(Path::new(&folder).join(name), &svg).unwrap();
    }
    let shown = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/img/screen.svg");
    let shown = std::fs::read_to_string(shown).unwrap();
    assert!(shown == svg, "make docs/img/screen.svg again: EQUIPOISE_SCREENSHOTS=docs/img");
}
