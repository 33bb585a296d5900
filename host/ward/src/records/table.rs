//! Lists of patients as tables: aligned for people, CSV for other programs. Never an outcome.

use crate::records::register::{Patient, Register};
use crate::records::resolution::Resolution;
use crate::records::text::csv;
use crate::records::trial_file::TrialFile;
use crate::records::words::stamp;

/// Rows of text under a header.
#[derive(Clone, Debug)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of these rows.
    pub fn new(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Self {
        let header = header.iter().map(|name| (*name).to_owned()).collect();
        Self { header, rows: rows.collect() }
    }

    /// Every patient of the log with arm or kit, times and notes.
    #[must_use]
    pub fn enrolments(register: &Register, trial: &TrialFile) -> Self {
        let [given, name] =
            if trial.kits.is_some() { ["kit", "label"] } else { ["arm", "arm_name"] };
        let header = [
            "patient",
            "code",
            "kind",
            given,
            name,
            "enrolled",
            "enrolled_by",
            "state",
            "resolved",
            "resolved_by",
            "marks",
            "notes",
        ];
        let blinded = trial.kits.is_some();
        let header: Vec<&str> = header.into_iter().chain(blinded.then_some("kits")).collect();
        let row = |patient: &Patient| {
            let notes = register.notes(patient.number).iter();
            let notes = notes.map(|note| format!("{}: {}", note.kind.name(), note.text));
            let resolved = register.resolved(patient.number);
            let of = |part: fn(&Resolution) -> &str, none: &str| {
                resolved.map_or_else(|| none.to_owned(), |resolved| part(resolved).to_owned())
            };
            let kits = register.kits(patient.number).iter().map(|given| {
                let reason = given.reason.as_ref();
                let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
                format!("{} {}{reason}", trial.kit_label(given.kit), stamp(given.time))
            });
            let kits = blinded.then(|| kits.collect::<Vec<_>>().join("; "));
            let mut row = vec![
                patient.number.to_string(),
                patient.code.clone(),
                trial.feature_name(patient.feature),
                number(patient),
                trial.given_name(&patient.given),
                stamp(patient.since),
                patient.operator.clone(),
                of(|resolved| resolved.ending.name(), "waiting"),
                of(|resolved| &resolved.time, ""),
                of(|resolved| &resolved.operator, ""),
                patient.marks.words(),
                notes.collect::<Vec<_>>().join("; "),
            ];
            row.extend(kits);
            row
        };
        Self::new(&header, register.patients().map(row))
    }

    /// As CSV.
    #[must_use]
    pub fn csv(&self) -> String {
        let line = |row: &Vec<String>| row.iter().map(|field| csv(field)).collect::<Vec<_>>();
        let lines = self.rows.iter().map(|row| line(row).join(","));
        lines.fold(self.header.join(",") + "\n", |text, line| text + &line + "\n")
    }

    /// In columns.
    #[must_use]
    pub fn aligned(&self) -> String {
        let lines: Vec<&Vec<String>> = core::iter::once(&self.header).chain(&self.rows).collect();
        let width = |column: usize| {
            lines.iter().filter_map(|row| row.get(column)).map(|f| f.chars().count()).max()
        };
        let line = |row: &&Vec<String>| {
            let fields = row.iter().enumerate().map(|(column, field)| {
                let width = width(column).unwrap_or(0);
                format!("{field:<width$}")
            });
            fields.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        lines.iter().map(line).collect()
    }
}

/// The number of what a patient was given.
fn number(patient: &Patient) -> String {
    let arm = patient.given.arm().map(|arm| arm.index() as u32);
    arm.or(patient.given.kit()).map_or(String::new(), |number| number.to_string())
}
