//! Bad input, missing devices, small windows; factors, due dates and notes.

use super::*;

/// A graded outcome is typed and must be within its scale.
#[test]
fn graded_outcome_keeps_to_its_scale() {
    let mut model = working_model();
    let text = equipoise_ward::records::trial_file::EXAMPLE.replace("scale = 1 ", "scale = 100 ");
    let text: String = text
        .lines()
        .filter(|line| !line.starts_with("labels"))
        .map(|l| l.to_owned() + "\n")
        .collect();
    model.trial = TrialFile::parse("graded", &text).unwrap();
    press(&mut model, &[ENTER]);
    type_in(&mut model, "101");
    assert_eq!(press(&mut model, &[ENTER]), None);
    shows(&model, &["! The outcome must be a whole number from 0 to 100."]);
    assert_eq!(
        press(&mut model, &[KeyCode::Backspace, ENTER, ENTER, ENTER]),
        None,
        "a second Enter records nothing"
    );
    assert_eq!(
        press(&mut model, &[R]),
        Some(Order::Outcome { number: 1200, y: 10, anyway: false })
    );
}

/// A bad or used code is named and can be corrected.
#[test]
fn bad_code_can_be_corrected() {
    let mut model = working_model();
    press(&mut model, &[KeyCode::Char('e'), ENTER]);
    shows(&model, &["! the patient code \"\" is not allowed: 1 to 24 letters, digits"]);
    type_in(&mut model, " h-07/19");
    press(&mut model, &[ENTER]);
    shows(&model, &["! Patient H-07/19 is already enrolled, as number 1234"]);
    press(&mut model, &[KeyCode::Char('a'), ENTER]);
    shows(&model, &["Patient h-07/19a is"]);
}

/// On the screen a code that looks like a waiting patient's is that patient's, in the search too,
/// and a character that is not allowed is named in full.
#[test]
fn alike_codes_on_the_screen() {
    let mut model = working_model();
    press(&mut model, &[KeyCode::Char('e')]);
    type_in(&mut model, "Ｈ-07/١𝟗");
    press(&mut model, &[ENTER]);
    shows(&model, &["! Patient H-07/19 is already enrolled, as number 1234"]);
    press(&mut model, &[KeyCode::Esc, KeyCode::Char('e')]);
    type_in(&mut model, "Ω-123456789-123456789-12");
    press(&mut model, &[ENTER]);
    shows(&model, &["'Ω' (U+03A9)", "code-unicode = true in the trial file"]);
    press(&mut model, &[KeyCode::Esc, KeyCode::Char('/')]);
    type_in(&mut model, "ｈ-٠7/１2");
    let found: Vec<u32> = model.shown().map(|patient| patient.number).collect();
    assert_eq!(found, [1200]);
}

/// A missing device is reported in words, and a pending enrolment goes on.
#[test]
fn unplugged_device_keeps_the_enrolment() {
    let mut model = working_model();
    model.news(News::Pending("H-07/23".to_owned()));
    model.news(News::Disconnected(
        "/dev/ttyACM0 is not there: is the device plugged in?".to_owned(),
    ));
    shows(
        &model,
        &["NO DEVICE", "! /dev/ttyACM0 is not there", "never assigns twice", "Asking the device"],
    );
    model.news(News::Connected("/dev/ttyACM0".to_owned()));
    shows(&model, &["connected: /dev/ttyACM0", "The device is back."]);
    model.news(News::Enrolled(patient("H-07/23", 1235, "2026-11-16T08:30:00Z")));
    shows(&model, &["Early walking (arm 1)"]);
}

/// Why there is no device does not hide the result of the last order.
#[test]
fn link_error_keeps_last_result() {
    let mut model = working_model();
    model.scene = Scene::Asking {
        what: "the record of patient H-07/12".to_owned(),
        enrolment: false,
        logged: false,
    };
    model.news(News::Failed("Not recorded: the line broke. Please enter it again.".to_owned()));
    let why = "no permission to open /dev/ttyACM0: join its group (on Debian: sudo adduser $USER dialout) and log in again";
    model.news(News::Disconnected(why.to_owned()));
    shows(
        &model,
        &[
            "! Not recorded",
            "! no permission to open /dev/ttyACM0",
            "and log in again",
            "Patients 1234 of 4000",
        ],
    );
}

