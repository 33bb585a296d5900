//! Resets, crashes and power cuts: what was answered is there afterwards.

use crate::qemu::bedside::{Bedside, Dice, KEY, hex, sealed, unsealed};
use crate::qemu::emulator::{Emulator, Firmware};
use crate::qemu::known::Known;
use crate::times;
use equipoise::testkit::order;
use std::time::{Duration, Instant};

const PLAN: &str = "features=4 patients=5000 epsilon=1";

/// Nothing answered is lost when the power is cut at random moments. Requirement D2.
#[test]
fn random_power_cuts_lose_no_answer() {
    let mut dice = Dice(11);
    let mut known = Known::default();
    let mut board = Emulator::boot(Firmware::Release);
    board.begin(PLAN);
    let cuts = times(20, 60);
    for _ in 0..cuts {
        for _ in 0..dice.roll(12) {
            let reply = board.request(&known.next());
            known.heard(&reply);
        }
        board.send(format!("{}\n", sealed(&known.next())).as_bytes());
        std::thread::sleep(Duration::from_micros(dice.roll(3000).into()));
        let (sent, flash) = board.cut_power();
        sent.iter().for_each(|line| known.heard(&unsealed(line)));
        board = Emulator::boot_on(Firmware::Release, &flash);
        known.check(&mut board);
    }
    println!(
        "{cuts} power cuts: {} patients assigned, {} resolved, 0 lost",
        known.assigned, known.resolved
    );
}

/// The power fails at random moments of the first start: the board ends up blank. (QEMU
/// reports every start as a reset.)
#[test]
fn cut_first_start_ends_blank() {
    let mut dice = Dice(17);
    let begin = Instant::now();
    Emulator::boot(Firmware::Release).expect_hello("blank", "restart=reset");
    let time = begin.elapsed().as_micros() as u32;
    for _ in 0..times(8, 20) {
        let mut board = Emulator::boot(Firmware::Release);
        std::thread::sleep(Duration::from_micros(dice.roll(time).into()));
        let (_, flash) = board.cut_power();
        board = Emulator::boot_on(Firmware::Release, &flash);
        board.expect_hello("blank", "restart=reset");
    }
}

/// The power fails at random moments of `ERASE`: the trial is as it was, or gone. Requirement D18.
#[test]
fn cut_erase_keeps_or_removes_the_trial() {
    let mut dice = Dice(19);
    let mut board = Emulator::boot(Firmware::Release);
    board.begin(PLAN);
    let begin = Instant::now();
    board.as_custodian("ERASE");
    let time = begin.elapsed().as_micros() as u32;
    let (mut known, mut kept) = (None, 0);
    let cuts = times(8, 20);
    for _ in 0..cuts {
        let trial = known.get_or_insert_with(|| {
            let planned =
                order(KEY, &format!("PLAN {PLAN} better=high"), |line| board.request(line));
            assert!(planned.starts_with("OK trial="), "{planned}");
            Known::default()
        });
        let reply = board.request(&trial.next());
        trial.heard(&reply);
        // The last of the lines, the command with its proof, gets no reply here.
        order(KEY, "ERASE", |line| match line.starts_with("ERASE") {
            true => {
                board.send(format!("{}\n", sealed(line)).as_bytes());
                String::new()
            }
            false => board.request(line),
        });
        std::thread::sleep(Duration::from_micros(dice.roll(time).into()));
        let (sent, flash) = board.cut_power();
        board = Emulator::boot_on(Firmware::Release, &flash);
        if board.request("HELLO").contains(" running ") {
            assert!(sent.is_empty(), "{sent:?}, and the trial is still there");
            trial.check(&mut board);
            kept += 1;
        } else {
            board.expect_hello("blank", "restart=reset");
            known = None;
        }
    }
    println!("{cuts} power cuts, {kept} times the trial was still there, as it was");
}

#[test]
fn a_reset_at_any_moment_loses_nothing() {
    let mut dice = Dice(13);
    let mut known = Known::default();
    let mut board = Emulator::boot(Firmware::Release);
    board.begin(PLAN);
    for _ in 0..times(8, 20) {
        for _ in 0..dice.roll(5) {
            let reply = board.request(&known.next());
            known.heard(&reply);
        }
        board.reset();
        board.resynchronise();
        board.expect_hello("running", "restart=reset");
        known.check(&mut board);
    }
}

/// A trial, a crash by this drill, and what `HELLO` says afterwards.
fn crash(drill: &str) -> (Emulator, Known) {
    let mut known = Known::default();
    let mut board = Emulator::boot(Firmware::Test);
    board.begin(PLAN);
    for _ in 0..9 {
        let reply = board.request(&known.next());
        known.heard(&reply);
    }
    board.send(format!("{drill}\n").as_bytes());
    (board, known)
}

/// After a panic or a fault the board comes back, says so, and has sent nothing. Requirement D25.
#[test]
fn board_comes_back_after_a_fault() {
    for drill in ["DRILL panic", "DRILL fault"] {
        let (mut board, known) = crash(drill);
        // What is sent too early may go down with the board; nothing but errors may come back.
        board.resynchronise();
        board.expect_hello("running", "restart=fault");
        known.check(&mut board);
        board.reset();
        board.resynchronise();
        board.expect_hello("running", "restart=reset");
    }
}

/// A hung board answers nothing, and a reset brings everything back.
#[test]
fn reset_revives_a_hung_board() {
    let (mut board, known) = crash("DRILL hang");
    board.send(b"HELLO\n");
    // However long one waits.
    assert_eq!(board.line_within(Duration::from_millis(500)), None);
    board.reset();
    board.resynchronise();
    board.expect_hello("running", "restart=reset");
    known.check(&mut board);
}

/// A stack overflow locks the processor up before it touches a static.
#[test]
fn stack_overflow_reaches_no_static() {
    // Real chips reset on a lock-up; QEMU gives up, with its message on standard error.
    let (mut board, _) = crash("DRILL overflow");
    for _ in 0..1000 {
        if board.has_ended() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the overflow went unnoticed");
}

/// The image that ships has no drills and cannot be seeded.
#[test]
fn shipped_image_has_no_drills_and_no_seed() {
    let mut board = Emulator::boot(Firmware::Release);
    assert!(board.request("DRILL panic").starts_with("ERR syntax"));
    board.expect(&format!("KEY {}", hex(&KEY)), "OK");

    // For the host's own target, so that this needs no other compiler; what is checked is the same
    // line. That a test build takes it shows in the image that other tests run.
    let refused = std::process::Command::new(env!("CARGO"))
        .args(["check", "--profile", "firmware", "--no-default-features"])
        .args(["--features", "firmware,seeded", "--bin", "firmware"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("`seeded` is for test builds"), "{said}");
}
