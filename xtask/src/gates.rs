//! `cargo xtask test` and `cargo xtask release-check`: the steps of each, with their seconds.

use crate::board::{Board, Build, Profile};
use crate::{cargo, dist, firmware, lint, run, say, setup, tools};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The tests that plain `cargo test` leaves out, because they need more than a Rust toolchain.
pub const TESTED: &str =
    "equipoise/board-tests,equipoise-cli/terminal-tests,equipoise-cli/browser-tests";
/// Test binaries of the workspace, each a step, the longest ones first.
const BINARIES: [&str; 7] = ["device", "audit", "study", "boards", "program", "ward", "commands"];

/// Steps that were done, with their seconds. The table is printed at the end, also of a failure.
struct Steps {
    command: &'static str,
    done: Vec<(String, f64)>,
    start: Instant,
}

impl Steps {
    fn of(command: &'static str) -> Self {
        Self { command, done: Vec::new(), start: Instant::now() }
    }

    /// Does a step and notes its time.
    fn step<T>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        say(&format!("== {name}"));
        let start = Instant::now();
        let result = work();
        let name = if result.is_ok() { name.to_owned() } else { format!("{name} (failed)") };
        self.done.push((name, start.elapsed().as_secs_f64()));
        result
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        println!("\n| step of `cargo xtask {}` | seconds |\n|---|---|", self.command);
        for (name, seconds) in &self.done {
            println!("| {name} | {seconds:.0} |");
        }
        println!("| all | {:.0} |", self.start.elapsed().as_secs_f64());
    }
}

/// Shows behaviour: host tests, the firmware in emulation, terminal, page.
pub fn test() -> Result<(), String> {
    let mut steps = Steps::of("test");
    steps.step("tools", setup)?;
    let compiler = tools::compiler()?;
    steps.step("images that ship", || firmware(&Board::ALL))?;
    let images = steps.step("images for tests", || Images::make(&compiler))?;
    steps.step("tests built", || run(images.test().arg("--no-run")))?;
    for binary in BINARIES {
        steps.step(binary, || run(images.test().args(["--test", binary])))?;
    }
    steps.step("unit tests", || run(images.test().args(["--lib", "--bins"])))?;
    steps.step("examples in documentation", || run(images.test().arg("--doc")))
}

/// Checks what a release needs beside the tests.
pub fn release_check() -> Result<(), String> {
    let mut steps = Steps::of("release-check");
    steps.step("reproducible images", dist::reproduce)?;
    steps.step("Windows and macOS", lint::other_systems)?;
    steps.step("the device's package builds", || {
        let package = ["package", "--package", "equipoise", "--allow-dirty", "--locked"];
        run(cargo().args(package))
    })
}

/// The builds that the firmware's tests run, and the tools they need, as variables.
pub struct Images(Vec<(&'static str, std::path::PathBuf)>);

impl Images {
    /// Builds them, those that are built already in no time.
    pub fn make(compiler: &tools::Compiler) -> Result<Self, String> {
        let mut named = Vec::new();
        for (board, profile, name) in [
            (Board::V1, Profile::Release, "EQUIPOISE_FIRMWARE"),
            (Board::V1, Profile::Logging, "EQUIPOISE_FIRMWARE_LOGGING"),
            (Board::V1, Profile::Test, "EQUIPOISE_FIRMWARE_TEST"),
            (Board::V2, Profile::Release, "EQUIPOISE_FIRMWARE_V2"),
            (Board::V2, Profile::Test, "EQUIPOISE_FIRMWARE_V2_TEST"),
            (Board::Pico2, Profile::Release, "EQUIPOISE_FIRMWARE_PICO2"),
            (Board::Pico2, Profile::Test, "EQUIPOISE_FIRMWARE_PICO2_TEST"),
        ] {
            named.push((name, absolute(&Build::make(compiler, board, profile)?.elf)?));
        }
        named.push(("EQUIPOISE_AXE", absolute(&tools::axe()?)?));
        named.push(("EQUIPOISE_PYTHON", absolute(&tools::python()?)?));
        Ok(Self(named))
    }

    /// `cargo test` of the workspace with them.
    pub fn test(&self) -> Command {
        let mut command = cargo();
        command.args(["test", "--workspace", "--features", TESTED]);
        command.envs(self.0.iter().map(|(name, path)| (name, path)));
        command
    }
}

fn absolute(path: &Path) -> Result<std::path::PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))
}
