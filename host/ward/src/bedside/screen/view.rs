//! Draws the bedside screen; 80 columns and 24 rows are enough, and colour is never needed to read
//! it.
//!
//! ```text
//! title, connection          what the trial is, whether the device is there
//! progress                   patients, phase, next look; or why there is no device
//! the scene                  list, form or arm
//! message                    the last thing that happened, or the last error in words
//! keys                       what can be pressed now
//! ```

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Wrap};

use super::help::{HELP, keys};
use super::sign::sign_view;
use super::widgets::{bold, choices, colour, cut, lines, typed};
use super::{Connection, Model, Scene, confirm, letters, waiting};
use crate::records::log::NoteKind;
use crate::records::register::Patient;
use equipoise::terms::Phase;
use equipoise::wire::NextLook;

/// The smallest screen that can be drawn.
const SMALLEST: (u16, u16) = (60, 18);
const BAR: usize = 30;

/// Draws the whole screen.
pub fn view(model: &Model, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let (width, height) = SMALLEST;
        frame.render_widget(
            Paragraph::new(format!("This window is too small: {width}x{height} at least.")),
            area,
        );
        return;
    }
    let trouble = matches!(model.connection, Connection::Down(_) | Connection::Unfit(_));
    let title = if has_long_title(model, area.width) {
        model.trial.title.chars().count().div_ceil(usize::from(area.width).saturating_sub(12))
            as u16
    } else {
        0
    };
    let rows = [
        Constraint::Length(title + if trouble { 5 } else { 4 }),
        Constraint::Min(8),
        Constraint::Length(3),
        Constraint::Length(1),
    ];
    let [top, middle, message, bottom] = Layout::vertical(rows).areas(area);
    header(model, frame, top);
    scene(model, frame, middle);
    let style = if model.error { bold().patch(colour(model, Color::Red)) } else { Style::new() };
    let mark = if model.error { "! " } else { "" };
    let text =
        Paragraph::new(format!("{mark}{}", model.message)).style(style).wrap(Wrap { trim: true });
    frame.render_widget(text.block(Block::new().borders(Borders::TOP)), message);
    let keys_line = Line::from(format!(" {}", keys(model)))
        .style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_widget(
        Paragraph::new(keys_line).style(Style::new().add_modifier(Modifier::REVERSED)),
        bottom,
    );
}

fn header(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let bad = bold().patch(colour(model, Color::Red));
    let (state, style) = match &model.connection {
        Connection::Looking => ("looking for the device".to_owned(), Style::new()),
        Connection::Up(_) if model.silent => ("NO ANSWER from the device".to_owned(), bad),
        Connection::Up(port) => (format!("connected: {port}"), colour(model, Color::Green)),
        Connection::Down(_) => ("NO DEVICE".to_owned(), bad),
        Connection::Unfit(_) => ("THIS DEVICE CANNOT BE USED".to_owned(), bad),
    };
    let practice = if model.practice { "PRACTICE: " } else { "" };
    let long = has_long_title(model, area.width);
    let title = if long {
        practice.trim_end_matches(": ").to_owned()
    } else {
        format!("{practice}{}", model.trial.title)
    };
    let room = usize::from(area.width).saturating_sub(title.chars().count() + 8);
    let state = Span::styled(format!(" {} ", cut(&state, room)), style);
    let title = if title.is_empty() { title } else { format!(" {title} ") };
    let block = Block::bordered()
        .title(Span::styled(title, bold()))
        .title(Line::from(state).alignment(Alignment::Right))
        .title_bottom(Line::from(who_works(model)).alignment(Alignment::Right));
    let mut lines = model.status.map_or_else(
        || vec![Line::from("The device has not told its state yet.")],
        |status| {
            let share = f64::from(status.assigned) / f64::from(status.patients.max(1));
            let full = (share * BAR as f64) as usize;
            let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR.saturating_sub(full)));
            // True for every design: `uniform` measures from the first patient on, by a fair coin.
            let phase = match status.phase {
                Phase::Explore => "explore (which arm is better)",
                Phase::Measure => "measure (the effect)",
                Phase::Closed => "closed (see: equipoise report)",
            };
            let look = match status.next_look {
                NextLook::After(resolved) => {
                    format!("next look after {resolved} resolved patients")
                }
                NextLook::AtClose => "next look at the close".to_owned(),
                NextLook::None => format!("looks so far {}", status.looks),
            };
            vec![
                Line::from(format!(
                    "Patients {} of {}  {bar}  {:.0} %",
                    status.assigned,
                    status.patients,
                    (share * 100.0).floor()
                )),
                Line::from(format!("Phase {phase}, {look}")),
            ]
        },
    );
    if let Connection::Down(why) | Connection::Unfit(why) = &model.connection {
        // What was last heard of the trial's phase may be old; why there is no device matters now.
        lines.truncate(1);
        lines.push(Line::styled(format!("! {}", why.replace('\n', " ")), style));
    }
    if long {
        lines.insert(0, Line::styled(model.trial.title.clone(), bold()));
    }
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }).block(block), area);
}

