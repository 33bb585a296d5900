//! The counts of a CONSORT flow diagram, from the log: who was screened, excluded and why,
//! enrolled, lost, withdrawn, and how many outcomes were analysed.
//!
//! Everything but the last is public to every reader of the log. By arm, the counts of a blinded
//! trial take the custodian's key; they are counts of groups and unblind no single patient, unless
//! a group is that small. The number of outcomes analysed is the device's, with its noise.

use std::collections::BTreeMap;

use crate::failure::Failure;
use crate::records::keys::KeyFile;
use crate::records::pharmacy;
use crate::records::register::{Patient, Register};
use crate::records::resolution::Ending;
use crate::records::site::Site;
use crate::records::table::Table;
use crate::records::trial_file::TrialFile;
use equipoise::terms::Arm;

mod chart;

/// Counts of enrolled patients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Enrolled.
    pub enrolled: u32,
    /// Outcome recorded.
    pub recorded: u32,
    /// Outcome declared lost.
    pub lost: u32,
    /// An outcome or a loss was on record before; which, the log does not know.
    pub on_record: u32,
    /// Still without an outcome.
    pub waiting: u32,
    /// Withdrew, whatever became of the outcome.
    pub withdrawn: u32,
}

impl Counts {
    fn add(&mut self, register: &Register, patient: &Patient) {
        self.enrolled += 1;
        match register.resolved(patient.number).map(|resolved| resolved.ending) {
            Some(Ending::Recorded) => self.recorded += 1,
            Some(Ending::Lost) => self.lost += 1,
            Some(Ending::OnRecord) => self.on_record += 1,
            None => self.waiting += 1,
        }
        self.withdrawn += u32::from(patient.marks.is_withdrawn());
    }

    /// The counts with their names; what nobody has is left out, but for losses.
    fn named(self) -> impl Iterator<Item = (&'static str, u32)> {
        let rows = [
            ("enrolled", self.enrolled, true),
            ("outcome recorded", self.recorded, true),
            ("lost", self.lost, true),
            ("recorded or lost", self.on_record, false),
            ("without an outcome", self.waiting, true),
            ("withdrawn", self.withdrawn, true),
        ];
        rows.into_iter().filter(|(_, count, always)| *always || *count > 0).map(|(n, c, _)| (n, c))
    }
}

