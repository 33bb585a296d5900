//! Signing in, the lock, the PIN at an act, and the questions about eligibility.

use std::collections::BTreeMap;

use super::*;
use equipoise_ward::bedside::seats::SCREEN_SEAT;
use equipoise_ward::records::eligibility::Answer;
use equipoise_ward::records::pin::Pin;
use equipoise_ward::records::trial_file::EXAMPLE;

const KEYS: &str = "sign = [\"enrol\", \"outcome\"]\n";
const ASKS: &str = "\n[[eligibility]]\ntext = \"Adult?\"\nanswer = \"yes\"\n\
                    [[eligibility]]\ntext = \"Pregnant?\"\nanswer = \"no\"\n";

/// A screen with a staff file at which nobody is signed in.
fn locked_model(trial: &str) -> Model {
    let mut model = working_model();
    model.trial = TrialFile::parse("t", trial).unwrap();
    model.news(News::Seats(Some(BTreeMap::new())));
    model
}

fn signed() -> News {
    let seats = [(SCREEN_SEAT.to_owned(), "ab Anna Berg".to_owned())];
    News::Seats(Some(seats.into_iter().collect()))
}

/// A locked screen shows nothing of patients, whatever news comes; id and PIN open it.
/// Requirement W11.
#[test]
fn locked_screen_shows_no_patient() {
    let mut model = locked_model(EXAMPLE);
    let hidden = |model: &Model| {
        let screen = shown(model);
        let found =
            ["H-07", "1234.", "Anna", "3141"].into_iter().find(|text| screen.contains(text));
        assert_eq!(found, None, "{screen}");
    };
    shows(&model, &["Who works here?", "Nothing of patients is shown", "Short id:"]);
    hidden(&model);
    model.news(News::Noted("H-07/12".to_owned()));
    model.news(News::Failed("patient H-07/12: no".to_owned()));
    model.news_of_others(News::Noted("H-07/12".to_owned()));
    model.news(News::Enrolled(patient("H-07/20", 1235, "2026-11-16T08:29:00Z")));
    hidden(&model);
    press(&mut model, &[KeyCode::Char('e'), KeyCode::Backspace]);
    shows(&model, &["Who works here?"]);
    type_in(&mut model, "ab");
    press(&mut model, &[ENTER]);
    type_in(&mut model, "3141x59");
    shows(&model, &["******_"]);
    hidden(&model);
    let order = press(&mut model, &[ENTER]);
    assert_eq!(order, Some(Order::SignIn { id: "ab".to_owned(), pin: Pin::typed("314159") }));
    model.news(News::WrongPin("the PIN of ab is wrong: 4 tries are left".to_owned()));
    shows(&model, &["! the PIN of ab is wrong: 4 tries are left", "Who works here?"]);
    model.news(signed());
    shows(&model, &["Operator: ab Anna Berg", "Patient H-07/20, number 1235", "Early walking"]);
    press(&mut model, &[ENTER]);
    shows(&model, &["Outcomes waiting: 2", "H-07/12"]);
    // In the middle of a form the lock takes the screen, and what was typed is gone.
    press(&mut model, &[KeyCode::Char('/'), KeyCode::Char('7')]);
    model.news(News::Seats(Some(BTreeMap::new())));
    hidden(&model);
    model.news(signed());
    shows(&model, &["Outcomes waiting: 2"]);
    assert_eq!(press(&mut model, &[KeyCode::Char('i')]), Some(Order::SignOut));
}

/// A confirmation that an earlier run left is shown once somebody signed in, not before.
#[test]
fn left_confirmation_waits_for_a_person() {
    let mut model = working_model();
    model.news(News::Wanted { code: "P-1".to_owned(), feature: 2 });
    model.news(News::Seats(Some(BTreeMap::new())));
    assert!(!shown(&model).contains("P-1"), "{}", shown(&model));
    model.news(signed());
    shows(&model, &["Enrol patient P-1"]);
}

/// An act that is signed asks for the PIN after its confirmation; a wrong one leads back to it.
#[test]
fn signed_act_takes_the_pin() {
    let mut model = locked_model(&EXAMPLE.replacen("title", &format!("{KEYS}title"), 1));
    model.news(signed());
    press(&mut model, &[KeyCode::Char('l')]);
    let confirmed = press(&mut model, &[R]);
    assert_eq!(confirmed, None, "not before the PIN");
    shows(&model, &["ab Anna Berg, sign with your PIN:", "never the PIN"]);
    type_in(&mut model, "314159");
    assert!(!shown(&model).contains("314159") && !format!("{model:?}").contains("314159"));
    assert_eq!(press(&mut model, &[ENTER]), Some(Order::Lost { number: 1200 }));
    assert_eq!(model.pin.take(), Some(Pin::typed("314159")));
    model.news(News::WrongPin("the PIN of ab is wrong: 4 tries are left".to_owned()));
    shows(&model, &["the outcome will never come", "! the PIN of ab is wrong"]);
    assert_eq!(press(&mut model, &[R]), None);
    press(&mut model, &[KeyCode::Esc]);
    shows(&model, &["the outcome will never come"]);
}

/// The questions come before the code; an answer that excludes ends the enrolment. Requirement W13.
#[test]
fn questions_come_first() {
    let mut model = working_model();
    model.trial = TrialFile::parse("t", &format!("{EXAMPLE}{ASKS}")).unwrap();
    press(&mut model, &[KeyCode::Char('e')]);
    shows(&model, &["Eligibility and consent", "1 of 2: Adult?", "1  yes", "2  no"]);
    press(&mut model, &[ENTER]);
    shows(&model, &["! Choose one first"]);
    press(&mut model, &[KeyCode::Char('1'), ENTER]);
    shows(&model, &["2 of 2: Pregnant?"]);
    press(&mut model, &[KeyCode::Esc]);
    shows(&model, &["1 of 2: Adult?"]);
    press(&mut model, &[ENTER]);
    let order = press(&mut model, &[KeyCode::Char('1'), ENTER]);
    assert_eq!(order, Some(Order::NotEligible { answers: vec![Answer::Yes; 2] }));
    model.news(News::Excluded("not eligible: Pregnant? yes; nobody was enrolled".to_owned()));
    shows(&model, &["not eligible: Pregnant? yes", "Outcomes waiting: 2"]);
    press(&mut model, &[KeyCode::Char('e'), KeyCode::Char('1'), ENTER, KeyCode::Char('2'), ENTER]);
    shows(&model, &["Patient code:"]);
    type_in(&mut model, "P-9");
    press(&mut model, &[ENTER, KeyCode::Char('3'), ENTER]);
    let (feature, answers) = (2, vec![Answer::Yes, Answer::No]);
    let order = Some(Order::Enrol { code: "P-9".to_owned(), feature, answers });
    assert_eq!(press(&mut model, &[E]), order);
}