/// Whether the title leaves no room beside it for the state of the device, and so gets lines of its
/// own.
fn has_long_title(model: &Model, width: u16) -> bool {
    model.trial.title.chars().count() > usize::from(width) / 2
}

/// The person who works at the screen, for its frame.
fn who_works(model: &Model) -> String {
    if model.operator.is_empty() {
        return String::new();
    }
    format!(" Operator: {} ", model.operator)
}

fn scene(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    if sign_view(model, frame, area) {
        return;
    }
    match &model.scene {
        Scene::SignIn { .. } | Scene::Pin { .. } | Scene::Eligible { .. } => {}
        Scene::List => waiting::draw(model, frame, area),
        Scene::Arm(patient) => arm(model, patient, frame, area),
        Scene::Help => lines(frame, area, "Help", HELP.lines().map(Line::from).collect()),
        Scene::Code { text } => {
            let number = model.status.map_or(1, |status| status.assigned + 1);
            let form = vec![
                Line::default(),
                Line::from(format!("  The next patient will be number {number}.")),
                Line::default(),
                Line::from(vec![
                    Span::raw("  Patient code:  "),
                    Span::styled(format!("{text}_"), bold()),
                ]),
                Line::default(),
                Line::from(format!("  {}", model.trial.code.hint())),
                Line::default(),
                Line::from(format!("  {}.", model.trial.direction())),
            ];
            lines(frame, area, "Enrol a patient", form);
        }
        Scene::Kind { code, levels, picker } => {
            let factor = model.trial.factors.get(levels.len());
            let names = factor.map_or(&[][..], |factor| &factor.levels);
            let question = match factor.map(|factor| factor.name.as_str()) {
                Some("") | None => format!("Patient {code} is"),
                Some(name) => format!("Patient {code}: {name}"),
            };
            choices(model, frame, area, "Enrol a patient", &question, names, picker);
        }
        Scene::Asking { what, enrolment, logged } => {
            asking(model, frame, area, what, *enrolment, *logged);
        }
        Scene::Outcome { patient, picker } => {
            let labels = model.trial.labels.as_deref().unwrap_or_default();
            let question = format!(
                "Patient {}, number {}: {}",
                patient.code, patient.number, model.trial.question
            );
            choices(model, frame, area, "Outcome", &question, labels, picker);
        }
        Scene::NoteKind { patient, picker } => {
            let names = NoteKind::ALL.map(|kind| kind.name().to_owned());
            let question = format!("Note on patient {}, number {}", patient.code, patient.number);
            choices(model, frame, area, "Note", &question, &names, picker);
        }
        Scene::RightKind { patient, levels, picker } => {
            let factor = model.trial.factors.get(levels.len());
            let names = factor.map_or(&[][..], |factor| &factor.levels);
            let question = match factor.map(|factor| factor.name.as_str()) {
                Some("") | None => format!("Patient {} should be", patient.code),
                Some(name) => format!("Patient {} should be, {name}", patient.code),
            };
            choices(model, frame, area, "Note", &question, names, picker);
        }
        Scene::Reason { patient, text } => {
            let given = model.trial.given(&patient.given);
            let form = [
                format!("Patient {}: why can {given} not be used?", patient.code),
                format!("{text}_"),
                "As: damaged, lost, expired, not kept cold. It stays in the log.".to_owned(),
            ];
            typed(frame, area, "Another kit", &form);
        }
        Scene::Note { patient, kind, should_be, text } => {
            let right = should_be.map(|feature| model.trial.feature_name(feature));
            let right = right.map_or(String::new(), |right| format!(", should be {right}"));
            let who = format!("Patient {}, number {}", patient.code, patient.number);
            let form = [
                format!("{who}: {}{right}", kind.name()),
                format!("{text}_"),
                "A note stays in the log, not on the device. Write no outcome here.".to_owned(),
            ];
            typed(frame, area, "Note", &form);
        }
        Scene::Find { text } => {
            let hint = "The arm or kit of a patient this terminal enrolled.".to_owned();
            typed(
                frame,
                area,
                "Find a patient",
                &["Patient code:".to_owned(), format!("{text}_"), hint],
            );
        }
        Scene::Operator { text } => {
            let hint =
                format!("Now: {}. The log names the operator in every line.", model.operator);
            typed(
                frame,
                area,
                "Operator",
                &["Name or initials:".to_owned(), format!("{text}_"), hint],
            );
        }
        Scene::Number { patient, text } => {
            let scale = model.trial.plan.scale();
            let form = vec![
                Line::default(),
                Line::from(format!(
                    "  Patient {}, number {}: {}",
                    patient.code, patient.number, model.trial.question
                )),
                Line::default(),
                Line::from(vec![
                    Span::raw(format!("  0 to {scale}:  ")),
                    Span::styled(format!("{text}_"), bold()),
                ]),
            ];
            lines(frame, area, "Outcome", form);
        }
        Scene::SureEnrol { .. }
        | Scene::SureOutcome { .. }
        | Scene::SureAnyway { .. }
        | Scene::SureElsewhere { .. }
        | Scene::SureReplace { .. } => confirm::draw(model, frame, area),
    }
}

