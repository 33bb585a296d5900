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

use super::widgets::{age, bold, choice, choices, colour, cut, days, lines, scrolled, sure, typed};
use super::{Connection, Model, Scene, letters};
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
    let down = matches!(model.connection, Connection::Down(_));
    let rows = [
        Constraint::Length(if down { 5 } else { 4 }),
        Constraint::Min(8),
        Constraint::Length(3),
        Constraint::Length(1),
    ];
    let [top, middle, message, keys] = Layout::vertical(rows).areas(area);
    header(model, frame, top);
    scene(model, frame, middle);
    let style = if model.error { bold().patch(colour(model, Color::Red)) } else { Style::new() };
    let mark = if model.error { "! " } else { "" };
    let text =
        Paragraph::new(format!("{mark}{}", model.message)).style(style).wrap(Wrap { trim: true });
    frame.render_widget(text.block(Block::new().borders(Borders::TOP)), message);
    let keys_line = Line::from(format!(" {}", help(model)))
        .style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_widget(
        Paragraph::new(keys_line).style(Style::new().add_modifier(Modifier::REVERSED)),
        keys,
    );
}

fn header(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let (state, style) = match &model.connection {
        Connection::Looking => ("looking for the device".to_owned(), Style::new()),
        Connection::Up(port) => (format!("connected: {port}"), colour(model, Color::Green)),
        Connection::Down(_) => ("NO DEVICE".to_owned(), bold().patch(colour(model, Color::Red))),
    };
    let room = usize::from(area.width).saturating_sub(model.trial.title.chars().count() + 8);
    let state = Span::styled(format!(" {} ", cut(&state, room)), style);
    let block = Block::bordered()
        .title(Span::styled(format!(" {} ", model.trial.title), bold()))
        .title(Line::from(state).alignment(Alignment::Right));
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
    if let Connection::Down(why) = &model.connection {
        // What was last heard of the trial's phase may be old; why there is no device matters now.
        lines.truncate(1);
        lines.push(Line::styled(format!("! {}", why.replace('\n', " ")), style));
    }
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }).block(block), area);
}

