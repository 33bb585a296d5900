//! `cargo xtask`: builds the firmware and runs every gate. `cargo xtask --help` lists the commands.
//!
//! Each command first installs the tools it needs, says what it runs, and fails if it cannot do all
//! of its work: nothing is skipped. The crate is small and does not depend on the product, so that
//! it compiles in seconds.

mod board;
mod dist;
mod gates;
mod lint;
mod packages;
mod page;
mod probe;
mod sbom;
mod search;
mod security;
mod sign;
mod slurm;
mod soup;
mod timed;
mod tools;
mod windows;

use board::{BoardName, Build, Profile};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use timed::run;
use xtask::{elf, fpu, image, qemu, trace};

/// A command: its name, its options, what it does, and the function that does it.
struct Task {
    name: &'static str,
    options: &'static str,
    help: &'static str,
    run: fn(&[&str]) -> Result<(), String>,
}

const TASKS: [Task; 20] = [
    Task {
        name: "setup",
        options: "",
        help: "install compiler targets, QEMU, the Unicorn engine, tmux, Chromium and minisign",
        run: |words| no_options(words).and_then(|()| setup()),
    },
    Task {
        name: "firmware",
        options: "[--board v1|v2|pico2]",
        help: "build the firmware (ELF, Intel hex, UF2) and print its sizes and memory map",
        run: |words| match words {
            [] => firmware(&BoardName::ALL),
            ["--board", name] => firmware(&[BoardName::named(name)?]),
            other => Err(format!(
                "`{}`: allowed is --board and one of {}",
                other.join(" "),
                BoardName::NAMES
            )),
        },
    },
    Task {
        name: "qemu",
        options: "",
        help: "boot the v1's firmware under QEMU with its serial port on a pseudo-terminal",
        run: |words| no_options(words).and_then(|()| emulate()),
    },
    Task {
        name: "flash",
        options: "--board v1|v2|pico2 [--erase-trial]",
        help: "write the firmware to a board, by probe-rs or to its drive; a running trial is kept",
        run: probe::flash,
    },
    Task {
        name: "lock",
        options: "--board v1|v2|pico2 [--yes]",
        help: "close the debug port of a board, before its key is set (probe-rs)",
        run: probe::lock,
    },
    Task {
        name: "verify",
        options: "--board v1|v2|pico2",
        help: "compare the flash of a board with the image of this tree (probe-rs)",
        run: probe::verify,
    },
    Task {
        name: "run",
        options: "--board v1|v2|pico2",
        help: "write the firmware, start it and show its log (probe-rs)",
        run: probe::start,
    },
    Task {
        name: "test",
        options: "[--windows|--packages|--slurm]",
        help: "all tests, with seconds a step; --windows: wine; --packages: what dist makes; --slurm: arrays",
        run: |words| match words {
            [] => gates::test(),
            ["--windows"] => windows::test(),
            ["--slurm"] => slurm::test(),
            ["--packages"] => packages::test(),
            other => {
                Err(format!("`{}`: allowed is --windows, --packages or --slurm", other.join(" ")))
            }
        },
    },
    Task {
        name: "lint",
        options: "",
        help: "gates without tests: format, spelling, clippy of every build, docs, oldest Rust",
        run: |words| no_options(words).and_then(|()| lint::lint()),
    },
    Task {
        name: "release-check",
        options: "[--long]",
        help: "images built twice and compared, Windows and macOS, the package; --long: long tests",
        run: |words| match words {
            [] => gates::release_check(false),
            ["--long"] => gates::release_check(true),
            other => Err(format!("`{}`: allowed is --long", other.join(" "))),
        },
    },
    Task {
        name: "columns",
        options: "[--fix]",
        help: "comments longer than 100 columns; --fix wraps them (nightly rustfmt)",
        run: |words| match words {
            [] => lint::columns(),
            ["--fix"] => lint::wrap_comments(),
            other => Err(format!("`{}`: allowed is --fix", other.join(" "))),
        },
    },
    Task {
        name: "fuzz",
        options: "[--seconds NUMBER]",
        help: "run every fuzz target, 60 seconds each by default",
        run: search::fuzz,
    },
    Task {
        name: "coverage",
        options: "[--settings NUMBER]",
        help: "search random settings, 300 by default, for the worst coverage of the intervals",
        run: search::coverage,
    },
    Task {
        name: "miri",
        options: "",
        help: "the core's unit tests under miri (nightly Rust)",
        run: |words| no_options(words).and_then(|()| search::miri()),
    },
    Task {
        name: "mutants",
        options: "[--room NAME|--file FILE]",
        help: "change design, device, journal, trial and wire; print changes no test notices (hours)",
        run: search::mutants,
    },
    Task {
        name: "reproduce",
        options: "",
        help: "build the images again from a copy of the sources elsewhere; they must be the same",
        run: |words| no_options(words).and_then(|()| dist::reproduce()),
    },
    Task {
        name: "dist",
        options: "--key FILE|--unsigned",
        help: "release files in target/dist: programs, images, SOUP list, SBOM, SHA256SUMS, signature",
        run: dist::dist,
    },
    Task {
        name: "trace",
        options: "",
        help: "the matrix of docs/requirements.md and the tests that show each sentence",
        run: |words| {
            no_options(words)?;
            print!("{}", trace::Trace::read(Path::new("."))?.matrix());
            Ok(())
        },
    },
    Task {
        name: "counts",
        options: "",
        help: "instructions of the main operations, as a Markdown table",
        run: |words| no_options(words).and_then(|()| counts()),
    },
    Task {
        name: "sizes",
        options: "",
        help: "image, RAM and stack of every board, as a Markdown table, and its memory map",
        run: |words| no_options(words).and_then(|()| firmware(&BoardName::ALL)),
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [] | ["help" | "--help" | "-h", ..] => {
            print!("{}", usage());
            Ok(())
        }
        [name, options @ ..] => match TASKS.iter().find(|task| task.name == *name) {
            Some(task) if matches!(options, ["--help" | "-h"]) => {
                println!(
                    "cargo xtask {} {}\n    {}\n    --help: this text",
                    task.name, task.options, task.help
                );
                Ok(())
            }
            Some(task) => enter_root().and_then(|()| (task.run)(options)),
            None => Err(format!("there is no command `{name}`\n{}", usage())),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Every command with its options and its purpose.
fn usage() -> String {
    let mut text = String::from("usage: cargo xtask COMMAND\n\n");
    for task in &TASKS {
        let call = format!("{} {}", task.name, task.options);
        text += &format!("    {call:41} {}\n", task.help);
    }
    text
}

fn no_options(words: &[&str]) -> Result<(), String> {
    if words.is_empty() {
        Ok(())
    } else {
        Err(format!("`{}`: no options are allowed", words.join(" ")))
    }
}

/// Paths are relative to the workspace, from whichever directory the command was called.
fn enter_root() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    std::env::set_current_dir(root).map_err(|error| format!("{}: {error}", root.display()))
}

/// Says what is being done.
fn say(what: &str) {
    eprintln!("xtask: {what}");
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
    tools::qemu()?;
    tools::terminal()?;
    tools::browser()?;
    tools::axe()?;
    sign::minisign()?;
    tools::python().map(drop)
}

fn firmware(boards: &[BoardName]) -> Result<(), String> {
    let compiler = tools::compiler()?;
    let (mut rows, mut maps) = (String::new(), String::new());
    for &board in boards {
        let build = Build::make(&compiler, board, Profile::Release)?;
        build.write_images()?;
        build.check_journal()?;
        build.check_arithmetic()?;
        rows += &build.sizes()?;
        maps += &build.map()?;
    }
    println!("\n{}{rows}{maps}", board::SIZES_HEAD);
    Ok(())
}

fn emulate() -> Result<(), String> {
    tools::qemu()?;
    let build = Build::make(&tools::compiler()?, BoardName::V1, Profile::Release)?;
    say("the line below names the pseudo-terminal PATH. Attach with");
    say("    picocom -b 115200 --echo --omap crlf PATH        (say HELLO first)");
    say("    equipoise provision TRIAL --port PATH --key-file KEY");
    say("    equipoise terminal --port PATH --trial TRIAL");
    say("The emulated flash lives as long as QEMU does. Ctrl-C ends it.");
    run(qemu::machine(&build.elf).args(["-serial", "pty"]))
}

/// The counts are made by a test, which prints them between other lines.
fn counts() -> Result<(), String> {
    tools::qemu()?;
    let mut command = gates::Images::make(&tools::compiler()?)?.test();
    command
        .args(["--test", "boards", "--", "--nocapture"])
        .args(["instruction_counts", "ready_kit", "back_to_back"])
        .env("EQUIPOISE_LONG", "1")
        .stderr(Stdio::inherit());
    let line = shown(&command);
    let output = command.output().map_err(|error| format!("`{line}` did not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    // Several tests print at once, so the head of the table may come late.
    table.sort_by_key(|line| !line.starts_with("| operation") && !line.starts_with("|---"));
    if !output.status.success() || table.is_empty() {
        return Err(format!("`{line}` ended with {}:\n{text}", output.status));
    }
    println!("{}", table.join("\n"));
    Ok(())
}
