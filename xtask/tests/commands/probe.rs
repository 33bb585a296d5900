//! `cargo xtask flash | lock | verify | run` with a probe-rs that only writes down how it was
//! called, and without one.

use super::fake::{Fake, firmware};

/// No command names an erase but `flash --erase-trial`, which erases first: the calls are those of
/// the image's pages only, behind one that finds out whether the board is locked.
#[test]
fn trial_is_erased_only_on_demand() {
    for (board, chip) in [("v1", "nRF51822_xxAA"), ("pico2", "RP235x")] {
        let fake = Fake::new();
        let elf = firmware(board);
        let (asked, permission) = match board {
            "v1" => (vec![format!("read --chip {chip} b32 0x0 1")], " --allow-erase-all"),
            _ => (Vec::new(), ""),
        };
        let behind = |calls: &[String]| [asked.clone(), calls.to_vec()].concat();
        let download = format!("download --chip {chip} --verify {elf}");
        let reset = format!("reset --chip {chip}");
        let (good, calls) = fake.xtask(&["flash", "--board", board]);
        assert!(good && calls == behind(&[download, reset.clone()]), "{calls:?}");
        let (good, calls) = fake.xtask(&["flash", "--board", board, "--erase-trial"]);
        let erase = format!("erase --chip {chip}{permission}");
        let download = format!("download --chip {chip}{permission} --verify {elf}");
        assert!(good && calls == [erase, download, reset], "{calls:?}");
        let (good, calls) = fake.xtask(&["verify", "--board", board]);
        assert!(good && calls == behind(&[format!("verify --chip {chip} {elf}")]), "{calls:?}");
        let (good, calls) = fake.xtask(&["run", "--board", board]);
        assert!(good && calls == behind(&[format!("run --chip {chip} {elf}")]), "{calls:?}");
        for command in ["verify", "run", "lock"] {
            let (good, calls) = fake.xtask(&[command, "--board", board, "--erase-trial"]);
            assert!(!good && calls.is_empty(), "{command}: {calls:?}");
        }
    }
}

/// A locked board is refused before anything is built or changed, with a way out; only
/// `flash --erase-trial` goes on, with the permission to erase everything.
#[test]
fn locked_board_is_refused_before_the_build() {
    let fake = Fake::new();
    for (board, chip) in [("v2", "nRF52833_xxAA"), ("v1", "nRF51822_xxAA")] {
        // The nRF52 refuses by probe-rs's message, the nRF51 shows zeros.
        match board {
            "v2" => fake.lock(),
            _ => fake.first_word("00000000"),
        }
        for (command, way_out) in [
            ("flash", "finish the trial first"),
            ("run", "finish the trial first"),
            ("verify", "`equipoise status` shows the hash"),
            ("lock", "need not be locked again"),
        ] {
            let (good, calls) = fake.xtask(&[command, "--board", board]);
            assert!(!good && calls == [format!("read --chip {chip} b32 0x0 1")], "{calls:?}");
            let said = fake.said();
            assert!(said.contains("the board is locked") && said.contains(way_out), "{said}");
            assert!(
                said.contains("Nothing was changed") && !said.contains("cargo build"),
                "{said}"
            );
        }
    }
    fake.lock();
    let (good, calls) = fake.xtask(&["flash", "--board", "v2", "--erase-trial"]);
    // A newer chip locks itself when it starts. It is not given another permission to be erased.
    assert!(good && calls.len() == 3 && calls[2] == "reset --chip nRF52833_xxAA", "{calls:?}");
    assert!(fake.said().contains("the chip has locked itself"), "{}", fake.said());
    let fake = Fake::new();
    fake.fail_at("reset");
    let (good, _) = fake.xtask(&["flash", "--board", "pico2"]);
    assert!(!good, "{}", fake.said());
}

/// A probe that is not connected is named by probe-rs, before anything is built.
#[test]
fn failed_look_at_the_port_is_shown() {
    let fake = Fake::new();
    fake.fail_at("read");
    let (good, calls) = fake.xtask(&["verify", "--board", "v2"]);
    assert!(!good && calls.len() == 1, "{calls:?}");
    let said = fake.said();
    assert!(said.contains("`probe-rs read") && !said.contains("cargo build"), "{said}");
}

/// A board is locked only if it is asked for twice, and a Pico 2 never.
#[test]
fn lock_is_asked_for_twice() {
    let fake = Fake::new();
    let (good, calls) = fake.xtask(&["lock", "--board", "v2"]);
    assert!(!good && calls.len() == 1, "nobody typed `lock`: {calls:?}");
    assert!(fake.said().contains("nothing was changed"));
    let (good, calls) = fake.xtask(&["lock", "--board", "v2", "--yes"]);
    assert!(good && calls.len() == 5 && calls[2].contains("0x10001208"), "{calls:?}");
    let (good, calls) = fake.xtask(&["lock", "--board", "pico2", "--yes"]);
    assert!(!good && calls.is_empty() && fake.said().contains("nothing to lock"), "{calls:?}");
}

/// A step that fails ends the command with an error: nothing behind it is done.
#[test]
fn failed_step_ends_the_command() {
    let fake = Fake::new();
    fake.fail_at("download");
    let (good, calls) = fake.xtask(&["flash", "--board", "v1"]);
    assert!(!good && calls.len() == 2, "{calls:?}");
    assert!(fake.said().contains("`probe-rs download"), "{}", fake.said());
    fake.fail_at("verify");
    let (good, _) = fake.xtask(&["verify", "--board", "v1"]);
    assert!(!good && !fake.said().contains("holds the image of this tree"), "{}", fake.said());
}

/// Without probe-rs every command says so, and where to get it, before it builds anything.
#[test]
fn missing_probe_is_named() {
    let fake = Fake::missing();
    for command in ["flash", "lock", "verify", "run"] {
        let (good, calls) = fake.xtask(&[command, "--board", "v2"]);
        assert!(!good && calls.is_empty(), "{command}");
        let said = fake.said();
        assert!(
            said.contains("probe-rs is missing") && said.contains("https://probe.rs"),
            "{said}"
        );
        assert!(!said.contains("cargo build"), "{said}");
    }
}
