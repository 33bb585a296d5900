//! QR codes as text, for paper.

use qrcodegen::{QrCode, QrCodeEcc};

/// Light modules around a code, without which readers do not find it.
const QUIET: i32 = 4;

/// Black on white, whatever the colours of the terminal are; and back.
const COLOURS: [&str; 2] = ["\u{1b}[30;107m", "\u{1b}[0m"];

/// The code of a text, two rows of modules in a row of characters, in black on white; none if the
/// text is too long for a code. A terminal is told the colours, paper has them.
#[must_use]
pub fn code(text: &str, terminal: bool) -> Option<String> {
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let range = -QUIET..code.size() + QUIET;
    let [black, back] = if terminal { COLOURS } else { [""; 2] };
    let mut drawn = String::new();
    for y in range.clone().step_by(2) {
        drawn += black;
        for x in range.clone() {
            drawn.push(match (code.get_module(x, y), code.get_module(x, y + 1)) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            });
        }
        drawn += back;
        drawn.push('\n');
    }
    Some(drawn)
}
