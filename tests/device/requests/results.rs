//! Who may ask for a report, and in which direction its effects point.

use super::*;

/// The first word of the answer to a report without a proof.
fn asked(desk: &mut Desk) -> String {
    let report = desk.ask("REPORT");
    report.split(' ').next().unwrap().to_owned() + report.split(' ').nth(1).unwrap()
}

/// Nobody gets a report without a proof, unless the plan says so.
#[test]
fn a_report_takes_a_proof_unless_planned() {
    for (results, running, closed) in [
        ("", "ERRauth", "ERRauth"),
        (" results=custodian", "ERRauth", "ERRauth"),
        (" results=close", "ERRauth", "ROW0"),
        (" results=open", "ROW0", "ROW0"),
    ] {
        let plan = format!("PLAN features=1 patients=200 better=high epsilon=20{results}");
        let mut desk = Desk::running(1, &plan);
        for patient in 1..=150 {
            desk.assign(patient, 0);
            desk.ask(&format!("OUTCOME {patient} {}", patient % 2));
        }
        assert_eq!(asked(&mut desk), running, "{results}");
        assert!(desk.order("REPORT").starts_with("ROW 0 "), "{results}");
        desk.order("CLOSE");
        assert_eq!(asked(&mut desk), closed, "{results}");
        let report = desk.order("REPORT");
        assert!(report.starts_with("ROW 0 ") && report.contains("\nEND 1 "), "{report}");
    }
}

/// A wrong proof is refused and counted, also where no proof is needed.
#[test]
fn a_wrong_proof_is_refused_where_none_is_needed() {
    let mut desk = Desk::running(1, PLAN);
    for _ in 0..3 {
        desk.challenge();
        assert_eq!(desk.ask(&unproved("REPORT")), "ERR auth wrong proof");
    }
    assert_eq!(desk.ask("AUTH"), "ERR locked wrong proofs until=power-up");
    assert_eq!(desk.ask("REPORT"), "ERR early no estimate yet", "free reports go on");
}

/// The arms of a trial with these outcomes, and its report.
fn played(plan: &str, outcome: impl Fn(u32) -> u32) -> (Vec<String>, Vec<Row>) {
    let mut desk = Desk::running(7, plan);
    let arms = (1..=300).map(|patient| {
        let arm = desk.assign(patient, patient % 2);
        if patient % 11 == 0 {
            desk.ask(&format!("LOST {patient}"));
        } else {
            desk.ask(&format!("OUTCOME {patient} {}", outcome(patient)));
        }
        arm
    });
    let arms = arms.collect();
    desk.order("CLOSE");
    let rows = desk.order("REPORT");
    let rows = rows.lines().filter_map(|line| match Reply::parse(sealed(line).as_bytes()) {
        Ok(Reply::Row(row)) => Some(row),
        _ => None,
    });
    (arms, rows.collect())
}

/// A trial in which small outcomes are better runs as the trial with every outcome turned round,
/// and reports the opposite effects.
#[test]
fn low_is_high_turned_round() {
    for design in ["interim", "uniform", "dp-conse"] {
        for scale in [1, 10, 1000] {
            let plan = format!("PLAN design={design} features=2 patients=300 epsilon=8");
            let y = |patient: u32| patient * 7 % (scale + 1);
            let high = format!("{plan} scale={scale} better=high");
            let low = format!("{plan} scale={scale} better=low");
            let (arms, rows) = played(&high, y);
            let (turned_arms, turned) = played(&low, |patient| scale - y(patient));
            assert_eq!(arms, turned_arms, "{design} {scale}");
            assert!(!rows.is_empty() && rows.len() == turned.len(), "{design} {scale}");
            for (row, turned) in rows.iter().zip(&turned) {
                assert_eq!(turned.estimate.0, -row.estimate.0, "{design} {scale}");
                assert_eq!((turned.low.0, turned.high.0), (-row.high.0, -row.low.0));
                assert_eq!((turned.error, turned.outcomes), (row.error, row.outcomes));
            }
        }
    }
}
