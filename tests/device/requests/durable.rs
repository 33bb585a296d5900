//! State that survives a repeat, a power cut and an error.

use super::*;

// Exactly once.

/// A repeated `ASSIGN` gives the stored arm whatever its feature also after power loss.
/// Requirement D1.
#[test]
fn a_repeated_assign_gives_the_stored_arm() {
    let mut desk = Desk::running(1, PLAN);
    for patient in 1..=8 {
        let arm = desk.assign(patient, 0);
        for feature in [0, 1, 2, 3, 99] {
            assert_eq!(desk.assign(patient, feature), arm);
        }
        desk = desk.power_up(patient.into());
        assert_eq!(desk.assign(patient, 1), arm);
    }
    assert!(desk.ask("STATUS").contains("assigned=8 resolved=0 capacity=8 "));
}

/// A device switched off after every request goes on and on. Requirement D2.
#[test]
fn a_power_cut_after_every_request_is_harmless() {
    let mut desk =
        Desk::running(1, "PLAN features=3 patients=200 better=high results=open epsilon=1");
    for patient in 1..=200 {
        assert!(desk.assign(patient, patient % 3).starts_with("ARM "), "{patient}");
        desk = desk.power_up(patient.into());
        assert_eq!(desk.ask(&format!("OUTCOME {patient} 1")), format!("OK {patient}"));
        desk = desk.power_up(patient.into());
    }
    assert!(desk.ask("REPORT").contains("END 3 "));
}

/// Requirement D3.
#[test]
fn an_error_changes_nothing_on_flash() {
    let mut desk = Desk::running(1, PLAN);
    desk.assign(1, 0);
    desk.run_until_idle();
    let before = desk.flash.0.borrow().operations();
    for line in [
        "ASSIGN 1 0",
        "ASSIGN 3 0",
        "ASSIGN 2 3",
        "OUTCOME 1 2",
        "OUTCOME 2 1",
        "LOST 0",
        "REPORT",
        "CLOSE",
        "ERASE",
        "nonsense",
        "PLAN features=1 patients=9 better=high results=open epsilon=1",
        "HELLO",
        "STATUS",
        "AUTH",
        &unproved("CLOSE"),
        &Request::Key([1; 32]).to_string(),
    ] {
        desk.ask(line);
    }
    desk.ask_plain("ASSIGN 2 0*0000");
    desk.ask_plain(&"x".repeat(500));
    assert_eq!(desk.flash.0.borrow().operations(), before);
}

/// After every request a device that is switched on with what is on flash holds the same trial.
#[test]
fn flash_holds_the_trial_after_every_request() {
    for design in ["interim", "uniform", "dp-conse"] {
        let plan = format!(
            "PLAN design={design} features=4 patients=40 better=high results=open epsilon=8"
        );
        let mut desk = Desk::running(3, &plan);
        let check = |desk: &Desk, line: &str| {
            let copy = desk.flash.0.borrow().clone();
            let other = Desk::on(Flash(Rc::new(copy.into())), Repeatable::new(9));
            let [here, there] = [desk, &other].map(|desk| format!("{:?}", desk.device.trial()));
            assert_eq!(here, there, "{design}: {line}");
        };
        for patient in 1..=40_u32 {
            desk.assign(patient, patient % 4);
            check(&desk, "ASSIGN");
            // Seven wait.
            if let Some(late) = patient.checked_sub(7).filter(|late| *late > 0) {
                let line = if late % 5 == 0 { "LOST {}" } else { "OUTCOME {} 1" };
                desk.ask(&line.replace("{}", &late.to_string()));
                check(&desk, line);
            }
        }
    }
}

/// Damaged memory is a fault of the device: nothing of the request is stored, and after power-up it
/// can be sent again.
#[test]
fn damaged_memory_is_a_fault() {
    for request in ["OUTCOME 1 1", "LOST 1", "ASSIGN 2 0"] {
        let mut desk = Desk::running(1, PLAN);
        desk.assign(1, 0);
        desk.device.trial_mut().unwrap().damage(0);
        desk.dialogue(&[
            (request, "ERR storage until=power-up"),
            ("OUTCOME 1 1", "ERR storage until=power-up"),
        ]);
        assert!(desk.ask("HELLO").contains(" fault"), "{request}");
        let mut desk = desk.power_up(2);
        let status = desk.ask("STATUS");
        assert!(status.contains(" assigned=1 resolved=0 capacity=8 "), "{request}: {status}");
        assert!(desk.assign(2, 0).starts_with("ARM 2 "), "{request}");
        assert_eq!(desk.ask("OUTCOME 1 1"), "OK 1");
    }
}

/// Neither a look nor the close deals with features of another design.
#[test]
fn damaged_memory_stops_looks_and_the_close() {
    for (patients, pause) in [(10, true), (10, false), (4, false)] {
        let mut desk = Desk::running(1, PLAN);
        for patient in 1..=patients {
            desk.assign(patient, 0);
            assert_eq!(desk.ask(&format!("OUTCOME {patient} 1")), format!("OK {patient}"));
        }
        desk.device.trial_mut().unwrap().damage(2);
        if pause {
            desk.run_until_idle();
        } else if patients < 10 {
            assert_eq!(desk.order("CLOSE"), "ERR storage until=power-up");
        }
        assert_eq!(desk.ask("STATUS"), "ERR storage until=power-up", "after {patients}");
        let mut desk = desk.power_up(2);
        let status = desk.ask("STATUS");
        let looks = format!(" looks={} ", patients / 10);
        assert!(!status.contains("closed") && status.contains(&looks), "{status}");
    }
}