/// Nobody can be enrolled without a device or in a closed trial.
#[test]
fn no_enrolment_without_a_device() {
    let mut model = working_model();
    model.news(News::Disconnected("gone".to_owned()));
    press(&mut model, &[KeyCode::Char('e')]);
    shows(&model, &["! There is no device", "Outcomes waiting"]);
    let mut model = working_model();
    model.news(News::Progress(Status { phase: Phase::Closed, ..status() }));
    press(&mut model, &[KeyCode::Char('e')]);
    shows(&model, &["! Nobody can be enrolled: the trial is closed"]);
    let mut model = working_model();
    model.news(News::Progress(Status { assigned: 1241, capacity: 9, ..status() }));
    press(&mut model, &[KeyCode::Char('e')]);
    shows(&model, &["! Nobody can be enrolled: 9 patients wait", "Outcomes waiting"]);
}

/// Without colour no cell has one, and the text is the same with it.
#[test]
fn colour_is_never_needed() {
    let mut model = working_model();
    for news in [None, Some(News::Disconnected("gone".to_owned()))] {
        news.into_iter().for_each(|news| model.news(news));
        model.colour = false;
        let plain = drawn(&model, 80, 24);
        let cells = plain.backend().buffer().content();
        assert!(cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
        let text = shown(&model);
        model.colour = true;
        assert_eq!(shown(&model), text);
        let coloured = drawn(&model, 80, 24);
        assert!(coloured.backend().buffer().content().iter().any(|cell| cell.fg != Color::Reset));
    }
}

/// Any window can be drawn, and one that is too small says so.
#[test]
fn any_window_can_be_drawn() {
    let mut model = working_model();
    model.news(News::Waiting(
        (1..200).map(|n| patient(&format!("P-{n}"), n, "2026-11-16T08:00:00Z")).collect(),
    ));
    for scene in [Scene::List, Scene::Help, Scene::Arm(patient("P-1", 1, "2026-11-16T08:00:00Z"))] {
        model.scene = scene;
        for (width, height) in [(1, 1), (59, 17), (60, 18), (80, 24), (300, 100)] {
            drawn(&model, width, height);
        }
    }
    let tiny = drawn(&model, 59, 24);
    let text: String = tiny.backend().buffer().content().iter().map(|cell| cell.symbol()).collect();
    assert!(text.contains("too small"));
    model.scene = Scene::List;
    press(&mut model, &[KeyCode::End]);
    shows(&model, &["> P-199"]);
}

fn with_text(changes: &[(&str, &str)]) -> TrialFile {
    let mut text = equipoise_ward::records::trial_file::EXAMPLE.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    TrialFile::parse("changed", &text).unwrap()
}

/// Factors are asked one after the other; Esc goes back one factor.
#[test]
fn factors_are_asked_in_turn() {
    let mut model = working_model();
    let features = equipoise_ward::records::trial_file::EXAMPLE
        .lines()
        .find(|l| l.starts_with("features"))
        .unwrap();
    let table = "[factors]\nsex = [\"f\", \"m\"]\nage = [\"under 65\", \"65 or over\"]\n[plan]";
    model.trial = with_text(&[(features, ""), ("[plan]", table)]);
    press(&mut model, &[KeyCode::Char('e'), KeyCode::Char('P'), ENTER]);
    shows(&model, &["Patient P: sex", "1  f", "2  m"]);
    press(&mut model, &[KeyCode::Char('2'), ENTER]);
    shows(&model, &["Patient P: age", "2  65 or over"]);
    press(&mut model, &[KeyCode::Esc]);
    shows(&model, &["Patient P: sex", ">  2  m"]);
    press(&mut model, &[ENTER, KeyCode::Down, ENTER]);
    shows(&model, &["Enrol patient P, m, under 65?"]);
    let order = Order::Enrol { code: "P".to_owned(), feature: 2, answers: Vec::new() };
    assert_eq!(press(&mut model, &[E]), Some(order));
}

/// The list shows when outcomes are due, and marks those that are overdue.
#[test]
fn overdue_patients_are_marked() {
    let mut model = working_model();
    let question = "question = \"Walks unaided on day 14?\"";
    model.trial = with_text(&[(question, "question = \"Walks?\"\ndue = \"1 day\"")]);
    shows(&model, &["OVERDUE 1 d", "in 23 h"]);
}

/// A note, a past arm and another operator are each two or three keys away.
#[test]
fn notes_find_and_operator() {
    let mut model = working_model();
    press(&mut model, &[KeyCode::Char('n'), KeyCode::Char('4'), ENTER]);
    shows(&model, &["Patient H-07/12, number 1200: deviation", "Write no outcome here"]);
    assert_eq!(press(&mut model, &[ENTER]), None, "an empty note is none");
    type_in(&mut model, "fell");
    let note = Order::Note {
        number: 1200,
        kind: NoteKind::Deviation,
        text: "fell".to_owned(),
        should_be: None,
    };
    assert_eq!(press(&mut model, &[ENTER]), Some(note));
    model.news(News::Noted("H-07/12".to_owned()));
    shows(&model, &["The note on patient H-07/12 is in the log."]);
    press(&mut model, &[KeyCode::Char('f')]);
    type_in(&mut model, "h-07/1");
    assert_eq!(press(&mut model, &[ENTER]), Some(Order::Find { code: "h-07/1".to_owned() }));
    let patient = patient("H-07/1", 7, "2026-11-14T05:30:00Z");
    let (notes, kits) = (Vec::new(), Vec::new());
    model.news(News::Found(Record { patient, resolved: None, notes, kits }));
    shows(
        &model,
        &[
            "Patient H-07/1, number 7",
            "Early walking (arm 1)",
            "Enrolled 2026-11-14 05:30 UTC by nurse",
        ],
    );
    press(&mut model, &[ENTER, KeyCode::Char('i')]);
    type_in(&mut model, "AB");
    assert_eq!(press(&mut model, &[ENTER]), Some(Order::Operator { name: "AB".to_owned() }));
}

/// A device that does not answer is not called connected, one that cannot be used is not called
/// missing, and a virtual one says PRACTICE.
#[test]
fn silent_unfit_and_virtual_devices() {
    let mut model = working_model();
    model.silent = true;
    shows(&model, &["NO ANSWER"]);
    assert!(!shown(&model).contains("connected"), "{}", shown(&model));
    press(&mut model, &[E]);
    model.scene = Scene::Asking { what: "the arm".to_owned(), enrolment: true, logged: true };
    shows(&model, &["Plug it in again"]);
    let mut model = working_model();
    model.news(News::Unfit("the device holds no trial".to_owned()));
    press(&mut model, &[E]);
    shows(&model, &["THIS DEVICE CANNOT BE USED", "! Nobody can be enrolled: the device holds no"]);
    assert!(!shown(&model).contains("There is no device"), "{}", shown(&model));
    for practice in [true, false] {
        let mut model = working_model();
        model.news(News::Practice(practice));
        for scene in [model.scene.clone(), Scene::Help, Scene::Code { text: String::new() }] {
            model.scene = scene;
            assert_eq!(shown(&model).contains("PRACTICE"), practice, "{}", shown(&model));
        }
    }
}

/// A long title and a long arm wrap; nothing of them is cut.
#[test]
fn long_titles_and_arms_wrap() {
    let title = "Early walking on the first day after hip surgery in patients from care homes \
        and from their own homes, a randomised trial of the northern hospitals";
    let arm = "Early walking with a physiotherapist, twice a day from the first day on at 8 pm";
    let text = equipoise_ward::records::trial_file::EXAMPLE
        .replace("Early walking after hip surgery", title)
        .replace("\"Early walking\"", &format!("\"{arm}\""));
    let mut model = working_model();
    model.trial = TrialFile::parse("long", &text).unwrap();
    model.scene = Scene::Arm(patient("H-07/12", 1200, "2026-11-14T05:30:00Z"));
    let flat = |text: String| {
        let words: Vec<&str> =
            text.split(|c: char| c.is_whitespace() || "│┌┐└┘─".contains(c)).collect();
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let screen = flat(shown(&model));
    assert!(screen.contains(title), "{}", shown(&model));
    assert!(screen.contains(arm), "{}", shown(&model));
}

/// A search that finds nobody, ended by Esc, leaves the cursor on the patient who was chosen. What
/// was said of one code is not said of the next.
#[test]
fn esc_keeps_the_chosen_patient() {
    let mut model = working_model();
    let chosen = |model: &Model| model.shown().nth(model.cursor).map(|patient| patient.number);
    press(&mut model, &[KeyCode::Down]);
    assert_eq!(chosen(&model), Some(1234));
    press(&mut model, &[KeyCode::Char('/')]);
    type_in(&mut model, "zzz");
    assert_eq!(chosen(&model), None);
    press(&mut model, &[KeyCode::Esc]);
    assert_eq!(chosen(&model), Some(1234));
    press(&mut model, &[KeyCode::Char('/')]);
    type_in(&mut model, "12");
    press(&mut model, &[KeyCode::Esc]);
    assert_eq!(chosen(&model), Some(1200), "the one that was found");
    press(&mut model, &[E]);
    type_in(&mut model, "H-07/12");
    press(&mut model, &[ENTER]);
    shows(&model, &["! Patient H-07/12 is already enrolled, as number 1200"]);
    press(&mut model, &[KeyCode::Backspace]);
    assert!(!shown(&model).contains("already"), "{}", shown(&model));
}

/// The screen says which arm more patients get where a patient is enrolled.
#[test]
fn screen_says_the_direction() {
    let mut model = working_model();
    press(&mut model, &[E]);
    shows(&model, &["The device gives more patients the arm with more: Walks unaided on day 14?"]);
}
