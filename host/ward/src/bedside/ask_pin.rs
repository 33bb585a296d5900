//! A PIN typed at a terminal outside the screen, without an echo.

use std::io::{self, Write};

use ratatui::crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, read};
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use crate::records::pin::Pin;

/// Asks for a PIN; a star stands for every digit.
///
/// # Errors
/// The terminal cannot be used, or Ctrl-C was pressed.
pub fn typed_pin(prompt: &str) -> io::Result<Pin> {
    eprint!("{prompt}: ");
    io::stderr().flush()?;
    enable_raw_mode()?;
    let typed = digits();
    disable_raw_mode()?;
    eprintln!();
    typed
}

fn digits() -> io::Result<Pin> {
    let mut pin = Pin::typed("");
    loop {
        let Event::Key(key) = read()? else { continue };
        if key.kind != KeyEventKind::Press {
            continue;
        }
        match key.code {
            KeyCode::Enter => return Ok(pin),
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Err(io::ErrorKind::Interrupted.into());
            }
            KeyCode::Char(digit) if digit.is_ascii_digit() => {
                pin = pin.with(Some(digit));
                eprint!("*");
            }
            KeyCode::Backspace if !pin.is_empty() => {
                pin = pin.with(None);
                eprint!("\u{8} \u{8}");
            }
            _ => {}
        }
        io::stderr().flush()?;
    }
}