/// The counts of a flow diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consort {
    title: String,
    /// Whether the trial file asks questions about eligibility; if not, nobody is screened.
    asks: bool,
    excluded: Vec<(String, u32)>,
    eligible_only: u32,
    /// Patients whose arm or kit cannot be known any more.
    unclear: u32,
    all: Counts,
    /// By arm, with its name; none in a blinded trial without the key.
    arms: Option<[(String, Counts); 2]>,
    /// Outcomes in the report, with the device's noise.
    analysed: Option<u32>,
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Consort {
    /// The counts of a log. `key` names the arms of a blinded trial, `report` the outcomes
    /// analysed.
    ///
    /// # Errors
    /// A key that does not fit the kits of the log, or a report of another trial.
    pub fn new(
        register: &Register,
        trial: &TrialFile,
        key: Option<&KeyFile>,
        report: Option<&Site>,
    ) -> Result<Self, Failure> {
        let mut excluded: BTreeMap<&str, u32> = BTreeMap::new();
        for reason in register.excluded() {
            *excluded.entry(reason).or_default() += 1;
        }
        let mut excluded: Vec<(String, u32)> =
            excluded.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect();
        excluded.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut all = Counts::default();
        let mut arms = trial.arms.clone().map(|name| (name, Counts::default()));
        let blinded = trial.kits.is_some();
        let keyed = match key {
            Some(key) if blinded => Some(pharmacy::arms_of(trial, key, register)?),
            _ => None,
        };
        for patient in register.patients() {
            all.add(register, patient);
            let arm = keyed
                .as_ref()
                .map_or_else(|| patient.given.arm(), |keyed| keyed.get(&patient.number).copied());
            let [zero, one] = &mut arms;
            match arm {
                Some(Arm::Zero) => zero.1.add(register, patient),
                Some(Arm::One) => one.1.add(register, patient),
                None => {}
            }
        }
        let id = register.opened().map(|opened| opened.trial.as_str());
        let analysed = report.map(|report| report.outcomes_of(id).map_err(Failure::Usage));
        Ok(Self {
            title: trial.title.clone(),
            asks: !trial.eligibility.is_empty(),
            excluded,
            eligible_only: count(register.eligible_only()),
            unclear: count(register.unclear()),
            all,
            arms: (!blinded || keyed.is_some()).then_some(arms),
            analysed: analysed.transpose()?,
        })
    }

    fn excluded_count(&self) -> u32 {
        self.excluded.iter().map(|(_, count)| count).sum()
    }

    fn screened(&self) -> Option<u32> {
        let enrolled = self.all.enrolled + self.unclear + self.eligible_only;
        self.asks.then_some(enrolled + self.excluded_count())
    }

    /// Every count: its stage, the arm or reason it is of, and the number; none if not known.
    fn rows(&self) -> Vec<(String, String, Option<u32>)> {
        let row = |stage: &str, of: &str, count| (stage.to_owned(), of.to_owned(), count);
        let mut rows = vec![row("screened", "", self.screened())];
        if self.asks {
            rows.push(row("excluded", "", Some(self.excluded_count())));
            let reasons = self.excluded.iter();
            rows.extend(reasons.map(|(reason, n)| row("excluded", reason, Some(*n))));
            rows.push(row("eligible, not enrolled", "", Some(self.eligible_only)));
        }
        if self.unclear > 0 {
            rows.push(row("enrolled, treatment not known", "", Some(self.unclear)));
        }
        for (name, number) in self.all.named() {
            rows.push(row(name, "", Some(number)));
            for (arm, counts) in self.arms.iter().flatten() {
                let of_arm = counts.named().find(|(of, _)| *of == name);
                rows.push(row(name, arm, Some(of_arm.map_or(0, |(_, number)| number))));
            }
        }
        rows.push(row("analysed (noisy)", "", self.analysed));
        rows
    }

    /// As CSV: a row a count; a count that is not known is empty.
    #[must_use]
    pub fn csv(&self) -> String {
        let number = |count: Option<u32>| count.map_or(String::new(), |count| count.to_string());
        let rows = self.rows().into_iter().map(|(stage, of, count)| vec![stage, of, number(count)]);
        Table::new(&["stage", "of", "count"], rows).csv()
    }

    /// The counts of all patients, without arms: arms of an adaptive trial tell which one leads.
    #[must_use]
    pub fn without_arms(&self) -> String {
        let row = |(name, count): (&str, u32)| format!("{name:<44} {count:>8}\n");
        self.all.named().map(row).collect()
    }

    /// For a person at a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.title);
        for (stage, of, count) in self.rows() {
            let name = if of.is_empty() { stage.clone() } else { format!("  {of}") };
            let count = count.map_or_else(|| self.not_known(&stage).to_owned(), |n| n.to_string());
            text += &format!("{name:<44} {count:>8}\n");
        }
        if self.arms.is_none() {
            text +=
                "\nThe trial is blinded: counts by arm take the custodian's key (--key-file).\n";
        }
        text
    }

    fn not_known(&self, stage: &str) -> &'static str {
        if stage == "screened" {
            "not known: the trial file asks no questions about eligibility"
        } else {
            "not known: name the report with --report"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::log::{Entry, Event, NoteKind};
    use crate::records::trial_file::EXAMPLE;

    const ASKS: &str = "\n[[eligibility]]\ntext = \"Adult?\"\nanswer = \"yes\"\n";

    fn register() -> Register {
        let of = |n: u32| (format!("P-{n}"), n, 0, String::new());
        let arm = |n: u32, arm: u8| {
            let (code, patient, feature, feature_name) = of(n);
            let (arm_name, answered) = (String::new(), String::new());
            Event::Arm { code, patient, feature, feature_name, arm, arm_name, answered }
        };
        let eligible = |n: u32| Event::Eligible { code: format!("p-{n}"), answers: Vec::new() };
        let out = |reason: &str| Event::NotEligible { reason: reason.into(), answers: Vec::new() };
        let (ok, rose) = (|| "OK 1".to_owned(), true);
        let mut events: Vec<Event> = (1..=5).map(eligible).collect();
        events.extend([arm(1, 0), arm(2, 1), arm(3, 1), arm(4, 1)]);
        events.extend([out("Adult? no"), out("no consent"), out("Adult? no")]);
        events.push(Event::Outcome { code: String::new(), patient: 1, answered: ok(), rose });
        events.push(Event::Lost { code: String::new(), patient: 2, answered: ok(), rose });
        events.push(Event::AlreadyRecorded { code: String::new(), patient: 3, answered: ok() });
        let (kind, text) = (NoteKind::Withdrawn, String::new());
        for _ in 0..2 {
            let (code, text) = (String::new(), text.clone());
            events.push(Event::Note { code, patient: 4, kind, text, should_be: None });
        }
        let entry = |(line, event)| {
            let (time, operator) = ("2026-11-16T08:00:00Z".to_owned(), "x".to_owned());
            Entry { line, time, operator, signed: None, event }
        };
        let entries: Vec<Entry> = (1..).zip(events).map(entry).collect();
        Register::read(&entries)
    }

    fn consort(text: &str) -> Consort {
        let trial = TrialFile::parse("t", text).unwrap();
        Consort::new(&register(), &trial, None, None).unwrap()
    }

    /// Every count is that of the log; a patient who withdrew twice withdrew once. Requirement W22.
    #[test]
    fn counts_are_those_of_the_log() {
        let csv = consort(&format!("{EXAMPLE}{ASKS}")).csv();
        for line in [
            "\"screened\",\"\",\"8\"",
            "\"excluded\",\"\",\"3\"",
            "\"excluded\",\"Adult? no\",\"2\"",
            "\"excluded\",\"no consent\",\"1\"",
            "\"eligible, not enrolled\",\"\",\"1\"",
            "\"enrolled\",\"\",\"4\"",
            "\"enrolled\",\"Usual care\",\"1\"",
            "\"enrolled\",\"Early walking\",\"3\"",
            "\"lost\",\"Usual care\",\"0\"",
            "\"lost\",\"Early walking\",\"1\"",
            "\"recorded or lost\",\"Early walking\",\"1\"",
            "\"without an outcome\",\"Early walking\",\"1\"",
            "\"withdrawn\",\"\",\"1\"",
            "\"analysed (noisy)\",\"\",\"\"",
        ] {
            assert!(csv.lines().any(|found| found == line), "{line}:\n{csv}");
        }
    }

    /// A trial without questions does not know how many were screened, and says so.
    #[test]
    fn screening_is_not_invented() {
        let consort = consort(EXAMPLE);
        assert!(consort.csv().contains("\"screened\",\"\",\"\""));
        assert!(consort.text().contains("not known: the trial file asks no questions"));
        assert!(!consort.csv().contains("excluded"));
    }
}