fn arm(model: &Model, patient: &Patient, frame: &mut Frame<'_>, area: Rect) {
    let name = model.trial.given_name(&patient.given);
    let given = patient
        .given
        .arm()
        .map_or_else(|| model.trial.given(&patient.given), |arm| format!("{name} (arm {arm})"));
    let room = (area.height.saturating_sub(4) + 1) / (letters::ROWS + 1);
    let width = area.width.saturating_sub(4);
    let short = patient.given.arm().map_or_else(|| name.clone(), |arm| format!("Arm {arm}"));
    let large = letters::large(&name, width, usize::from(room.max(1)))
        .or_else(|| letters::large(&short, width, 1))
        .unwrap_or_default();
    let style = bold().patch(colour(model, Color::Yellow));
    let who = format!(
        "Patient {}, number {}, {}",
        patient.code,
        patient.number,
        model.trial.feature_name(patient.feature)
    );
    let widest = large.iter().map(|row| row.chars().count()).max().unwrap_or(0);
    let large = large.iter().map(|row| Line::styled(format!("{row:<widest$}"), style));
    let mut text: Vec<Line<'_>> = large.collect();
    text.push(Line::default());
    text.push(Line::styled(given, bold()));
    let block = Block::bordered().title(format!(" {who} "));
    let text = Paragraph::new(text).alignment(Alignment::Center).wrap(Wrap { trim: false });
    frame.render_widget(text.block(block), area);
}

fn asking(
    model: &Model,
    frame: &mut Frame<'_>,
    area: Rect,
    what: &str,
    enrolment: bool,
    logged: bool,
) {
    let mut text =
        vec![Line::default(), Line::styled(format!("  Asking the device for {what} ..."), bold())];
    let silent = model.silent || !matches!(model.connection, Connection::Up(_));
    if silent && enrolment {
        text.push(Line::default());
        text.push(Line::from(
            "  The device does not answer. Plug it in again: the same request is sent",
        ));
        text.push(Line::from("  until it answers, and it never assigns twice."));
        if logged {
            text.push(Line::from(
                "  You may leave with Q: the log knows what was asked, and the next start",
            ));
            text.push(Line::from("  goes on from there."));
        }
    }
    lines(frame, area, "Asking", text);
}
