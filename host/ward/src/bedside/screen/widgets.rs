//! Pieces of the screen: bordered text, questions, confirmations, lists of choices, times.

use jiff::Timestamp;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Wrap};

use super::{Model, Picker};
use crate::records::words::span;

pub(super) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

pub(super) const fn colour(model: &Model, colour: Color) -> Style {
    if model.colour { Style::new().fg(colour) } else { Style::new() }
}

pub(super) fn lines(frame: &mut Frame<'_>, area: Rect, title: &str, lines: Vec<Line<'_>>) {
    let block = Block::bordered().title(format!(" {title} "));
    frame.render_widget(Paragraph::new(lines).block(block).wrap(Wrap { trim: false }), area);
}

/// A question, the text typed so far, and a hint.
pub(super) fn typed(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    [question, text, hint]: &[String; 3],
) {
    let form = vec![
        Line::default(),
        Line::from(format!("  {question}")),
        Line::default(),
        Line::styled(format!("  {text}"), bold()),
        Line::default(),
        Line::from(format!("  {hint}")),
    ];
    lines(frame, area, title, form);
}

/// A confirmation in words.
pub(super) struct Sure {
    pub title: &'static str,
    pub question: String,
    /// Further facts, one a line.
    pub about: Vec<String>,
    /// Effect of the key, in words that cannot be read the other way round.
    pub action: String,
    pub warning: String,
}

/// Draws a confirmation with the letter that confirms it.
pub(super) fn sure(frame: &mut Frame<'_>, area: Rect, key: char, sure: &Sure) {
    let mut text = vec![
        Line::default(),
        Line::styled(format!("  {}", sure.question), bold()),
        Line::default(),
    ];
    text.extend(sure.about.iter().map(|line| Line::from(format!("  {line}"))));
    if !sure.about.is_empty() {
        text.push(Line::default());
    }
    text.extend([
        Line::from(format!("  {}", sure.warning)),
        Line::default(),
        Line::from(vec![
            Span::styled(format!("  {key}: {}", sure.action), bold()),
            Span::raw("      Esc: back"),
        ]),
    ]);
    lines(frame, area, sure.title, text);
}

pub(super) fn choices(
    model: &Model,
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    question: &str,
    names: &[String],
    chosen: &Picker,
) {
    let at = chosen.place(names.len());
    let mut text =
        vec![Line::default(), Line::styled(format!("  {question}"), bold()), Line::default()];
    let room = usize::from(area.height).saturating_sub(text.len() + 4).max(1);
    for (place, name) in scrolled(names, at.unwrap_or(0), room) {
        text.push(choice(model, &format!("{:>2}  {name}", place + 1), Some(place) == at));
    }
    if !chosen.typed().is_empty() {
        text.push(Line::default());
        text.push(Line::from(format!("  Number: {}_", chosen.typed())));
    }
    lines(frame, area, title, text);
}

pub(super) fn choice(model: &Model, text: &str, chosen: bool) -> Line<'static> {
    if chosen {
        let style = Style::new().add_modifier(Modifier::REVERSED).patch(colour(model, Color::Cyan));
        Line::from(vec![Span::raw(" "), Span::styled(format!("> {text} "), style)])
    } else {
        Line::from(format!("   {text}"))
    }
}

/// The part of a list around the cursor that fits.
pub(super) fn scrolled<T>(
    items: &[T],
    at: usize,
    room: usize,
) -> impl Iterator<Item = (usize, &T)> {
    let start = (at + 1).saturating_sub(room);
    items.iter().enumerate().skip(start).take(room)
}

/// The beginning of a text, with a mark where it was cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// The time between two moments, in its largest unit.
pub(super) fn days(from: Timestamp, to: Timestamp) -> String {
    let hours = to.duration_since(from).as_hours().max(0);
    if hours < 24 { format!("{hours} h") } else { format!("{} d", hours / 24) }
}

/// How long ago, in the two largest units.
#[must_use]
pub fn age(since: Timestamp, now: Timestamp) -> String {
    span(now.duration_since(since))
}
