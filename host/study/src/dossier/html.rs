//! The pieces of HTML that the page is made of.

use std::fmt::Write;

use crate::chart::svg::escape;

pub(super) const STYLE: &str = "\
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
tr, figure, .verdict, .words, .short { break-inside: avoid; }
figure { margin: 1rem 0; }
figure svg { width: 100%; height: auto; }
.wide { overflow-x: auto; }
.summary h2 { margin-top: 1.2rem; }
.verdict { border-left: 5px solid #0072B2; background: #f1f6fa; padding: .6rem 1rem; }
pre { background: #f5f5f5; padding: .7rem .9rem; font-size: .76rem; white-space: pre-wrap;
      overflow-wrap: anywhere; }
.small { font-size: .84rem; color: #444; }
@media (max-width: 600px) {
  body { margin: 1rem auto; padding: 0 .7rem; }
  figure { overflow-x: auto; }
  figure svg { min-width: 40rem; }
  .words td { display: block; border: 0; padding: 0 .2rem; }
  .words td:first-child { color: #444; padding-top: .4rem; }
  .words td + td { white-space: normal; font-weight: bold; }
}
@media print {
  .wide { overflow: visible; }
  .summary { break-after: page; }
  body { font-size: 10.5pt; margin: 0; padding: 0; max-width: none; }
  h2 { margin-top: 1.2rem; }
  table { font-size: 8.5pt; }
  figure svg { max-height: 78mm; }
  pre { font-size: 7.5pt; }
}
";

/// Most rows of a table that stays on one page.
const SHORT: usize = 8;

/// A table from a caption, its headings and its rows.
pub(super) fn table(caption: &str, headings: &[String], rows: &[Vec<String>]) -> String {
    // A table that fits on half a page is not worth a break.
    let class = if rows.len() <= SHORT { " class=\"short\"" } else { "" };
    let mut text = format!(
        "<div class=\"wide\">\n<table{class}>\n<caption>{}</caption>\n<thead><tr>",
        escape(caption)
    );
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
    text + "</tbody>\n</table>\n</div>\n"
}

/// A table of two columns of words.
pub(super) fn facts(rows: &[(&str, String)]) -> String {
    let row = |(name, value): &(&str, String)| {
        format!("<tr><td>{}</td><td>{}</td></tr>\n", escape(name), escape(value))
    };
    format!(
        "<table class=\"words\"><tbody>\n{}</tbody></table>\n",
        rows.iter().map(row).collect::<String>()
    )
}

pub(super) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

pub(super) fn heading(text: &str) -> String {
    format!("<h2>{}</h2>\n", escape(text))
}

pub(super) fn list(items: &[String]) -> String {
    let items: String = items.iter().map(|item| format!("<li>{}</li>\n", escape(item))).collect();
    format!("<ul>\n{items}</ul>\n")
}

/// A command, an option a line, so that no line breaks inside one.
pub(super) fn command(text: &str) -> String {
    format!("<pre>{}</pre>\n", escape(&text.replace(" --", " \\\n    --")))
}
