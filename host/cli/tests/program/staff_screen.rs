//! People at the screen, in tmux: signing in, wrong PINs, questions, the PIN at an act, the lock.

use crate::common::processes::{self, hide};
use crate::common::screen::Screen;
use crate::common::ward::Ward;
use crate::no_pin::{no_file_has_one, secrets};
use crate::staff::{ANNA, ASKS, begin};

fn log(ward: &Ward) -> String {
    std::fs::read_to_string(ward.file("ward.jsonl")).unwrap()
}

fn sign_in(screen: &Screen, (id, pin): (&str, &str)) {
    screen.shows("Short id:");
    screen.keys(&["-l", id]);
    screen.keys(&["Enter"]);
    screen.shows("Type your PIN");
    screen.keys(&["-l", pin]);
    screen.keys(&["Enter"]);
}

/// Anna signs in, answers the questions and enrols with her PIN; a screen that is left alone shows
/// nothing of the patient. No PIN is on the screen or in the log.
#[test]
fn enrolment_with_questions_by_keys() {
    let ward = Ward::new();
    let _device = ward.device();
    let keys = "sign = [\"enrol\"]\nlock-after = 0.3\ntitle = ";
    ward.provision(&[("title = ", keys), ASKS]);
    begin(&ward);
    let port = ward.port();
    let words = ["terminal", "--port", &port, "--log", "ward.jsonl"];
    let screen = Screen::run(&ward, &words, &[]);
    let first = screen.shows("Who works here?");
    assert!(!first.contains("Operator:"), "{first}");
    screen.shows("connected");
    sign_in(&screen, (ANNA.0, "000001"));
    screen.shows("the PIN of ab is wrong: 4 tries are left");
    screen.keys(&["-l", ANNA.1]);
    let typed = screen.shows("******_");
    assert!(!typed.contains(ANNA.1), "{typed}");
    screen.keys(&["Enter"]);
    screen.shows("Operator: ab Anna Berg");

    screen.keys(&["e"]);
    screen.shows("1 of 3: Is the patient 18 or older?");
    screen.keys(&["2", "Enter"]);
    screen.shows("sign with your PIN");
    screen.keys(&["-l", ANNA.1]);
    screen.keys(&["Enter"]);
    screen.shows("not eligible: Is the patient 18 or older? no");
    screen.keys(&["e"]);
    for (place, key) in [("1 of 3", "1"), ("2 of 3", "2"), ("3 of 3", "1")] {
        screen.shows(place);
        screen.keys(&[key, "Enter"]);
    }
    screen.shows("Patient code:");
    screen.keys(&["-l", "P-1"]);
    screen.keys(&["Enter"]);
    screen.shows("Patient P-1 is");
    screen.keys(&["3", "Enter"]);
    screen.shows("Enrol patient P-1, 65 or over, home?");
    screen.confirm();
    screen.shows("sign with your PIN");
    screen.keys(&["-l", "000001"]);
    screen.keys(&["Enter"]);
    screen.shows("the PIN of ab is wrong");
    screen.shows("Enrol patient P-1, 65 or over, home?");
    screen.confirm();
    screen.shows("sign with your PIN");
    screen.keys(&["-l", ANNA.1]);
    screen.keys(&["Enter"]);
    screen.shows("Patient P-1, number 1");
    let shown = processes::ours(&ward);
    assert!(shown.iter().any(|one| one.shown.contains("terminal\0--port")), "the screen runs");
    hide(&shown, &secrets(&ward));
    // Left alone, the screen shows nothing of the patient.
    let locked = screen.shows("Who works here?");
    assert!(!locked.contains("P-1"), "{locked}");
    sign_in(&screen, ANNA);
    screen.shows("> P-1");
    let text = log(&ward);
    for event in ["eligible", "not-eligible", "arm"] {
        assert_eq!(text.matches(&format!("\"event\":\"{event}\"")).count(), 1, "{event}: {text}");
    }
    assert!(text.contains("\"why\":\"left alone\"") && text.contains("\"meaning\":\"enrolled\""));
    no_file_has_one(&ward);
}
