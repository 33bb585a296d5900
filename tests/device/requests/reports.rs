//! Who closes a trial, and what a signed report holds.

use super::*;

// Reports.

/// Runs a trial to its end; the report's lines.
pub fn finished(desk: &mut Desk) -> Vec<String> {
    for patient in 1..=20 {
        assert!(desk.assign(patient, patient % 3).starts_with("ARM "));
        assert_eq!(
            desk.ask(&format!("OUTCOME {patient} {}", patient % 2)),
            format!("OK {patient}")
        );
    }
    assert!(
        desk.ask("STATUS").contains("resolved=20 capacity=8 phase=measure looks=1 next-look=close")
    );
    assert_eq!(desk.order("CLOSE"), "OK");
    desk.ask("REPORT").lines().map(str::to_string).collect()
}

/// A terminal without the key can resolve every patient, but not end the trial; a plan can let the
/// trial end itself. Requirement D14.
#[test]
fn the_closing_look_needs_the_custodian() {
    for (close, phase) in
        [("", "measure"), (" close=custodian", "measure"), (" close=auto", "closed")]
    {
        let mut desk = Desk::running(
            1,
            &format!("PLAN features=1 patients=4 better=high results=open epsilon=1{close}"),
        );
        for patient in 1..=4 {
            desk.assign(patient, 0);
            desk.ask(&format!("LOST {patient}"));
            desk.run_until_idle();
        }
        for line in ["LOST 4", "OUTCOME 4 1", "ASSIGN 5 0", "STATUS"] {
            desk.ask(line);
            desk.run_until_idle();
        }
        let status = desk.ask("STATUS");
        assert!(status.contains(&format!(" resolved=4 capacity=8 phase={phase} ")), "{status}");
        assert_eq!(desk.order("CLOSE"), "OK");
        assert!(desk.ask("STATUS").contains("phase=closed"));
    }
}

/// The interval is the estimate plus and minus 1.96 standard errors, up to rounding.
#[test]
fn a_row_has_its_standard_error() {
    let mut desk =
        Desk::running(1, "PLAN features=1 patients=400 better=high results=open epsilon=20");
    for patient in 1..=400 {
        desk.assign(patient, 0);
        desk.ask(&format!("OUTCOME {patient} {}", patient / 3 % 2));
    }
    desk.order("CLOSE");
    let report = desk.ask("REPORT");
    let Ok(Reply::Row(row)) = Reply::parse(sealed(report.lines().next().unwrap()).as_bytes())
    else {
        panic!("{report}")
    };
    let half = 1.96 * f64::from(row.error.0);
    for (end, side) in [(row.low, -1.0), (row.high, 1.0)] {
        let apart = f64::from(end.0) - f64::from(row.estimate.0) - side * half;
        assert!(apart.abs() < 10.0 && end.0.abs() < 1_000_000, "{report}");
    }
    assert!((300..500).contains(&row.outcomes) && row.error.0 > 10_000, "{report}");
}

/// Does the MAC fit the rows, the trial and the plan?
fn verifies(report: &[String], plan: &str) -> bool {
    let mut mac = None;
    let mut rows = Vec::<Row>::new();
    for line in report {
        match Reply::parse(sealed(line).as_bytes()).unwrap() {
            Reply::Row(row) => rows.push(row),
            Reply::End { end, trial, mac: told } => mac = Some((end, trial, told)),
            other => panic!("{other:?}"),
        }
    }
    let (end, id, told) = mac.unwrap();
    let plan = Plan::parse(plan.strip_prefix("PLAN ").unwrap()).unwrap();
    let name = TrialName { id, file: FileDigest::NONE };
    let mut mac = ReportMac::new(&CustodianKey::new(KEY).role(Role::Report), name, &plan);
    rows.iter().for_each(|row| mac.row(row));
    mac.finish(&end) == told && usize::from(end.rows) == rows.len()
}

/// A report is signed and no row can be changed left out or moved to another trial.
/// Requirement D15.
#[test]
fn a_report_cannot_be_forged() {
    let mut desk = Desk::running(1, PLAN);
    let report = finished(&mut desk);
    assert_eq!(report.len(), 4);
    assert!(verifies(&report, PLAN));
    assert_eq!(
        desk.ask("REPORT").lines().collect::<Vec<_>>(),
        report,
        "and is the same every time"
    );
    let mut changed = report.clone();
    changed[0] = changed[0].replacen("ROW 0", "ROW 1", 1);
    assert!(!verifies(&changed, PLAN));
    assert!(!verifies(&report[1..], PLAN));
    assert!(!verifies(&report, "PLAN features=3 patients=20 better=high results=open epsilon=2"));
    let counts = report[3].replace("resolved=20", "resolved=19");
    assert!(counts != report[3] && !verifies(&[&report[..3], &[counts]].concat(), PLAN));
    desk.order("ERASE");
    desk.order(PLAN);
    let mut second = finished(&mut desk);
    assert!(verifies(&second, PLAN));
    second[..3].clone_from_slice(&report[..3]);
    assert!(!verifies(&second, PLAN), "the same plan, another trial");
}

/// Words that were added to the lines of a report are no part of it: they neither break its MAC nor
/// change a row, and they do not hide a change. Requirement D15.
#[test]
fn added_words_are_no_part_of_a_report() {
    let mut desk = Desk::running(1, PLAN);
    let report = finished(&mut desk);
    let added: Vec<String> = report.iter().map(|line| format!("{line} p=0.001")).collect();
    for (line, longer) in report.iter().zip(&added) {
        let (line, longer) = (sealed(line), sealed(longer));
        assert_eq!(Reply::parse(longer.as_bytes()), Reply::parse(line.as_bytes()));
    }
    assert!(verifies(&added, PLAN));
    let mut changed = added;
    changed[0] = changed[0].replacen("ROW 0", "ROW 1", 1);
    assert!(!verifies(&changed, PLAN));
}

/// A trial closed in its first half reports no rows.
#[test]
fn a_trial_closed_early_has_an_end() {
    let mut desk = Desk::running(1, PLAN);
    desk.assign(1, 0);
    desk.order("CLOSE");
    let report = desk.ask("REPORT");
    let end = "END 0 stage=final look=1 of=2 assigned=1 resolved=1 counted=0 trial=";
    assert!(report.starts_with(end), "{report}");
    assert!(verifies(&[report], PLAN));
}

/// A `dp-conse` trial says that its bound is unproven.
#[test]
fn dp_conse_claims_unproven() {
    let mut desk = Desk::blank(1);
    desk.ask(&Request::Key(KEY).to_string());
    let planned = desk
        .order("PLAN design=dp-conse features=3 patients=20 better=high results=open epsilon=1");
    assert!(planned.starts_with("OK trial=") && planned.ends_with(" claim=unproven"), "{planned}");
    for patient in 1..=8 {
        assert!(desk.assign(patient, patient % 3).starts_with("ARM "));
    }
    let counts = " design=dp-conse n=20 better=high results=open assigned=8 resolved=0 capacity=8 phase=explore \
                  looks=0 next-look=none";
    assert!(desk.ask("STATUS").contains(counts));
}
