//! `cargo xtask`: the one entry for building the firmware and testing everything.
//!
//! ```text
//! cargo xtask setup                      get the compiler targets and QEMU, if they are missing
//! cargo xtask firmware [--board v1|v2]   build the firmware: ELF, Intel hex, UF2; print its sizes
//! cargo xtask qemu                       boot it under QEMU with its serial port on a pseudo-terminal
//! cargo xtask test                       formatting, lints, host tests, firmware under QEMU, terminal in tmux
//! cargo xtask lint                       formatting and lints alone
//! cargo xtask counts                     instructions of the main operations, as a Markdown table
//! cargo xtask sizes                      image, RAM and stack of both boards, as a Markdown table
//! ```
//!
//! Each command does what the ones before it would have done, and says what it is doing. A command that
//! cannot do its whole job fails; nothing is skipped. Standard library only, so that it compiles quickly.

mod board;
mod elf;
mod image;
mod tools;

use board::{Board, Build, Profile};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

const USAGE: &str =
    "usage: cargo xtask setup | firmware [--board v1|v2] | qemu | test | lint | counts | sizes";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["setup"] => setup(),
        ["firmware"] => firmware(&Board::ALL),
        ["firmware", "--board", name] => Board::named(name).and_then(|board| firmware(&[board])),
        ["qemu"] => qemu(),
        ["test"] => test(),
        ["lint"] => lint(),
        ["counts"] => counts(),
        ["sizes"] => sizes(),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Says what is being done.
fn say(what: &str) {
    eprintln!("xtask: {what}");
}

/// Runs a command to its end; an error names it.
fn run(command: &mut Command) -> Result<(), String> {
    let line = shown(command);
    say(&line);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}` ended with {status}")),
        Err(error) => Err(format!("`{line}` did not start: {error}")),
    }
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The cargo that runs this.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn setup() -> Result<(), String> {
    tools::compiler()?;
    tools::qemu()
}

fn firmware(boards: &[Board]) -> Result<(), String> {
    let compiler = tools::compiler()?;
    let mut rows = String::new();
    for &board in boards {
        let build = Build::make(&compiler, board, Profile::Release)?;
        build.write_images()?;
        rows += &build.sizes()?;
    }
    println!("\n{}{rows}", board::SIZES_HEAD);
    Ok(())
}

fn sizes() -> Result<(), String> {
    firmware(&Board::ALL)
}

fn qemu() -> Result<(), String> {
    tools::qemu()?;
    let build = Build::make(&tools::compiler()?, Board::V1, Profile::Release)?;
    say(
        "the line below names the pseudo-terminal PATH. Attach with `picocom PATH`, or, once it has a trial, with",
    );
    say(
        "`equipoise terminal --port PATH --trial FILE`; `equipoise provision FILE --port PATH --key-file KEY` begins one.",
    );
    say("The emulated flash lives as long as QEMU does. Ctrl-C ends it.");
    run(Command::new("qemu-system-arm")
        .args(["-M", "microbit", "-display", "none", "-monitor", "none", "-serial", "pty", "-kernel"])
        .arg(&build.elf))
}

fn test() -> Result<(), String> {
    setup()?;
    tools::terminal()?;
    lint()?;
    firmware(&Board::ALL)?;
    run(&mut all_tests(&tools::compiler()?)?)
}

fn lint() -> Result<(), String> {
    tools::lints()?;
    run(cargo().args(["fmt", "--check"]))?;
    run(cargo().args(["clippy", "--all-targets", "--features", TESTED, "--", "-D", "warnings"]))
}

/// What plain `cargo test` leaves out, because it needs more than a Rust toolchain.
const TESTED: &str = "qemu-tests,terminal-tests";

/// `cargo test` of everything, with the three builds that the firmware's tests run.
fn all_tests(compiler: &tools::Compiler) -> Result<Command, String> {
    let release = Build::make(compiler, Board::V1, Profile::Release)?;
    let logging = Build::make(compiler, Board::V1, Profile::Logging)?;
    let drill = Build::make(compiler, Board::V1, Profile::Test)?;
    let mut command = cargo();
    command.args(["test", "--features", TESTED]);
    command.env("EQUIPOISE_FIRMWARE", absolute(&release.elf)?);
    command.env("EQUIPOISE_FIRMWARE_TEST", absolute(&drill.elf)?);
    command.env("EQUIPOISE_FIRMWARE_LOGGING", absolute(&logging.elf)?);
    Ok(command)
}

fn absolute(path: &Path) -> Result<std::path::PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The counts are made by a test, which prints them between other lines.
fn counts() -> Result<(), String> {
    tools::qemu()?;
    let mut command = all_tests(&tools::compiler()?)?;
    command.args(["--test", "qemu", "--", "--nocapture", "instruction_counts"]).stderr(Stdio::inherit());
    let line = shown(&command);
    let output = command.output().map_err(|error| format!("`{line}` did not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    if !output.status.success() || table.is_empty() {
        return Err(format!("`{line}` ended with {}:\n{text}", output.status));
    }
    println!("{}", table.join("\n"));
    Ok(())
}
