//! Any dialogue with a device on a RAM flash: no panic, no fault, and every line has its answer.
//!
//! Input: one byte that chooses the device (blank, or running one of two plans), then lines. `!`
//! stands for idle time, `^` for a power cut, `@CLOSE` and `@ERASE` for orders of the custodian,
//! with their proofs.
#![no_main]

use equipoise::testkit::desk::{Desk, PLAN};
use equipoise::wire::{LINE_LIMIT, Reply, State};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, lines)) = data.split_first() else { return };
    let mut desk = match first % 3 {
        0 => Desk::blank(1),
        1 => Desk::running(1, PLAN),
        _ => Desk::running(1, "PLAN design=dp-conse features=4 patients=60 better=high epsilon=2"),
    };
    for line in lines.split(|byte| *byte == b'\n') {
        match line {
            b"!" => desk.run_until_idle(),
            b"^" => desk = desk.power_up(2),
            // A device without a key, or locked after wrong proofs, gives no challenge.
            b"@CLOSE" | b"@ERASE" if desk.ask("AUTH").starts_with("NONCE") => {
                desk.order(if line == b"@CLOSE" { "CLOSE" } else { "ERASE" });
            }
            // The framer hands over no empty line and no byte beyond the limit.
            _ if line.is_empty() => {}
            _ => {
                let sent = desk.send(&line[..line.len().min(LINE_LIMIT + 1)]);
                assert!(sent.ends_with(b"\n"), "no answer");
                for reply in sent.trim_ascii_end().split(|byte| *byte == b'\n') {
                    assert!(reply.len() <= LINE_LIMIT && Reply::parse(reply).is_ok());
                }
            }
        }
        assert_ne!(desk.device.state(), State::Fault);
        assert!(desk.flash.0.borrow().misuse().is_none());
    }
});
