//! Choosing one of a list: with the arrow keys, or by typing its whole number. Enter takes the
//! choice.

use ratatui::crossterm::event::KeyCode;

/// Most digits of a number in a list.
const DIGITS: usize = 4;

/// A choice that is being made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picker {
    /// The place under the cursor; none before one is chosen.
    cursor: Option<usize>,
    /// Digits typed so far.
    typed: String,
}

impl Picker {
    /// A choice with the cursor on this place.
    #[must_use]
    pub const fn at(place: usize) -> Self {
        Self { cursor: Some(place), typed: String::new() }
    }

    /// Returns the choice after a key, among `length` items.
    #[must_use]
    pub fn key(mut self, key: KeyCode, length: usize) -> Self {
        match key {
            KeyCode::Char(digit) if digit.is_ascii_digit() => {
                if self.typed.len() < DIGITS {
                    self.typed.push(digit);
                }
                self.cursor = None;
            }
            KeyCode::Backspace => drop(self.typed.pop()),
            key => {
                let cursor = moved(self.place(length), key, length);
                if cursor != self.place(length) {
                    self = Self { cursor, typed: String::new() };
                }
            }
        }
        self
    }

    /// The place that Enter would take.
    #[must_use]
    pub fn place(&self, length: usize) -> Option<usize> {
        self.taken(length).ok()
    }

    /// The place chosen.
    ///
    /// # Errors
    /// None is chosen, or the number typed is not in the list.
    pub fn taken(&self, length: usize) -> Result<usize, String> {
        if self.typed.is_empty() {
            return self.cursor.ok_or_else(|| {
                "Choose one first: with the arrow keys or by its number.".to_owned()
            });
        }
        let number = self.typed.parse().ok().filter(|number| (1..=length).contains(number));
        number
            .map(|number| number - 1)
            .ok_or_else(|| format!("There is no {}: choose 1 to {length}.", self.typed))
    }

    /// The digits typed so far.
    #[must_use]
    pub fn typed(&self) -> &str {
        &self.typed
    }
}

/// Moves a cursor in a list: arrows, pages, the ends.
pub(super) fn moved(at: Option<usize>, key: KeyCode, length: usize) -> Option<usize> {
    const PAGE: usize = 10;
    let last = length.saturating_sub(1);
    let to = |from: fn(usize) -> usize, first: usize| Some(at.map_or(first, from).min(last));
    match key {
        KeyCode::Up | KeyCode::Char('k') => to(|at| at.saturating_sub(1), last),
        KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => to(|at| at + 1, 0),
        KeyCode::PageUp => to(|at| at.saturating_sub(PAGE), 0),
        KeyCode::PageDown => to(|at| at + PAGE, last),
        KeyCode::Home => Some(0),
        KeyCode::End => Some(last),
        _ => at,
    }
}
