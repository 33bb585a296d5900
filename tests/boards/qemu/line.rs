//! Noise on the line changes nothing.

use crate::qemu::bedside::{Bedside, Dice, sealed, unsealed};
use crate::qemu::emulator::{Emulator, Firmware};
use std::time::Duration;

/// How long a terminal waits for a reply, and how often it asks.
const RETRY_AFTER: Duration = Duration::from_secs(2);
const RETRIES: u32 = 20;
/// Bytes of a burst.
const BURST: usize = 10 * 1024;

impl Emulator {
    /// Gets in step again, whatever was lost or is still under way: an empty line and a word the
    /// board does not know, until the refusal that names this very word comes. How many other
    /// lines were refused before.
    pub fn resynchronise(&mut self) -> usize {
        let mut refused = 0;
        for attempt in 0..RETRIES {
            let word = format!("SYNC{attempt}");
            self.send(format!("\n{}\n", sealed(&word)).as_bytes());
            while let Some(line) = self.line_within(RETRY_AFTER) {
                // The board answers every damaged line with one well-formed error, and sends
                // nothing else.
                assert!(unsealed(&line).starts_with("ERR "), "{line}");
                if line.contains(&word) {
                    return refused;
                }
                refused += 1;
            }
        }
        panic!("the board does not answer");
    }
}

/// Garbage and bursts change nothing, and the next request is answered.
#[test]
fn garbage_and_bursts_change_nothing() {
    let mut board = Emulator::boot(Firmware::Release);
    board.begin("features=4 patients=5000 epsilon=1");
    let mut dice = Dice(5);
    let mut answered = 0;
    for round in 1..=8_u32 {
        let arm = board.assign(round, 0);
        let burst: Vec<u8> = match round % 4 {
            // Any bytes at all.
            0 => (0..BURST).map(|_| dice.roll(256) as u8).collect(),
            // One endless line.
            1 => vec![b'A'; BURST],
            // Requests without checksums, which a terminal that uses them never sends.
            2 => format!("ASSIGN {} 1\n", round + 1).repeat(BURST / 11).into_bytes(),
            // Lines of noise with a right length.
            _ => (0..BURST)
                .map(|i| if i % 40 == 39 { b'\n' } else { dice.roll(128) as u8 | 32 })
                .collect(),
        };
        board.send(&burst);
        answered += board.resynchronise();
        assert_eq!(board.status("assigned"), round, "a burst was taken for a request");
        assert_eq!(board.assign(round, 0), arm);
    }
    println!("8 bursts of {BURST} bytes: {answered} lines refused, nothing changed");
}
