//! The chart: the hospital's own record of the patients of a trial, as a CSV file.
//!
//! The first line names the columns, in any order. Other columns are left alone.
//!
//! | column | meaning |
//! |---|---|
//! | `code` | the patient's code |
//! | `kind` | kind of patient: its name in the trial file, or its number |
//! | `arm` | arm given: its name, or its number; in a blinded trial `kit` instead, the label or number of the last kit |
//! | `outcome` | outcome: its label or number; empty if there is none |
//! | `reason` | why there is no outcome; may be left out as a column |
//! | `patient` | the device's number of the patient; may be left out as a column |
//!
//! Fields may stand in double quotes, with `""` for a quote inside.

/// A row of a chart, with its fields as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChartRow {
    /// Line of the file on which it begins.
    pub line: usize,
    /// The patient's code.
    pub code: String,
    /// Kind of patient.
    pub kind: String,
    /// Arm, or kit in a blinded trial.
    pub given: String,
    /// Outcome; empty if there is none.
    pub outcome: String,
    /// Why there is no outcome.
    pub reason: String,
    /// Number of the patient; empty if the chart has none.
    pub patient: String,
}

/// The rows of a chart; in a blinded trial patients have kits.
///
/// # Errors
/// No CSV, a column that is missing or there twice, or a row with too few fields, with its line.
pub fn read(text: &str, blinded: bool) -> Result<Vec<ChartRow>, String> {
    let mut records = records(text)?.into_iter();
    let (_, header) = records.next().ok_or("it is empty, allowed a line with the columns first")?;
    let column = |name: &str| {
        let mut places = header.iter().enumerate().filter(|(_, found)| found.trim() == name);
        match (places.next(), places.next()) {
            (Some(_), Some(_)) => Err(format!("line 1: the column `{name}` is there twice")),
            (found, _) => Ok(found.map(|(place, _)| place)),
        }
    };
    let needed =
        |name: &str| column(name)?.ok_or_else(|| format!("line 1: there is no column `{name}`"));
    let given = needed(if blinded { "kit" } else { "arm" })?;
    let [code, kind, outcome] = [needed("code")?, needed("kind")?, needed("outcome")?];
    let [reason, patient] = [column("reason")?, column("patient")?];
    records
        .map(|(line, fields)| {
            if fields.len() != header.len() {
                return Err(format!(
                    "line {line}: {} fields, allowed exactly {} as in line 1",
                    fields.len(),
                    header.len()
                ));
            }
            let field = |place: usize| fields.get(place).map_or("", |f| f.trim()).to_owned();
            let maybe = |place: Option<usize>| place.map_or_else(String::new, field);
            Ok(ChartRow {
                line,
                code: field(code),
                kind: field(kind),
                given: field(given),
                outcome: field(outcome),
                reason: maybe(reason),
                patient: maybe(patient),
            })
        })
        .collect()
}

/// The records of a CSV file, each with the line on which it begins; empty lines are none.
fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>, String> {
    // Spreadsheets begin a file with a mark of its encoding.
    let mut letters = text.strip_prefix('\u{FEFF}').unwrap_or(text).chars().peekable();
    let (mut found, mut fields, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut line, mut begun, mut quoted, mut was_quoted) = (1, 1, false, false);
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if field.trim().is_empty() && !was_quoted => {
                field.clear();
                (quoted, was_quoted) = (true, true);
            }
            '"' => return Err(format!("line {line}: a quote inside a field without quotes")),
            ',' if !quoted => {
                fields.push(std::mem::take(&mut field));
                was_quoted = false;
            }
            '\n' if !quoted => {
                line += 1;
                fields.push(std::mem::take(&mut field));
                let record = std::mem::take(&mut fields);
                if was_quoted || record.iter().any(|field| !field.trim().is_empty()) {
                    found.push((begun, record));
                }
                (begun, was_quoted) = (line, false);
            }
            '\n' => {
                line += 1;
                field.push('\n');
            }
            other => field.push(other),
        }
    }
    if quoted {
        return Err(format!("line {begun}: a quote that does not end"));
    }
    fields.push(field);
    if fields.iter().any(|field| !field.trim().is_empty()) {
        found.push((begun, fields));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns stand in any order, among others, with quotes, blank lines and any line ends.
    #[test]
    fn columns_are_found_by_name() {
        let text = "\u{FEFF}ward,outcome,code,kind,arm\r\n3,yes,\"P-1\",\"65 or over, home\",0\r\n\r\n\
                    3,,P-2,\"a \"\"b\"\"\",1";
        let rows = read(text, false).unwrap();
        assert_eq!(rows.len(), 2);
        let ChartRow { line, code, kind, given, outcome, .. } = &rows[0];
        assert_eq!((*line, code.as_str(), kind.as_str()), (2, "P-1", "65 or over, home"));
        assert_eq!((given.as_str(), outcome.as_str()), ("0", "yes"));
        assert_eq!((rows[1].line, rows[1].kind.as_str()), (4, "a \"b\""));
    }

    /// A file that is no chart is refused, and the error names its line.
    #[test]
    fn faults_name_their_line() {
        for (text, blinded, part) in [
            ("", false, "it is empty"),
            ("code,kind,arm\n", false, "there is no column `outcome`"),
            ("code,kind,arm,outcome\n", true, "there is no column `kit`"),
            ("code,kind,arm,outcome,code\n", false, "`code` is there twice"),
            (
                "code,kind,arm,outcome\na,b,c,d\na,b,c\n",
                false,
                "line 3: 3 fields, allowed exactly 4",
            ),
            ("code,kind,arm,outcome\na,b\"c,d,e\n", false, "line 2: a quote inside"),
            ("code,kind,arm,outcome\n\"a,b,c,d\n", false, "line 2: a quote that does not end"),
        ] {
            let error = read(text, blinded).unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
