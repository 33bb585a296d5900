//! Scenes of people: signing in, the PIN at an act, and the questions about eligibility.
//!
//! While nobody is signed in, the screen shows nothing of patients. News of a patient that comes
//! meanwhile is held back until somebody signs in.

use ratatui::Frame;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::widgets::{bold, choices, lines, typed};
use super::{Model, News, Order, Picker, Scene};
use crate::bedside::seats::{SCREEN_SEAT, Signed};
use crate::records::eligibility::Answer;
use crate::records::pin::Pin;
use crate::records::staff::{MAX_ID, Role};

impl Model {
    /// Takes who is signed in where: locks the screen, or opens it again.
    pub(super) fn seats(&mut self, seats: Option<Signed>) {
        let Some(seats) = seats else { return };
        self.staff = true;
        match (seats.get(SCREEN_SEAT), self.is_locked()) {
            (Some(operator), locked) => {
                self.operator.clone_from(operator);
                if locked {
                    self.say("");
                    self.scene = Scene::List;
                    self.held.take().into_iter().for_each(|news| self.news(*news));
                }
            }
            (None, false) => {
                self.operator.clear();
                self.answers.clear();
                (self.search, self.searching, self.cursor) = (String::new(), false, 0);
                self.say("");
                // A confirmation that the program was started with is asked for again.
                if let Scene::SureEnrol { code, feature, resumed: true } = self.scene.clone() {
                    self.held = Some(Box::new(News::Wanted { code, feature }));
                }
                self.scene = Scene::SignIn { id: String::new(), pin: None };
            }
            (None, true) => {}
        }
    }

    /// Whether nobody is signed in at the screen.
    pub(super) const fn is_locked(&self) -> bool {
        matches!(self.scene, Scene::SignIn { .. })
    }

    /// Whether news must wait until somebody is signed in; it is held back then.
    pub(super) fn holds(&mut self, news: &News) -> bool {
        if !self.is_locked() {
            return false;
        }
        match news {
            News::Enrolled(_) | News::Wanted { .. } => self.held = Some(Box::new(news.clone())),
            News::Recorded(_) | News::Found(_) | News::Noted(_) | News::Pending(_) => {}
            News::Excluded(_) | News::Saved(_) | News::Entered(_) | News::Failed(_) => {}
            _ => return false,
        }
        true
    }

    /// The first scene of an enrolment: the questions, where the trial has some.
    pub(super) fn first_of_enrolment(&mut self) -> Scene {
        self.answers.clear();
        if self.trial.eligibility.is_empty() {
            return Scene::Code { text: String::new() };
        }
        Scene::Eligible { picker: Picker::default() }
    }

    /// Asks for the PIN before an order that is signed; `then` is the scene after it.
    pub(super) fn signed(
        &self,
        act: Role,
        back: Scene,
        (then, order): (Scene, Order),
    ) -> (Scene, Option<Order>) {
        if !(self.staff && self.trial.signing.signs(act)) {
            return (then, Some(order));
        }
        let (text, back) = (Pin::typed(""), Box::new(back));
        (Scene::Pin { text, order: Box::new(order), then: Box::new(then), back }, None)
    }

    /// Takes a key in one of these scenes.
    pub(super) fn sign_key(&mut self, key: KeyCode) -> Option<(Scene, Option<Order>)> {
        Some(match (self.scene.clone(), key) {
            (Scene::List, KeyCode::Char('i' | 'I')) if self.staff && !self.searching => {
                (Scene::List, Some(Order::SignOut))
            }
            (Scene::SignIn { pin: None, .. }, KeyCode::Esc) => {
                self.quit = true;
                (self.scene.clone(), None)
            }
            (Scene::SignIn { id, .. }, KeyCode::Esc) => (Scene::SignIn { id, pin: None }, None),
            (Scene::SignIn { id, pin: None }, KeyCode::Enter | KeyCode::Tab) => {
                let pin = (!id.is_empty()).then(|| Pin::typed(""));
                (Scene::SignIn { id, pin }, None)
            }
            (Scene::SignIn { id, pin: None }, key) => {
                (Scene::SignIn { id: super::update::edit(id, key, MAX_ID), pin: None }, None)
            }
            (Scene::SignIn { id, pin: Some(pin) }, KeyCode::Enter) => {
                self.say("");
                let order = Order::SignIn { id: id.clone(), pin };
                (Scene::SignIn { id, pin: Some(Pin::typed("")) }, Some(order))
            }
            (Scene::SignIn { id, pin: Some(pin) }, key) => {
                (Scene::SignIn { id, pin: Some(pin.with(key_digit(key)?)) }, None)
            }
            (Scene::Pin { back, .. }, KeyCode::Esc) => (*back, None),
            (Scene::Pin { text, order, then, back }, KeyCode::Enter) => {
                self.say("");
                self.pin = Some(text);
                self.before_pin = Some(back);
                (*then, Some(*order))
            }
            (Scene::Pin { text, order, then, back }, key) => {
                (Scene::Pin { text: text.with(key_digit(key)?), order, then, back }, None)
            }
            (Scene::Eligible { .. }, KeyCode::Esc) => match self.answers.pop() {
                None => (Scene::List, None),
                Some(last) => {
                    let place = Answer::ALL.iter().position(|answer| *answer == last);
                    let picker = place.map_or_else(Picker::default, Picker::at);
                    (Scene::Eligible { picker }, None)
                }
            },
            (Scene::Eligible { picker }, KeyCode::Enter) => self.answer(picker),
            (Scene::Eligible { picker }, key) => {
                (Scene::Eligible { picker: picker.key(key, Answer::ALL.len()) }, None)
            }
            _ => return None,
        })
    }

