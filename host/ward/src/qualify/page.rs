//! The page of a qualification: one HTML file that loads nothing, for the screen and for A4 paper.

use std::fmt::Write;

use super::record::{Check, Record, Verdict};
use crate::records::text::xml;

const STYLE: &str = "\
@page { size: A4; margin: 16mm 14mm; }
* { box-sizing: border-box; }
body { font: 15px/1.45 'DejaVu Sans', Arial, sans-serif; color: #1a1a1a; max-width: 56rem;
       margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.5rem; margin: 0 0 .4rem; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .5rem; border-bottom: 1px solid #bbb;
     break-after: avoid; }
table { border-collapse: collapse; width: 100%; font-size: .84rem; table-layout: fixed; }
.id { width: 3.4rem; }
.time { width: 6.4rem; }
.verdict { width: 7rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .5rem .25rem 0;
         border-bottom: 1px solid #ddd; overflow-wrap: anywhere; }
thead { display: table-header-group; }
thead th { border-bottom: 2px solid #555; }
tr { break-inside: avoid; }
td:first-child { white-space: nowrap; }
.facts td:first-child { width: 14rem; color: #444; }
.result { border-left: 6px solid; padding: .6rem 1rem; font-weight: bold; font-size: 1.1rem; }
.good { border-color: #0a6b2d; background: #eef7f0; }
.bad { border-color: #a40000; background: #fbeeee; }
tr.failed td { background: #fbeeee; }
tr.failed td:last-child { font-weight: bold; }
.sign { display: grid; grid-template-columns: 1fr 1fr 8rem; gap: 2.6rem 1.5rem; margin-top: 3rem;
        break-inside: avoid; }
.sign span { border-top: 1px solid #333; padding-top: .2rem; font-size: .8rem; }
@media print { body { margin: 0; padding: 0; max-width: none; font-size: 10pt; }
               table { font-size: 8.5pt; }
               * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
";

/// Parts of the list, by the first letter of an id.
const PARTS: [(char, &str); 3] = [('I', "Installation"), ('O', "Operation"), ('P', "Performance")];

fn row(check: &Check) -> String {
    let class = if check.verdict == Verdict::Failed { " class=\"failed\"" } else { "" };
    let time = told(&check.time);
    let cells = [&check.id, &check.expected, &check.found, &time];
    let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", xml(cell))).collect();
    format!("<tr{class}>{cells}<td>{}</td></tr>\n", check.verdict.name())
}

/// A moment as people write it; the head of the column, or of the row, says that it is UTC.
fn told(time: &str) -> String {
    time.replace('T', " ").replace('Z', "")
}

/// The page of a record.
pub fn html(record: &Record) -> String {
    let (failed, all) = (record.count(Verdict::Failed), record.checks.len());
    let other = record.count(Verdict::NotApplicable);
    let (class, result) = if record.has_passed() {
        ("good", format!("PASSED: {} checks passed, {other} did not apply.", all - other))
    } else {
        // Named here, so that nobody has to look for them on three sheets of paper.
        let wrong = record.checks.iter().filter(|check| check.verdict == Verdict::Failed);
        let ids: Vec<&str> = wrong.map(|check| check.id.as_str()).collect();
        ("bad", format!("FAILED: {failed} of {all} checks failed: {}.", ids.join(", ")))
    };
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Qualification of a device</title>\n<style>\n{STYLE}</style></head>\n<body>\n\
         <h1>Qualification of a device</h1>\n<p class=\"result {class}\">{}</p>\n\
         <table class=\"facts\"><tbody>\n",
        xml(&result)
    );
    let ended = record.ended.as_deref().map_or_else(|| "not yet".to_owned(), told);
    let times = [("Began (UTC)", told(&record.began)), ("Ended (UTC)", ended)];
    let facts = record.facts.iter().map(|fact| (fact.name.as_str(), fact.value.clone()));
    for (name, value) in times.into_iter().chain(facts) {
        let _ = writeln!(text, "<tr><td>{}</td><td>{}</td></tr>", xml(name), xml(&value));
    }
    text += "</tbody></table>\n";
    for (letter, title) in PARTS {
        let _ = write!(
            text,
            "<h2>{title}</h2>\n<table><thead><tr><th class=\"id\">Check</th><th>Expected</th>\
             <th>Found</th><th class=\"time\">Time (UTC)</th><th class=\"verdict\">Result</th></tr>\
             </thead>\n<tbody>\n"
        );
        let of_part = record.checks.iter().filter(|check| check.id.starts_with(letter));
        text.extend(of_part.map(row));
        text += "</tbody></table>\n";
    }
    text += "<div class=\"sign\">";
    for who in ["Performed by", "Reviewed by"] {
        let _ = write!(text, "<span>{who} (name)</span><span>Signature</span><span>Date</span>");
    }
    text + "</div>\n</body></html>\n"
}
