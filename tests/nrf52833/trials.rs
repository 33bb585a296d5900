//! Whole trials at the speed of the wire, with the image that ships.

use crate::bedside::{Bedside, Dice, KEY, hex, sealed, tag};
use crate::board::{Board, Firmware, State};
use equipoise::board::display;
use equipoise::device::auth::CustodianKey;
use equipoise::device::report::ReportMac;
use equipoise::plan::Plan;
use equipoise::wire::{FileDigest, Reply, TrialName};

/// The LEDs of a picture, as 5 * y + x.
pub fn leds(picture: u32) -> Vec<u64> {
    (0..25_u32).filter(|led| picture >> led & 1 != 0).map(u64::from).collect()
}

/// What was lit in the next so many microseconds.
pub fn lit(board: &mut Board, time: u64) -> Vec<u64> {
    board.state();
    board.run(time);
    let mut lit = board.state().lit;
    lit.sort_unstable();
    lit
}

/// Takes the report and requires that its MAC is the one of these rows, this trial and this plan
/// under the key.
fn check_report(board: &mut Board, plan: &str) {
    let lines = board.report();
    let parse = |line: &str| sealed(line).into_bytes();
    let (end, rows) = lines.split_last().unwrap();
    let end = parse(end);
    let Ok(Reply::End { rows: count, assigned, resolved, mac, trial }) = Reply::parse(&end) else {
        panic!("{lines:?}")
    };
    let name = TrialName { id: trial, file: FileDigest::NONE };
    let key = CustodianKey::new(KEY).report_key();
    let mut expected = ReportMac::new(&key, name, &Plan::parse(plan).unwrap());
    for row in rows {
        let row = parse(row);
        let Ok(Reply::Row(row)) = Reply::parse(&row) else { panic!("{lines:?}") };
        expected.row(&row);
    }
    assert_eq!(usize::from(count), rows.len());
    assert_eq!(hex(&mac), hex(&expected.finish(count, assigned, resolved)), "the report's MAC");
}

/// A trial of each design: repeats, late outcomes, losses, close, a report whose MAC is right,
/// erase; and what the LEDs show meanwhile.
#[test]
fn whole_trial_with_report_and_leds() {
    for design in ["interim", "dp-conse"] {
        let mut board = Board::boot(Firmware::Release, 1);
        board.expect_hello("blank", "restart=power");
        board.expect_image(&Firmware::Release.path());
        assert_eq!(lit(&mut board, 1_100_000), leds(display::HEART));
        let plan = format!("design={design} features=3 patients=60 epsilon=2 scale=10");
        board.begin(&plan);
        let mut dice = Dice(7);
        for k in 1..=60 {
            let arm = board.assign(k, dice.roll(3));
            if k % 20 == 1 {
                let picture = if arm == 0 { display::ARM_0 } else { display::ARM_1 };
                assert_eq!(lit(&mut board, 50_000), leds(picture), "arm {arm}");
            }
            assert_eq!(board.assign(k, dice.roll(3)), arm, "a repeat gives the stored arm");
            if k > 5 {
                let late = k - dice.roll(5);
                let outcome = format!("OUTCOME {late} {}", k % 11);
                let request = if dice.roll(8) == 0 { format!("LOST {late}") } else { outcome };
                board.expect(&request, &format!("OK {late}"));
            }
        }
        assert_eq!(board.status("assigned"), 60);
        board.as_custodian("CLOSE");
        check_report(&mut board, &plan);
        assert!(board.request("HELLO").contains(" closed "));
        board.as_custodian("ERASE");
        assert!(board.request("HELLO").contains(" blank "));
        assert_eq!(board.word("LATE_REPLIES"), 0);
        assert_eq!(board.state().overruns, 0);
    }
}

