//! A terminal that does not wait for its reply, and a line that loses or breaks bytes.

use super::CHIP;
use crate::emulation::board::{EmulatedBoard, Firmware};
use crate::qemu::bedside::{Bedside, Dice, unsealed};

/// Bytes that come while the flash is busy are received: the code runs from RAM, and interrupts
/// are on.
#[test]
fn nothing_is_lost_while_flash_is_busy() {
    let mut board = EmulatedBoard::boot(&CHIP, Firmware::Release, 6);
    board.begin("features=4 patients=4000 epsilon=1");
    // From a line without a checksum on, none is expected.
    board.ask("HELLO");
    let mut dice = Dice(11);
    for k in 1..=20 {
        // As long as many bytes take; the UART holds one.
        board.slow_flash(5_000);
        board.send(format!("ASSIGN {k} {}\n", k % 4).as_bytes(), 0);
        let second = format!("HELLO\n{}OUTCOME {k} 1\n", "\n".repeat(40));
        board.send(second.as_bytes(), u64::from(dice.roll(1_000)));
        let mut replies = [(); 3].map(|()| unsealed(&board.line()));
        replies[0].truncate(3);
        replies[1].truncate(5);
        assert_eq!(replies, ["ARM", "HELLO", &format!("OK {k}")]);
    }
    assert_eq!(board.state().overruns, 0);
}

/// Whatever is lost or broken on the way, a request is carried out as it was sent or refused: no
/// reply names a patient whom nobody named. The requests carry no checksum, which would hide a
/// damaged line. Requirement D6.
#[test]
fn damage_never_makes_another_request() {
    for knob in ["lose", "break_bytes"] {
        let mut board = EmulatedBoard::boot(&CHIP, Firmware::Release, 7);
        board.begin("features=4 patients=4000 epsilon=1");
        for patient in 1..=60 {
            board.assign(patient, 0);
        }
        // From a line without a checksum on, none is expected.
        board.ask("HELLO");
        let mut dice = Dice(13);
        let (mut done, mut refused) = (0, 0);
        for patient in 1..=60 {
            let line = format!("LOST {patient}\n");
            // Damaged from some byte on, for up to three bytes; some not at all.
            let from = dice.roll(line.len() as u32) as usize;
            board.send(&line.as_bytes()[..from], 0);
            board.run(87 * from as u64 + 40);
            board.set(knob, dice.roll(4));
            board.send(&line.as_bytes()[from..], 0);
            board.run(1_000);
            board.set(knob, 0);
            // An empty line ends what the marks of a loss have begun.
            board.send(b"\n", 0);
            let mut resolved = false;
            while let Some((line, _)) = board.try_line(60_000).unwrap() {
                let line = unsealed(&line);
                resolved |= line == format!("OK {patient}");
                assert!(resolved || line.starts_with("ERR "), "LOST {patient}: {line}");
                refused += u32::from(line.starts_with("ERR "));
            }
            done += u32::from(resolved);
            let status = board.ask("STATUS");
            let waiting = format!(" resolved={} ", patient - u32::from(!resolved));
            assert!(status.contains(&waiting), "{status}");
            if !resolved {
                let again = board.ask(&format!("LOST {patient}"));
                assert_eq!(unsealed(&again), format!("OK {patient}"));
            }
        }
        println!("{knob}: {done} of 60 carried out, {refused} lines refused, none misread");
        assert!(refused > 30 && done > 5, "{done} carried out, {refused} refused");
    }
}
