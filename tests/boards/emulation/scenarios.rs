//! Scenarios that every emulated board must pass.

use super::Chip;
use super::board::{Cut, EmulatedBoard, Firmware, State};
use crate::qemu::bedside::{Bedside, Dice, KEY, hex, sealed, tag, unsealed};
use crate::qemu::known::Known;
use crate::times;
use equipoise::device::auth::{CustodianKey, Role};
use equipoise::device::report::ReportMac;
use equipoise::plan::Plan;
use equipoise::wire::{FileDigest, Reply, TrialName};

pub const PLAN: &str = "features=4 patients=5000 epsilon=1";
/// Microseconds by which slices of instructions blur exact moments.
const SLICES: f64 = 30.0;
/// Microseconds after which a terminal sends its request again (`host/ward/src/line/client.rs`).
const PATIENCE: u64 = 2_500_000;

/// Takes the report and requires that its MAC is the one of these rows, this trial and this plan
/// under the key.
fn check_report(board: &mut EmulatedBoard, plan: &str) {
    let lines = board.report();
    let parse = |line: &str| sealed(line).into_bytes();
    let (end, rows) = lines.split_last().unwrap();
    let end = parse(end);
    let Ok(Reply::End { end: facts, mac, trial }) = Reply::parse(&end) else { panic!("{lines:?}") };
    let name = TrialName { id: trial, file: FileDigest::NONE };
    let key = CustodianKey::new(KEY).role(Role::Report);
    let plan = Plan::parse(&format!("{plan} better=high")).unwrap();
    let mut expected = ReportMac::new(&key, name, &plan);
    for row in rows {
        let row = parse(row);
        let Ok(Reply::Row(row)) = Reply::parse(&row) else { panic!("{lines:?}") };
        expected.row(&row);
    }
    assert_eq!(usize::from(facts.rows), rows.len());
    assert_eq!(hex(&mac), hex(&expected.finish(&facts)), "the report's MAC");
}