/// Flash full of noise is a fault: a cross on the LEDs, and nobody is assigned.
#[test]
fn noise_on_flash_is_a_fault() {
    let mut board = Board::boot(Firmware::Release, 2);
    let mut dice = Dice(3);
    board.store_journal(|| dice.roll(256) as u8);
    board.power_up();
    board.start();
    assert!(board.request("HELLO").contains(" fault "));
    assert!(board.request("ASSIGN 1 0").starts_with("ERR storage"));
    assert_eq!(lit(&mut board, 200_000), leds(display::FAULT));
}

/// A source of noise that is dead or stuck at power-up: only `HELLO` and `STATUS` are answered. One
/// that dies later: nobody more is assigned.
#[test]
fn dead_noise_source_assigns_nobody() {
    let mut board = Board::boot(Firmware::Release, 3);
    board.begin("features=2 patients=100 epsilon=1");
    board.assign(1, 0);
    let mut assigned = 1;
    for (on, stuck) in [(false, None), (true, Some(0x5A))] {
        board.set_noise(on, stuck);
        // The last sample of a source that died is still there; one that is stuck shows itself
        // after some samples.
        let refused = loop {
            let reply = board.request(&format!("ASSIGN {} 0 {}", assigned + 1, tag(assigned + 1)));
            if !reply.starts_with("ARM ") || assigned > 90 {
                break reply;
            }
            assigned += 1;
        };
        assert!(refused.starts_with("ERR entropy"), "{refused}");
        board.expect("OUTCOME 1 1", "OK 1");
        board.power_up();
        board.start();
        board.expect_hello("running", "restart=power");
        assert_eq!(board.status("assigned"), assigned);
        assert!(board.request(&format!("ASSIGN {} 0", assigned + 1)).starts_with("ERR entropy"));
        board.set_noise(true, None);
        board.power_up();
        board.start();
    }
    board.assign(assigned + 1, 0);
}

/// At any turnaround from 0 to 500 ms no request needs a second sending: 2,000 patients. The flash
/// is worn so little that the journal lasts for 10 million; afterwards a power cut loses nothing.
#[test]
fn no_request_is_sent_twice() {
    const PATIENTS: u32 = 2000;
    /// Erases a page of the nRF52833 is good for.
    const ENDURANCE: u64 = 10_000;
    let mut board = Board::boot(Firmware::Release, 4);
    board.begin(&format!("features=8 patients={PATIENTS} epsilon=1"));
    let mut dice = Dice(5);
    let mut ask = |board: &mut Board, request: String| {
        // Short turnarounds as often as long ones.
        let most = [50, 1_000, 20_000, 100_000, 500_000][dice.roll(5) as usize];
        board.send(format!("{}\n", sealed(&request)).as_bytes(), dice.roll(most).into());
        // A terminal would send it again after a second.
        let reply = board.try_line(1_500_000).unwrap();
        let (reply, _) = reply.unwrap_or_else(|| panic!("{request} got no reply"));
        assert!(!reply.starts_with("ERR"), "{request}: {reply}");
    };
    for k in 1..=PATIENTS {
        ask(&mut board, format!("ASSIGN {k} {} {}", k % 8, tag(k)));
        ask(&mut board, if k % 9 == 0 { format!("LOST {k}") } else { format!("OUTCOME {k} 1") });
    }
    let State { overruns, erases, operations, .. } = board.state();
    let erased: u64 = erases.iter().sum();
    println!(
        "{PATIENTS} patients: {operations} flash operations, {erased} erases, {overruns} bytes lost"
    );
    assert_eq!(overruns, 0);
    let lasts = u64::from(PATIENTS) * erases.len() as u64 * ENDURANCE / erased;
    assert!(lasts >= 10_000_000, "the journal lasts for {lasts} patients");
    assert_eq!(board.word("LATE_REPLIES"), 0, "a reply took longer than the time set aside for it");
    board.power_up();
    board.start();
    assert_eq!((board.status("assigned"), board.status("waiting")), (PATIENTS, 0));
}