fn scene(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    match &model.scene {
        Scene::List => list(model, frame, area),
        Scene::Arm(patient) => arm(model, patient, frame, area),
        Scene::Help => lines(frame, area, "Help", HELP.lines().map(Line::from).collect()),
        Scene::Code { text } => {
            let number = model.status.map_or(1, |status| status.assigned + 1);
            let letters = if model.trial.code.unicode() { "Letters" } else { "Letters A to Z" };
            let form = vec![
                Line::default(),
                Line::from(format!("  The next patient will be number {number}.")),
                Line::default(),
                Line::from(vec![
                    Span::raw("  Patient code:  "),
                    Span::styled(format!("{text}_"), bold()),
                ]),
                Line::default(),
                Line::from(format!("  {letters}, digits, - _ . or /, as in the ward's list.")),
            ];
            lines(frame, area, "Enrol a patient", form);
        }
        Scene::Kind { code, levels, choice } => {
            let factor = model.trial.factors.get(levels.len());
            let names = factor.map_or(&[][..], |factor| &factor.levels);
            let question = match factor.map(|factor| factor.name.as_str()) {
                Some("") | None => format!("Patient {code} is"),
                Some(name) => format!("Patient {code}: {name}"),
            };
            choices(model, frame, area, "Enrol a patient", &question, names, choice);
        }
        Scene::SureEnrol { code, feature, .. } => {
            let text = format!("Enrol patient {code}, {}?", model.trial.feature_name(*feature));
            let action = format!("enrol {code}");
            sure(
                frame,
                area,
                "Enrol a patient",
                &text,
                &action,
                "An enrolment cannot be taken back.",
            );
        }
        Scene::Asking { what, enrolment, logged } => {
            asking(model, frame, area, what, *enrolment, *logged);
        }
        Scene::Outcome { patient, choice } => {
            let labels = model.trial.labels.as_deref().unwrap_or_default();
            let question = format!(
                "Patient {}, number {}: {}",
                patient.code, patient.number, model.trial.question
            );
            choices(model, frame, area, "Outcome", &question, labels, choice);
        }
        Scene::SureReplace { patient } => {
            let given = model.trial.given(&patient.given);
            let text = format!("Give patient {} another kit instead of {given}?", patient.code);
            let action = format!("give {} another kit", patient.code);
            sure(frame, area, "Another kit", &text, &action, "A kit cannot be taken back.");
        }
        Scene::NoteKind { patient, choice } => {
            let names = NoteKind::ALL.map(|kind| kind.name().to_owned());
            let question = format!("Note on patient {}, number {}", patient.code, patient.number);
            choices(model, frame, area, "Note", &question, &names, choice);
        }
        Scene::Note { patient, kind, text } => {
            let form = [
                format!("Patient {}, number {}: {}", patient.code, patient.number, kind.name()),
                format!("{text}_"),
                "A note stays in the log and changes nothing else. Write no outcome here."
                    .to_owned(),
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
        Scene::SureOutcome { patient, y } => {
            let who = format!("Patient {}, number {}", patient.code, patient.number);
            let warning = "What is recorded cannot be changed, and this terminal keeps no copy.";
            match y {
                None => {
                    let text = format!("{who}: the outcome will never come");
                    sure(frame, area, "Lost", &text, "record LOST", warning);
                }
                Some(y) => {
                    let labels = model.trial.labels.as_deref().unwrap_or_default();
                    let label =
                        labels.get(usize::from(*y)).cloned().unwrap_or_else(|| y.to_string());
                    let label = label.to_uppercase();
                    let text = format!("{who}: {} {label}", model.trial.question);
                    sure(frame, area, "Outcome", &text, &format!("record {label}"), warning);
                }
            }
        }
    }
}

fn list(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let title = match (model.search.as_str(), model.searching) {
        ("", false) => format!("Outcomes waiting: {}", model.waiting.len()),
        (part, typing) => {
            let cursor = if typing { "_" } else { "" };
            format!(
                "Outcomes waiting: {} of {}, code has {part}{cursor}",
                model.shown().count(),
                model.waiting.len()
            )
        }
    };
    if model.waiting.is_empty() {
        let text = vec![
            Line::default(),
            Line::from("  Nobody is waiting for an outcome."),
            Line::default(),
            Line::styled("  Press E to enrol the next patient.", bold()),
        ];
        return lines(frame, area, &title, text);
    }
    let last = if model.trial.due.is_some() { "due" } else { "waiting" };
    let mut text = vec![Line::from(format!(
        "    {:<24} {:>7}  {:<25} {last:>13}",
        "code", "number", "kind of patient"
    ))];
    let room = usize::from(area.height).saturating_sub(text.len() + 2).max(1);
    let shown: Vec<&Patient> = model.shown().collect();
    for (place, patient) in scrolled(&shown, model.cursor, room) {
        let feature = cut(&model.trial.feature_name(patient.feature), 25);
        let when = model.trial.due.map(|due| due.after(patient.since)).map_or_else(
            || age(patient.since, model.now),
            |due| {
                if due < model.now {
                    format!("OVERDUE {}", days(due, model.now))
                } else {
                    format!("in {}", days(model.now, due))
                }
            },
        );
        let row = format!("{:<24} {:>7}  {feature:<25} {when:>13}", patient.code, patient.number);
        text.push(choice(model, &row, place == model.cursor));
    }
    lines(frame, area, &title, text);
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
    frame.render_widget(Paragraph::new(text).alignment(Alignment::Center).block(block), area);
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
    if matches!(model.connection, Connection::Down(_)) && enrolment {
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

const fn help(model: &Model) -> &'static str {
    match &model.scene {
        Scene::List if model.searching => {
            "Type part of a code   Up/Down choose   Enter keep   Esc all"
        }
        Scene::List if model.waiting.is_empty() => {
            "E enrol   F find   I operator   ? help   Q quit"
        }
        Scene::List if model.trial.kits.is_some() => {
            "E enrol  / search  O outcome  L lost  A kit  K other kit  N note  ? help  Q quit"
        }
        Scene::List => {
            "E enrol  / search  O outcome  L lost  A arm  N note  F find  ? help  Q quit"
        }
        Scene::Code { .. } => "Type the code   Enter next   Esc back",
        Scene::Kind { .. } | Scene::Outcome { .. } => {
            "Up/Down or number choose   Enter next   Esc back"
        }
        Scene::Number { .. } => "Type the number   Enter next   Esc back",
        Scene::NoteKind { .. } => "Up/Down or number choose   Enter next   Esc back",
        Scene::Note { .. } => "Type the note   Enter write it to the log   Esc back",
        Scene::Find { .. } => "Type the code   Enter show the arm   Esc back",
        Scene::Operator { .. } => "Type a name   Enter switch   Esc back",
        Scene::SureEnrol { resumed: true, .. } => "Enter enrol   Esc do not enrol",
        Scene::SureEnrol { .. } => "Enter enrol   Esc back",
        Scene::SureReplace { .. } => "Enter give another kit   Esc back",
        Scene::SureOutcome { .. } => "Enter record as shown   Esc back",
        Scene::Asking { enrolment: true, logged: true, .. } => {
            "Please wait   Q quit (nothing is lost)"
        }
        Scene::Asking { .. } => "Please wait",
        Scene::Arm(_) => "Enter when you have read it",
        Scene::Help => "Enter or Esc back",
    }
}

const HELP: &str = "
  E          enrol the next patient: code and kind, then the arm or kit appears
  Up, Down   choose a patient who is waiting for an outcome
  /, digits  search the waiting patients by part of their code
  O, Enter   enter the outcome of the chosen patient
  L          declare that the outcome will never come
  A          show the arm or kit of the chosen patient once more
  K          give the chosen patient another kit (blinded trials)
  N          write a note on the chosen patient
  F          find the arm or kit of a patient who was enrolled before
  I          switch the operator
  C          write the list of all enrolments to a CSV file beside the log
  Q          leave; nothing is lost, the next start goes on here

  An outcome goes to the device and is kept nowhere on this terminal.
  If the device is unplugged, plug it in again: the terminal goes on.";
