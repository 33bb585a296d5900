use super::*;
use crate::records::log::{Entry, Event, NoteKind};
use crate::records::trial_file::EXAMPLE;

const PATIENTS: u32 = 60;

fn trial() -> TrialFile {
    TrialFile::parse("t", EXAMPLE).unwrap()
}

/// Kind and arm of a patient, so that neighbours differ.
fn kind_and_arm(number: u32) -> (u8, u8) {
    ((number % 4) as u8, (number / 2 % 2) as u8)
}

/// A log of 60 patients: every tenth is lost, every seventh waits, the others have outcomes.
fn register(more: Vec<Event>) -> Register {
    let trial = trial();
    let mut events = Vec::new();
    for patient in 1..=PATIENTS {
        let (feature, arm) = kind_and_arm(patient);
        let (code, answered) = (format!("P-{patient:03}"), "OK".to_owned());
        events.push(Event::Arm {
            code: code.clone(),
            patient,
            feature,
            feature_name: trial.feature_name(feature),
            arm,
            arm_name: trial.arms[usize::from(arm)].clone(),
            answered: "ARM".to_owned(),
        });
        if patient % 10 == 0 {
            events.push(Event::Lost { code, patient, answered, rose: true });
        } else if patient % 7 != 0 {
            events.push(Event::Outcome { code, patient, answered, rose: true });
        }
    }
    events.extend(more);
    let entry = |(line, event)| {
        let (time, operator) = ("2026-11-16T08:00:00Z".to_owned(), "x".to_owned());
        Entry { line, time, operator, signed: None, event }
    };
    let entries: Vec<Entry> = (1..).zip(events).map(entry).collect();
    Register::read(&entries)
}

/// The chart that agrees with the log.
fn chart() -> Vec<ChartRow> {
    let trial = trial();
    let row = |patient: u32| {
        let (kind, arm) = kind_and_arm(patient);
        let (outcome, reason) = match patient {
            p if p % 10 == 0 => ("", "moved away"),
            p if p % 7 == 0 => ("", ""),
            p if p % 3 == 0 => ("yes", ""),
            _ => ("0", ""),
        };
        ChartRow {
            line: patient as usize + 1,
            code: format!("p-{patient:03}"),
            kind: trial.feature_name(kind),
            given: trial.arms[usize::from(arm)].clone(),
            outcome: outcome.to_owned(),
            reason: reason.to_owned(),
            patient: patient.to_string(),
        }
    };
    (1..=PATIENTS).map(row).collect()
}

/// Finds what differs from the log of 60 patients.
fn finder() -> impl Fn(&[ChartRow]) -> Vec<Finding> {
    let (register, trial) = (register(Vec::new()), trial());
    move |rows| Reconciliation::new(&register, &trial, rows).findings
}

fn lines(findings: &[Finding]) -> Vec<usize> {
    let mut lines: Vec<usize> = findings.iter().filter_map(|finding| finding.line).collect();
    lines.dedup();
    lines
}

/// A chart that agrees has no finding, and the result says that it is not private.
#[test]
fn a_right_chart_agrees() {
    let result = Reconciliation::new(&register(Vec::new()), &trial(), &chart());
    assert_eq!(result.findings, []);
    let text = result.text();
    assert!(text.starts_with("NOT PRIVATE.") && text.contains("Chart and log agree."), "{text}");
}

/// Every patient whose arm was swapped with another's is named, whichever two they are.
/// Requirement W23.
#[test]
fn every_swapped_arm_is_named() {
    let findings = finder();
    let right = chart();
    let mut swaps = 0;
    for first in 0..right.len() {
        for second in first + 1..right.len() {
            if right[first].given == right[second].given {
                continue;
            }
            let mut rows = right.clone();
            (rows[first].given, rows[second].given) =
                (right[second].given.clone(), right[first].given.clone());
            let found = findings(&rows);
            assert_eq!(lines(&found), [right[first].line, right[second].line]);
            assert!(found.iter().all(|finding| finding.what.starts_with("arm ")), "{found:?}");
            swaps += 1;
        }
    }
    assert_eq!(swaps, 900);
}

/// Rows whose codes stand one line too low are named, every one of them, from wherever the shift
/// begins; also without the column of numbers, for neighbours differ in kind. Requirement W23.
#[test]
fn every_shifted_row_is_named() {
    let findings = finder();
    for with_numbers in [true, false] {
        let right = chart();
        for begin in 0..right.len() - 1 {
            let mut rows = right.clone();
            let codes: Vec<String> = rows.iter().map(|row| row.code.clone()).collect();
            for place in begin..rows.len() - 1 {
                rows[place].code.clone_from(&codes[place + 1]);
            }
            rows.pop();
            if !with_numbers {
                rows.iter_mut().for_each(|row| row.patient.clear());
            }
            let mut named = lines(&findings(&rows));
            named.sort_unstable();
            named.dedup();
            assert_eq!(named, (begin + 2..rows.len() + 2).collect::<Vec<_>>(), "from {begin}");
        }
    }
}

/// Every other difference is named with its patient, and nothing else is. Requirement W23.
#[test]
fn each_difference_has_its_words() {
    type Change = fn(&mut Vec<ChartRow>);
    let cases: [(Change, &str, &str); 9] = [
        (|rows| drop(rows.remove(4)), "P-005", "enrolled, but not in the chart"),
        (|rows| rows.push(rows[4].clone()), "P-005", "in the chart twice, also on line 6"),
        (|rows| rows[4].code = "P-999".into(), "P-005", "enrolled, but not in the chart"),
        (|rows| rows[4].kind = "child".into(), "P-005", "kind \"child\" in the chart"),
        (|rows| rows[4].outcome.clear(), "P-005", "no outcome in the chart, one recorded"),
        (|rows| rows[9].outcome = "1".into(), "P-010", "an outcome in the chart, declared lost"),
        (|rows| rows[9].reason.clear(), "P-010", "without a reason in the chart"),
        (|rows| rows[6].outcome = "no".into(), "P-007", "an outcome in the chart, none recorded"),
        (
            |rows| rows[4].outcome = "2".into(),
            "P-005",
            "outcome \"2\" in the chart, allowed 0 to 1",
        ),
    ];
    let findings = finder();
    for (change, code, words) in cases {
        let mut rows = chart();
        change(&mut rows);
        let found = findings(&rows);
        assert_eq!(found[0].code, code, "{found:?}");
        assert!(found[0].what.contains(words), "{found:?}");
        assert!(found.len() == 1 || found[1].code == "P-999", "{found:?}");
    }
}

/// A kind that differs because it was wrong at the enrolment is explained by the note about it.
#[test]
fn a_note_explains_a_kind() {
    let mut rows = chart();
    rows[4].kind = trial().feature_name(3);
    let note = |should_be: u8| Event::Note {
        code: "P-005".into(),
        patient: 5,
        kind: NoteKind::WrongKind,
        text: "typed wrong".into(),
        should_be: Some(trial().feature_name(should_be)),
    };
    let result = Reconciliation::new(&register(vec![note(3)]), &trial(), &rows);
    assert!(result.agrees() && result.explained.len() == 1, "{result:?}");
    let result = Reconciliation::new(&register(vec![note(2)]), &trial(), &rows);
    assert_eq!(lines(&result.findings), [6]);
}