/// Microseconds from the end of each request to its reply, in a trial whose public counts are
/// always the same and whose features, outcomes and losses depend on `seed`.
fn reply_times(plan: &str, seed: u32) -> Vec<f64> {
    let mut board = Board::boot(Firmware::Release, seed);
    board.begin(plan);
    let mut dice = Dice(seed);
    let mut times = Vec::new();
    for k in 1..=90 {
        let assign = format!("ASSIGN {k} {} {}", dice.roll(64), tag(k));
        let outcome = format!("OUTCOME {k} {}", dice.roll(101));
        let last = if dice.roll(10) == 0 { format!("LOST {k}") } else { outcome };
        for request in [assign, last] {
            board.send(format!("{}\n", sealed(&request)).as_bytes(), 0);
            let (_, began) = board.try_line(1_500_000).unwrap().expect("a reply");
            times.push(began - board.state().wire_free);
            // After a look noise is drawn until a moment that counts from the reply. The end of the
            // next request, from which its time counts, must not come before.
            if times.last().is_some_and(|time| *time > 300_000.0) {
                board.run(400_000);
            }
        }
    }
    assert_eq!(board.word("LATE_REPLIES"), 0, "a reply took longer than the time set aside for it");
    times
}

/// Under load, with erases that take their real time, every reply leaves in the same slot whatever
/// the features, arms and outcomes; also that to the request that finds a look due.
#[test]
fn reply_slots_do_not_depend_on_patients() {
    /// What slices of instructions make of exact moments.
    const SLICES: f64 = 30.0;
    for design in ["interim", "dp-conse"] {
        let plan = format!("design={design} features=64 patients=140 epsilon=1 scale=100");
        let first = reply_times(&plan, 17);
        let late = first.iter().filter(|time| **time > 100_000.0).count();
        assert!(late > 1 && late < 20, "{late} replies waited for an erase");
        // The look at half, or the turn, comes before patient 71, and takes longest.
        let longest = (0..first.len()).max_by(|i, j| first[*i].total_cmp(&first[*j]));
        assert_eq!(longest, Some(140), "{design}");
        for seed in [18, 19] {
            for (i, (a, b)) in first.iter().zip(&reply_times(&plan, seed)).enumerate() {
                assert!(
                    (a - b).abs() < SLICES,
                    "{design}, seed {seed}, request {i}: {a} and {b} microseconds"
                );
            }
        }
    }
}

/// 4,096 patients wait; one more is refused. Power cuts in their outcomes and in the recovery lose
/// nobody.
#[test]
fn waiting_4096_survive_power_cuts() {
    const WAITING: u32 = 4096;
    let mut board = Board::boot(Firmware::Release, 12);
    board.begin("features=8 patients=10000 epsilon=1");
    for k in 1..=WAITING {
        board.assign(k, k % 8);
    }
    assert_eq!(board.status("waiting"), WAITING);
    let full = board.request(&format!("ASSIGN {} 0", WAITING + 1));
    assert!(full.starts_with("ERR full"), "{full}");
    let mut resolved = 0;
    for cut in 1..=6 {
        // In a word of one of the next outcomes, or in the next page erase.
        let erase = cut % 3 == 0;
        board.cut_at(if erase { 1 } else { cut * 7 }, erase);
        loop {
            board.send(
                format!("{}\n", sealed(&format!("OUTCOME {} 1", resolved + 1))).as_bytes(),
                0,
            );
            match board.try_line(2_000_000) {
                Ok(reply) => {
                    let line = reply.map(|(line, _)| line);
                    assert!(line.as_ref().is_some_and(|line| line.starts_with("OK ")), "{line:?}");
                }
                Err(_) => break,
            }
            resolved += 1;
        }
        board.power_up();
        board.cut_at(cut * 50, false);
        if board.try_start().is_err() {
            board.power_up();
            board.start();
        }
        board.never_cut();
        let waiting = board.status("waiting");
        assert!(
            [WAITING - resolved, WAITING - resolved - 1].contains(&waiting),
            "{waiting}, {resolved} resolved"
        );
        board.expect(&format!("OUTCOME {} 1", resolved + 1), &format!("OK {}", resolved + 1));
        resolved += 1;
        assert_eq!(board.status("waiting"), WAITING - resolved);
    }
}
