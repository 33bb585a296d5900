//! `cargo xtask test` and `cargo xtask release-check`: the steps of each, with their seconds.

use crate::board::{BoardName, Build, Profile};
use crate::timed::Steps;
use crate::{cargo, dist, firmware, lint, run, setup, shown, tools};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The tests that plain `cargo test` leaves out, because they need more than a Rust toolchain.
pub const TESTED: &str =
    "equipoise/board-tests,equipoise-cli/terminal-tests,equipoise-cli/browser-tests";

/// The way a step uses the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// It computes all the time.
    Computes,
    /// It waits: for processes, for a browser, for moments of a clock.
    Waits,
}

/// Tests of the workspace, the longest ones first, by the words that choose them. Two steps run at
/// once: one that waits leaves a core to one that computes, and is given way to.
const TESTS: [(&str, Manner, &[&str]); 9] = [
    ("boards", Manner::Waits, &["--test", "boards"]),
    ("audit", Manner::Computes, &["--test", "audit"]),
    ("program", Manner::Waits, &["--test", "program"]),
    ("device", Manner::Computes, &["--test", "device"]),
    ("commands", Manner::Waits, &["--test", "commands"]),
    ("study", Manner::Computes, &["--test", "study"]),
    ("ward", Manner::Waits, &["--test", "ward"]),
    ("unit tests", Manner::Computes, &["--lib", "--bins"]),
    ("examples in documentation", Manner::Computes, &["--doc"]),
];

/// Shows behaviour: host tests, the firmware in emulation, terminal, page.
pub fn test() -> Result<(), String> {
    let steps = Steps::of("test");
    let compiler = steps.step("compiler", tools::compiler)?;
    // Tools are fetched, and images are linked one after the other, which leaves a core free.
    let images = || {
        steps.step("tools", setup)?;
        steps.step("images that ship", || firmware(&BoardName::ALL))?;
        steps.step("images for tests", || Images::make(&compiler))
    };
    let images =
        steps.both(images, || steps.step("tests built", || run(tests().arg("--no-run"))))?;
    let left = Mutex::new(TESTS.iter());
    let lane = || {
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some((name, manner, words)) = next() {
            let mut command = images.test();
            command.args(*words);
            steps.step(name, || run(&mut in_manner(*manner, command)))?;
        }
        Ok(())
    };
    steps.both(lane, lane)
}

/// The command, with less right to the processor if it computes all the time: clocks of tests that
/// wait go on meanwhile.
fn in_manner(manner: Manner, command: Command) -> Command {
    if manner == Manner::Waits {
        return command;
    }
    let mut nice = Command::new("nice");
    nice.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => nice.env(name, value),
            None => nice.env_remove(name),
        };
    }
    nice
}

/// Tests that have a long version, by their binaries. `cargo xtask test` runs the short one.
const LONG: [(&str, &[&str]); 7] = [
    ("audit", &["privacy::ledger_designs_lose_epsilon_and_no_more"]),
    (
        "boards",
        &[
            "nrf52833::blinded::kit_reply_times_do_not_depend_on_arms",
            "nrf52833::line::overrun_never_makes_another_request",
            "nrf52833::restarts::cut_erase_keeps_or_removes_the_trial",
            "nrf52833::restarts::cut_first_start_ends_blank",
            "nrf52833::restarts::journal_goes_round_its_region",
            "nrf52833::restarts::power_cuts_lose_nothing_answered",
            "nrf52833::trials::reply_behind_a_look_keeps_its_slot",
            "nrf52833::trials::reply_slots_do_not_depend_on_patients",
            "qemu::measures::instruction_counts_are_within_their_limits",
            "qemu::measures::reply_slots_do_not_depend_on_patients",
            "qemu::restarts::a_reset_at_any_moment_loses_nothing",
            "qemu::restarts::cut_erase_keeps_or_removes_the_trial",
            "qemu::restarts::cut_first_start_ends_blank",
            "qemu::restarts::random_power_cuts_lose_no_answer",
            "qemu::trials::the_deadlier_arm_gets_fewer_patients",
            "qemu::twin::board_and_host_agree_over_2000_patients",
            "rp2350::restarts::cut_erase_keeps_or_removes_the_trial",
            "rp2350::restarts::cut_first_start_ends_blank",
            "rp2350::restarts::power_cuts_lose_nothing_answered",
            "rp2350::trials::reply_behind_a_look_keeps_its_slot",
            "rp2350::trials::reply_slots_do_not_depend_on_patients",
        ],
    ),
    ("commands", &["documents::shown_commands_work"]),
    (
        "device",
        &[
            "kits::every_kit_comes_once",
            "non_interference::flash_work::flash_work_is_the_same_whoever_t_is",
        ],
    ),
    (
        "program",
        &[
            "qualify::emulated::the_emulated_pico_2_passes",
            "qualify::emulated::the_emulated_v2_passes",
        ],
    ),
    (
        "study",
        &[
            "boundaries::any_look_error_is_the_level",
            "operating::coverage_at_hard_settings",
            "operating::random_settings_keep_coverage",
            "planner::alpha::no_alpha_spares_many_more_patients",
            "ratios::ratios_hold_the_truth",
        ],
    ),
    (
        "ward",
        &[
            "reconcile::flipped_outcomes_of_an_arm_are_found",
            "reconcile::right_charts_alarm_at_the_level",
            "reconcile::unread_outcomes_are_no_difference",
        ],
    ),
];

