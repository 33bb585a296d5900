//! A terminal that does not wait for its reply: bytes come while flash stops the processor, and the
//! UART loses some.

use super::CHIP;
use crate::emulation::board::{EmulatedBoard, Firmware};
use crate::qemu::bedside::{Bedside, Dice, unsealed};
use crate::times;
use std::collections::BTreeSet;

/// Longer than a reply takes with one erase, in microseconds.
const REPLY: u64 = 150_000;

/// Whatever an overrun costs, a request is carried out as it was sent or refused: no reply names a
/// patient whom nobody named, and nobody else is assigned or resolved. The requests carry no
/// checksum, which would hide a damaged line. Requirement D6.
#[test]
fn overrun_never_makes_another_request() {
    for overwrite in [false, true] {
        let mut board = EmulatedBoard::boot(&CHIP, Firmware::Release, 6);
        board.begin("features=4 patients=4000 epsilon=1");
        board.set("overwrite", overwrite);
        board.ask("HELLO");
        let mut dice = Dice(11);
        let (mut assigned, mut refused) = (0, 0);
        for _ in 0..12 {
            assigned += 1;
            board.ask(&format!("ASSIGN {assigned} 0"));
        }
        let rounds = times(40, 100);
        for m in 1..=rounds {
            // The next patient is assigned, and without waiting for the reply the oldest is
            // declared lost. The first flash operation takes so long that bytes of the
            // second request are lost.
            assigned += 1;
            let waiting = status(&mut board);
            board.slow_flash(1_000 + dice.roll(2_000));
            let first = format!("ASSIGN {assigned} {}\n", assigned % 4);
            board.send(first.as_bytes(), 0);
            board.send(format!("\nLOST {m}\n").as_bytes(), 1_300 + u64::from(dice.roll(1_500)));
            // An empty line ends what the marks of a loss have begun.
            board.send(b"\n", 30_000);
            let mut done = BTreeSet::new();
            while let Some((line, _)) = board.try_line(REPLY).unwrap() {
                let line = unsealed(&line);
                if line.starts_with(&format!("ARM {assigned} ")) || line == format!("OK {m}") {
                    done.insert(line);
                } else if line.starts_with("ERR ") {
                    refused += 1;
                } else {
                    panic!("ASSIGN {assigned} and LOST {m} were answered {line}");
                }
            }
            let lost = done.contains(&format!("OK {m}"));
            let arms = done.len() - usize::from(lost);
            assert_eq!(arms, 1, "the first request was received whole");
            assert_eq!(status(&mut board) + u32::from(lost), waiting + 1, "{done:?}");
            if !lost {
                assert_eq!(unsealed(&board.ask(&format!("LOST {m}"))), format!("OK {m}"));
            }
        }
        let overruns = board.state().overruns;
        println!(
            "overwrite {overwrite}: {overruns} bytes lost, {refused} lines refused, none misread"
        );
        assert!(
            overruns > u64::from(rounds) / 2 && refused > rounds / 5,
            "{overruns} overruns, {refused} refused: too little was tested"
        );
    }
}

/// Patients without an outcome, asked without a checksum.
fn status(board: &mut EmulatedBoard) -> u32 {
    let status = unsealed(&board.ask("STATUS"));
    let count = |key: &str| -> u32 {
        let word = status.split(' ').find_map(|word| word.strip_prefix(key));
        word.unwrap_or_else(|| panic!("{status}")).parse().unwrap()
    };
    count("assigned=") - count("resolved=")
}