/// A trial of each design: repeats, late outcomes, losses, close, a report whose MAC is right,
/// erase. `shows_blank` and `shows_arm` look at the LEDs.
pub fn whole_trial(
    chip: &'static Chip,
    shows_blank: impl Fn(&mut EmulatedBoard),
    shows_arm: impl Fn(&mut EmulatedBoard, u8),
) {
    for design in ["interim", "dp-conse"] {
        let mut board = EmulatedBoard::boot(chip, Firmware::Release, 1);
        board.expect_hello("blank", "restart=power");
        board.expect_image(&Firmware::Release.path(chip));
        shows_blank(&mut board);
        let plan = format!("design={design} features=3 patients=60 epsilon=2 scale=10");
        board.begin(&plan);
        let mut dice = Dice(7);
        for k in 1..=60 {
            let arm = board.assign(k, dice.roll(3));
            if k % 20 == 1 {
                shows_arm(&mut board, arm);
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

/// Flash full of noise is a fault, and nobody is assigned. The board afterwards.
pub fn noise_on_flash(chip: &'static Chip) -> EmulatedBoard {
    let mut board = EmulatedBoard::boot(chip, Firmware::Release, 2);
    let mut dice = Dice(3);
    board.store_journal(|| dice.roll(256) as u8);
    board.power_up();
    board.start();
    assert!(board.request("HELLO").contains(" fault "));
    assert!(board.request("ASSIGN 1 0").starts_with("ERR storage"));
    board
}

/// A source of noise that is dead or stuck at power-up: only `HELLO` and `STATUS` are answered. One
/// that dies later: nobody more is assigned.
pub fn dead_noise_source(chip: &'static Chip) {
    let mut board = EmulatedBoard::boot(chip, Firmware::Release, 3);
    board.begin("features=2 patients=200 epsilon=1");
    board.assign(1, 0);
    let mut assigned = 1;
    for (on, stuck) in [(false, None), (true, Some(0x5A))] {
        board.set_noise(on, stuck);
        // The last samples of a source that died are still there; one that is stuck shows itself
        // after some samples.
        let refused = loop {
            let reply = board.request(&format!("ASSIGN {} 0 {}", assigned + 1, tag(assigned + 1)));
            if !reply.starts_with("ARM ") || assigned > 190 {
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

/// At any turnaround from 0 to 500 ms no request needs a second sending, and no reply is late. The
/// flash, whose pages are good for so many erases, is worn so little that the journal lasts for 10
/// million patients; afterwards a power cut loses nothing.
pub fn turnarounds(chip: &'static Chip, patients: u32, endurance: u64) {
    let mut board = EmulatedBoard::boot(chip, Firmware::Release, 4);
    board.begin(&format!("features=8 patients={patients} epsilon=1"));
    let mut dice = Dice(5);
    let mut ask = |board: &mut EmulatedBoard, request: String| {
        // Short turnarounds as often as long ones.
        let most = [50, 1_000, 20_000, 100_000, 500_000][dice.roll(5) as usize];
        board.send(format!("{}\n", sealed(&request)).as_bytes(), dice.roll(most).into());
        let reply = board.try_line(PATIENCE).unwrap();
        let (reply, _) = reply.unwrap_or_else(|| panic!("{request} got no reply"));
        assert!(!reply.starts_with("ERR"), "{request}: {reply}");
    };
    for k in 1..=patients {
        ask(&mut board, format!("ASSIGN {k} {} {}", k % 8, tag(k)));
        ask(&mut board, if k % 9 == 0 { format!("LOST {k}") } else { format!("OUTCOME {k} 1") });
    }
    let State { overruns, erases, operations, .. } = board.state();
    let erased: u64 = erases.iter().sum();
    println!(
        "{patients} patients: {operations} flash operations, {erased} erases, {overruns} bytes lost"
    );
    assert_eq!(overruns, 0);
    let lasts = u64::from(patients) * erases.len() as u64 * endurance / erased;
    assert!(lasts >= 10_000_000, "the journal lasts for {lasts} patients");
    assert_eq!(board.word("LATE_REPLIES"), 0, "a reply took longer than the time set aside for it");
    board.power_up();
    board.start();
    assert_eq!((board.status("assigned"), board.status("waiting")), (patients, 0));
}

/// Microseconds from the end of each request to its reply, in a trial whose public counts are
/// always the same and whose features, outcomes and losses depend on `seed`. A reply that waited
/// for a look takes longer than `look`.
fn reply_times(chip: &'static Chip, plan: &str, seed: u32, look: f64) -> Vec<f64> {
    let mut board = EmulatedBoard::boot(chip, Firmware::Release, seed);
    board.begin(plan);
    let mut dice = Dice(seed);
    let mut times = Vec::new();
    for k in 1..=90 {
        let assign = format!("ASSIGN {k} {} {}", dice.roll(64), tag(k));
        let outcome = format!("OUTCOME {k} {}", dice.roll(101));
        let last = if dice.roll(10) == 0 { format!("LOST {k}") } else { outcome };
        for request in [assign, last] {
            board.send(format!("{}\n", sealed(&request)).as_bytes(), 0);
            let (_, began) = board.try_line(chip.patience).unwrap().expect("a reply");
            times.push(began - board.state().wire_free);
            // After a look noise is drawn until a moment that counts from the reply. The end of the
            // next request, from which its time counts, must not come before.
            if times.last().is_some_and(|time| *time > look) {
                board.run(400_000);
            }
        }
    }
    assert_eq!(board.word("LATE_REPLIES"), 0, "a reply took longer than the time set aside for it");
    times
}

/// Under load, with erases that take their real time, every reply leaves in the same slot whatever
/// the features, arms and outcomes; also that to the request that finds a look due. A reply that
/// waited for an erase takes longer than `erase`, one that waited for a look longer than `look`.
pub fn reply_slots(chip: &'static Chip, erase: f64, look: f64) {
    for design in ["interim", "dp-conse"] {
        let plan = format!("design={design} features=64 patients=140 epsilon=1 scale=100");
        let first = reply_times(chip, &plan, 17, look);
        let late = first.iter().filter(|time| **time > erase).count();
        assert!(late > 1 && late < 20, "{late} replies waited for an erase");
        // The look at half, or the turn, comes before patient 71, and takes longest.
        let longest = (0..first.len()).max_by(|i, j| first[*i].total_cmp(&first[*j]));
        assert_eq!(longest, Some(140), "{design}");
        assert!(
            first[140] < PATIENCE as f64,
            "{design}: the look takes {} microseconds",
            first[140]
        );
        println!("{design}: {late} replies waited for an erase, the look's {:.0} us", first[140]);
        for seed in 18..18 + times(1, 2) {
            for (i, (a, b)) in first.iter().zip(&reply_times(chip, &plan, seed, look)).enumerate() {
                assert!(
                    (a - b).abs() < SLICES,
                    "{design}, seed {seed}, request {i}: {a} and {b} microseconds"
                );
            }
        }
    }
}

/// Microseconds from the reply that waited for a look to the reply behind it. Its request is sent
/// so many microseconds after the first of these replies, while noise is drawn, and is as long for
/// every `seed`.
fn time_behind_look(chip: &'static Chip, plan: &str, seed: u32, after: u64) -> f64 {
    /// The patient who finds the look due: the first of the second half of 40.
    const LOOK: u32 = 21;
    let mut board = EmulatedBoard::boot(chip, Firmware::Release, seed);
    board.begin(plan);
    let mut dice = Dice(seed);
    let mut ask = |request: String, after| {
        board.send(format!("{}\n", sealed(&request)).as_bytes(), after);
        let (reply, began) = board.try_line(chip.patience).unwrap().expect("a reply");
        assert!(!reply.starts_with("ERR"), "{request}: {reply}");
        began
    };
    let mut looked = 0.0;
    for k in 1..=LOOK {
        looked = ask(format!("ASSIGN {k} {} {}", 10 + dice.roll(54), tag(k)), 0);
        if k < LOOK {
            ask(format!("OUTCOME {k} {}", 10 + dice.roll(90)), 0);
        }
    }
    ask(format!("OUTCOME {LOOK} {}", 10 + dice.roll(90)), after) - looked
}

/// A request that arrives while noise is drawn after a look is answered at the same moment, in
/// `drawing` microseconds at the earliest, whatever the noise was and whenever the request came.
/// (`dp-conse` draws none after its turn.)
pub fn slot_behind_look(chip: &'static Chip, drawing: f64) {
    let plan = "design=interim features=64 patients=40 epsilon=1 scale=100";
    let first = time_behind_look(chip, plan, 20, 0);
    println!("{first:.0} us from a look's reply to the reply behind it");
    assert!(first > drawing, "{first} microseconds: no noise was drawn");
    let all = [(21, 0), (23, 100_000), (22, 0), (23, 0)];
    for (seed, after) in all.into_iter().take(times(2, 4) as usize) {
        let time = time_behind_look(chip, plan, seed, after);
        assert!(
            (time - first).abs() < SLICES,
            "seed {seed}, sent after {after}: {time} and {first} microseconds"
        );
    }
}

/// Asks until the power fails.
fn ask_until_cut(board: &mut EmulatedBoard, known: &mut Known) {
    loop {
        board.send(format!("{}\n", sealed(&known.next())).as_bytes(), 0);
        match board.try_line(2_000_000) {
            Ok(reply) => known.heard(&unsealed(&reply.expect("a reply").0)),
            Err(Cut) => return,
        }
    }
}

/// The power fails inside writes, inside erases and inside the recovery that follows, with torn
/// words and pages and RAM full of anything: nothing that was answered is lost.
pub fn power_cuts(chip: &'static Chip, cuts: u32) {
    let mut board = EmulatedBoard::boot(chip, Firmware::Release, 8);
    board.begin(PLAN);
    let mut dice = Dice(19);
    let mut known = Known::default();
    let (mut in_erases, mut in_recovery) = (0, 0);
    for number in 0..cuts {
        let erase = number % 4 == 3;
        board.cut_at(1 + if erase { 0 } else { dice.roll(60) }, erase);
        ask_until_cut(&mut board, &mut known);
        in_erases += u32::from(erase);
        board.power_up();
        // Every other recovery is cut as well, if it writes.
        if number % 2 == 1 {
            board.cut_at(1 + dice.roll(40), false);
            if board.try_start().is_err() {
                in_recovery += 1;
                board.power_up();
                board.start();
            }
            board.never_cut();
        } else {
            board.start();
        }
        // The request that got no reply may have been carried out; it is sent again.
        known.check(&mut board);
        let again = board.request(&known.next());
        known.heard(&again);
    }
    println!(
        "{cuts} cuts, {in_erases} in erases, and {in_recovery} in recovery: {} patients assigned, {} resolved, 0 lost",
        known.assigned, known.resolved
    );
    assert!(
        in_erases >= cuts / 4 && in_recovery >= cuts / 8,
        "{in_erases} in erases, {in_recovery} in recovery"
    );
}

/// The journal goes on by a page a power-up, round its whole region if there are so many, and
/// nothing is lost.
pub fn round_the_region(chip: &'static Chip, power_ups: u32) {
    let mut board = EmulatedBoard::boot(chip, Firmware::Release, 13);
    board.begin(PLAN);
    let mut known = Known::default();
    for _ in 0..power_ups {
        for _ in 0..2 {
            let reply = board.request(&known.next());
            known.heard(&reply);
        }
        board.power_up();
        board.start();
        known.check(&mut board);
    }
    let erases = board.state().erases;
    let erased = |times: u64| erases.iter().filter(|count| **count >= times).count();
    assert!(erased(1) >= erases.len().min(power_ups as usize), "{erases:?}");
    // Round the region and on.
    assert!(power_ups < erases.len() as u32 || erased(2) >= 10, "{erases:?}");
}

/// A board with a trial, nine requests old.
pub fn begun(chip: &'static Chip, firmware: Firmware, seed: u32) -> (EmulatedBoard, Known) {
    let mut board = EmulatedBoard::boot(chip, firmware, seed);
    board.begin(PLAN);
    let mut known = Known::default();
    for _ in 0..9 {
        let reply = board.request(&known.next());
        known.heard(&reply);
    }
    (board, known)
}

/// The board has restarted for this cause and knows what it knew.
pub fn restarted(board: &mut EmulatedBoard, known: &Known, cause: &str) {
    board.expect_hello("running", &format!("restart={cause}"));
    known.check(board);
}

/// Causes of a reset, as the models number them (`tests/boards/emulation/cortex.py`).
const POWER: u64 = 0;
const PIN: u64 = 1;
const WATCHDOG: u64 = 2;
const SOFTWARE: u64 = 4;

/// A reset by software that no fault handler asked for, as a debugger makes it, is not a fault.
pub fn software_reset(chip: &'static Chip) {
    let (mut board, known) = begun(chip, Firmware::Release, 14);
    board.reset_by_software();
    restarted(&mut board, &known, "reset");
    assert_eq!(board.state().resets, [POWER, SOFTWARE]);
}

/// A panic, a fault and a stack overflow send nothing, reset the board and are reported as a fault,
/// once.
pub fn crashes(chip: &'static Chip) {
    for (drill, reset) in [("panic", SOFTWARE), ("fault", SOFTWARE), ("overflow", chip.overflow)] {
        let (mut board, known) = begun(chip, Firmware::Test, 10);
        board.send(format!("DRILL {drill}\n").as_bytes(), 0);
        assert_eq!(board.try_line(700_000).unwrap(), None, "nothing is sent");
        assert_eq!(board.state().resets, [POWER, reset], "{drill}");
        restarted(&mut board, &known, "fault");
        board.press_reset(0);
        restarted(&mut board, &known, "reset");
    }
}

/// A board that hangs is reset by the watchdog within `time` microseconds, also after the pin was
/// used; one that is idle is not.
pub fn hang(chip: &'static Chip, time: u64) {
    let (mut board, known) = begun(chip, Firmware::Test, 11);
    board.press_reset(0);
    board.run(time);
    assert_eq!(board.state().resets, [POWER, PIN], "an idle board feeds its watchdog");
    board.send(b"DRILL hang\n", 0);
    assert_eq!(board.try_line(time).unwrap(), None, "nothing is sent");
    assert_eq!(board.state().resets, [POWER, PIN, WATCHDOG]);
    restarted(&mut board, &known, "watchdog");
}
