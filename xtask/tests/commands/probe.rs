//! `cargo xtask flash | lock | verify | run` with a probe-rs that only writes down how it was
//! called, and without one.

use super::fake::{Fake, firmware};

/// No command names an erase but `flash --erase-trial`, which erases first: the calls are those of
/// the image's pages only.
#[test]
fn trial_is_erased_only_on_demand() {
    for (board, chip) in [("v1", "nRF51822_xxAA"), ("pico2", "RP235x")] {
        let fake = Fake::new();
        let elf = firmware(board);
        let download = format!("download --chip {chip} --verify {elf}");
        let reset = format!("reset --chip {chip}");
        let (good, calls) = fake.xtask(&["flash", "--board", board]);
        assert!(good && calls == [download.clone(), reset.clone()], "{calls:?}");
        let (good, calls) = fake.xtask(&["flash", "--board", board, "--erase-trial"]);
        assert!(good && calls == [format!("erase --chip {chip}"), download, reset], "{calls:?}");
        let (good, calls) = fake.xtask(&["verify", "--board", board]);
        assert!(good && calls == [format!("verify --chip {chip} {elf}")], "{calls:?}");
        let (good, calls) = fake.xtask(&["run", "--board", board]);
        assert!(good && calls == [format!("run --chip {chip} {elf}")], "{calls:?}");
        for command in ["verify", "run", "lock"] {
            let (good, calls) = fake.xtask(&[command, "--board", board, "--erase-trial"]);
            assert!(!good && calls.is_empty(), "{command}: {calls:?}");
        }
    }
}

/// A board is locked only if it is asked for twice, and a Pico 2 never.
#[test]
fn lock_is_asked_for_twice() {
    let fake = Fake::new();
    let (good, calls) = fake.xtask(&["lock", "--board", "v2"]);
    assert!(!good && calls.is_empty(), "nobody typed `lock`: {calls:?}");
    assert!(fake.said().contains("nothing was changed"));
    let (good, calls) = fake.xtask(&["lock", "--board", "v2", "--yes"]);
    assert!(good && calls.len() == 4 && calls[1].contains("0x10001208"), "{calls:?}");
    let (good, calls) = fake.xtask(&["lock", "--board", "pico2", "--yes"]);
    assert!(!good && calls.is_empty() && fake.said().contains("nothing to lock"), "{calls:?}");
}

/// A step that fails ends the command with an error: nothing behind it is done.
#[test]
fn failed_step_ends_the_command() {
    let fake = Fake::new();
    fake.fail_at("download");
    let (good, calls) = fake.xtask(&["flash", "--board", "v1"]);
    assert!(!good && calls.len() == 1, "{calls:?}");
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