/// Checks what a release needs beside the tests; with the `long` versions of tests.
pub fn release_check(long: bool) -> Result<(), String> {
    let steps = Steps::of("release-check");
    if long {
        let images = steps.step("images for tests", || Images::make(&tools::compiler()?))?;
        for (binary, names) in LONG {
            steps
                .step(&format!("long tests of {binary}"), || long_tests(&images, binary, names))?;
        }
    }
    steps.step("reproducible images", dist::reproduce)?;
    steps.step("Windows and macOS", lint::other_systems)?;
    steps.step("the device's package builds", || {
        let package = ["package", "--package", "equipoise", "--allow-dirty", "--locked"];
        run(cargo().args(package))
    })
}

/// Runs the long versions of these tests of a binary, all of which must be there.
fn long_tests(images: &Images, binary: &str, names: &[&str]) -> Result<(), String> {
    let mut list = images.test();
    list.args(["--test", binary, "--", "--list", "--exact"]).args(names);
    // Cargo says there that it waits for another one.
    list.stderr(Stdio::inherit());
    let listed =
        list.output().map_err(|error| format!("{} did not start: {error}", shown(&list)))?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    let is_there = |name: &&&str| listed.lines().any(|line| line == format!("{name}: test"));
    if let Some(missing) = names.iter().find(|name| !is_there(name)) {
        return Err(format!("{binary} has no test {missing}"));
    }
    let mut command = images.test();
    command.args(["--test", binary, "--", "--exact"]).args(names);
    run(command.env("EQUIPOISE_LONG", "1"))
}

/// `cargo test` of the workspace.
fn tests() -> Command {
    let mut command = cargo();
    command.args(["test", "--workspace", "--features", TESTED]);
    command
}

/// The builds that the firmware's tests run, and the tools they need, as variables.
pub struct Images(Vec<(&'static str, std::path::PathBuf)>);

impl Images {
    /// Builds them, those that are built already in no time.
    pub fn make(compiler: &tools::Compiler) -> Result<Self, String> {
        let mut named = Vec::new();
        for (board, profile, name) in [
            (BoardName::V1, Profile::Release, "EQUIPOISE_FIRMWARE"),
            (BoardName::V1, Profile::Logging, "EQUIPOISE_FIRMWARE_LOGGING"),
            (BoardName::V1, Profile::Test, "EQUIPOISE_FIRMWARE_TEST"),
            (BoardName::V2, Profile::Release, "EQUIPOISE_FIRMWARE_V2"),
            (BoardName::V2, Profile::Test, "EQUIPOISE_FIRMWARE_V2_TEST"),
            (BoardName::Pico2, Profile::Release, "EQUIPOISE_FIRMWARE_PICO2"),
            (BoardName::Pico2, Profile::Test, "EQUIPOISE_FIRMWARE_PICO2_TEST"),
        ] {
            named.push((name, absolute(&Build::make(compiler, board, profile)?.elf)?));
        }
        named.push(("EQUIPOISE_AXE", absolute(&tools::axe()?)?));
        named.push(("EQUIPOISE_PYTHON", absolute(&tools::python()?)?));
        Ok(Self(named))
    }

    /// `cargo test` of the workspace with them.
    pub fn test(&self) -> Command {
        let mut command = tests();
        command.envs(self.0.iter().map(|(name, path)| (name, path)));
        command
    }
}

fn absolute(path: &Path) -> Result<std::path::PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))
}