    /// Takes the answer to a question; one that excludes ends the enrolment.
    fn answer(&mut self, picker: Picker) -> (Scene, Option<Order>) {
        let taken = picker.taken(Answer::ALL.len());
        let answer = match taken.map(|place| Answer::ALL.get(place).copied()) {
            Ok(Some(answer)) => answer,
            other => {
                self.fail(&other.err().unwrap_or_default());
                return (Scene::Eligible { picker }, None);
            }
        };
        self.say("");
        self.answers.push(answer);
        let asked = self.trial.eligibility.questions();
        let question = asked.get(self.answers.len() - 1);
        if question.is_some_and(|question| question.allowed != answer) {
            let order = Order::NotEligible { answers: std::mem::take(&mut self.answers) };
            return self.signed(Role::Enrol, Scene::List, (Scene::List, order));
        }
        if self.answers.len() < asked.len() {
            (Scene::Eligible { picker: Picker::default() }, None)
        } else {
            (Scene::Code { text: String::new() }, None)
        }
    }
}

/// The digit of a key, or `None` within for the key that takes the last one away.
const fn key_digit(key: KeyCode) -> Option<Option<char>> {
    match key {
        KeyCode::Char(digit) if digit.is_ascii_digit() => Some(Some(digit)),
        KeyCode::Backspace => Some(None),
        _ => None,
    }
}

/// Draws one of these scenes; whether it was one.
pub(super) fn sign_view(model: &Model, frame: &mut Frame<'_>, area: Rect) -> bool {
    let digits = |pin: &Pin| format!("{}_", "*".repeat(pin.len()));
    match &model.scene {
        Scene::SignIn { id, pin } => {
            let cursor = if pin.is_none() { "_" } else { "" };
            let pin = pin.as_ref().map_or(String::new(), digits);
            let field = |name: &str, text: String| {
                Line::from(vec![Span::raw(format!("  {name:<16}")), Span::styled(text, bold())])
            };
            let form = vec![
                Line::default(),
                Line::styled("  Who works here?", bold()),
                Line::default(),
                field("Short id:", format!("{id}{cursor}")),
                Line::default(),
                field("PIN:", pin),
                Line::default(),
                Line::from("  Nothing of patients is shown until somebody signs in."),
            ];
            lines(frame, area, "Sign in", form);
        }
        Scene::Pin { text, .. } => {
            let form = [
                format!("{}, sign with your PIN:", model.operator),
                digits(text),
                "The log gets your id, your role and what you did; never the PIN.".to_owned(),
            ];
            typed(frame, area, "Signature", &form);
        }
        Scene::Eligible { picker } => {
            let asked = model.trial.eligibility.questions();
            let place = model.answers.len();
            let question = asked.get(place).map_or("", |question| question.text.as_str());
            let text = format!("{} of {}: {question}", place + 1, asked.len());
            let names = Answer::ALL.map(|answer| answer.name().to_owned());
            choices(model, frame, area, "Eligibility and consent", &text, &names, picker);
        }
        _ => return false,
    }
    true
}

/// The keys of these scenes.
pub(super) const fn sign_help(model: &Model) -> Option<&'static str> {
    Some(match &model.scene {
        Scene::SignIn { pin: None, .. } => "Type your short id   Enter next   Esc quit",
        Scene::SignIn { .. } => "Type your PIN   Enter sign in   Esc back",
        Scene::Pin { .. } => "Type your PIN   Enter sign   Esc back",
        Scene::Eligible { .. } => "Up/Down or number choose   Enter next   Esc back",
        _ => return None,
    })
}
