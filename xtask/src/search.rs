//! Commands that search for faults longer than a test run may take: fuzzing, coverage of the
//! intervals, miri, mutation tests.

use crate::{cargo, run, say, shown, tools};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The fuzz targets, each with its dictionary.
const TARGETS: [(&str, Option<&str>); 4] = [
    ("device", Some("fuzz/wire.dict")),
    ("journal", None),
    ("wire", Some("fuzz/wire.dict")),
    ("trial_file", None),
];
/// Seconds for each target.
const FUZZ_SECONDS: u32 = 60;
/// Settings of a search for the worst coverage.
const COVERAGE_SETTINGS: u32 = 300;
/// Longest input; a dialogue of forty requests.
const FUZZ_BYTES: u32 = 2048;

/// Runs every target for some seconds, from the committed seeds and what earlier runs found.
///
/// Without a sanitizer: the fuzzed code has no `unsafe`, and a stable compiler will do.
pub fn fuzz(words: &[&str]) -> Result<(), String> {
    let seconds = match words {
        [] => FUZZ_SECONDS,
        ["--seconds", number] => {
            number.parse().map_err(|_| format!("--seconds {number}: not a number"))?
        }
        other => return Err(format!("`{}`: allowed is --seconds NUMBER", other.join(" "))),
    };
    let program = tools::cargo_fuzz()?;
    for (target, dictionary) in TARGETS {
        let corpus = format!("target/fuzz/corpus/{target}");
        fs::create_dir_all(&corpus).map_err(|error| format!("{corpus}: {error}"))?;
        let mut command = Command::new(&program);
        command.args(["fuzz", "run", "--sanitizer", "none", "--target-dir", "target/fuzz", target]);
        command.args([corpus, format!("fuzz/seeds/{target}")]);
        command.arg("--").arg(format!("-max_total_time={seconds}"));
        command.arg(format!("-max_len={FUZZ_BYTES}"));
        command.args(dictionary.map(|file| format!("-dict={file}")));
        run(&mut command)?;
    }
    Ok(())
}

/// Simulates random settings and prints those with the worst coverage; an error if it is too low.
pub fn coverage(words: &[&str]) -> Result<(), String> {
    let settings = match words {
        [] => COVERAGE_SETTINGS,
        ["--settings", number] => match number.parse() {
            Ok(settings @ 1..) => settings,
            _ => return Err(format!("--settings {number}: not a number from 1 up")),
        },
        other => return Err(format!("`{}`: allowed is --settings NUMBER", other.join(" "))),
    };
    let mut command = cargo();
    command.args(["test", "--quiet", "--test", "study", "operating::random", "--", "--nocapture"]);
    run(command.env("EQUIPOISE_SETTINGS", settings.to_string()))
}

/// The core's unit tests under miri, which finds undefined behaviour and wrong arithmetic in
/// `const`s.
pub fn miri() -> Result<(), String> {
    tools::miri()?;
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "miri", "test", "--package", "equipoise", "--lib"]);
    // The assembly that libm has for square roots cannot be interpreted.
    command.args(["--features", "libm/force-soft-floats", "--target-dir", "target/miri"]);
    // Too slow in an interpreter: a million samples, millions of products, whole flashes that are
    // mounted, every split of every request, the numbers of thousands of kits.
    let slow = ["health::", "soft_float::", "stops_the_mount", "another_request", "pieces_whole"];
    command.arg("--").args(slow.iter().flat_map(|test| ["--skip", test]));
    command.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
    run(&mut command)
}

/// A part of the core that is mutated and tested on its own.
struct Room {
    name: &'static str,
    files: &'static [&'static str],
    /// Modules of `tests/device` with tests of a second or two, unoptimized, that notice most
    /// changes in it.
    tests: &'static [&'static str],
}

impl Room {
    fn holds(&self, file: &str) -> bool {
        self.files.iter().any(|files| file.starts_with(files.trim_end_matches("**/*.rs")))
    }
}

const ROOMS: [Room; 5] = [
    Room {
        name: "design",
        files: &["src/design/**/*.rs"],
        tests: &["requests::", "golden_flash::", "paper::", "reference::", "trial::"],
    },
    Room {
        name: "device",
        files: &["src/device/**/*.rs"],
        tests: &["blinded::", "requests::", "golden_flash::", "golden_wire::"],
    },
    Room {
        name: "journal",
        files: &["src/journal/**/*.rs"],
        tests: &["journal::", "flash_images::"],
    },
    Room {
        name: "trial",
        files: &["src/trial/**/*.rs"],
        tests: &["blinded::", "requests::", "golden_flash::", "reference::", "trial::"],
    },
    Room {
        name: "wire",
        files: &["src/wire/**/*.rs", "src/codec.rs"],
        tests: &["requests::", "golden_wire::", "main_loop::"],
    },
];
/// Parts of the names of those tests that take more than a second.
const SLOW: [&str; 10] = [
    "blocks_equal",
    "early_close",
    "every_part_that",
    "flash_work_does",
    "graded_outcomes",
    "no_image_makes",
    "one_flipped_bit",
    "peeking",
    "table_of",
    "two_bits_never",
];
/// Random trials of a quick test.
const QUICK_TRIALS: &str = "400";

/// Changes the core in many small ways and prints the changes that no test notices. The settings,
/// and the excused changes with their reasons, are in `.cargo/mutants.toml`.
pub fn mutants(words: &[&str]) -> Result<(), String> {
    let known = |name: &str| ROOMS.iter().any(|room| room.name == name);
    match words {
        [] => {}
        ["--file", file] if !Path::new(file).is_file() => {
            return Err(format!("--file {file}: there is no such file"));
        }
        ["--file", file] if !ROOMS.iter().any(|room| room.holds(file)) => {
            let files = ROOMS.map(|room| room.files.join(", ")).join(", ");
            return Err(format!("--file {file}: allowed is a file of {files}"));
        }
        ["--file", _] => {}
        ["--room", name] if known(name) => {}
        ["--room", name] => {
            let names = ROOMS.map(|room| room.name).join(", ");
            return Err(format!("--room {name}: allowed is one of {names}"));
        }
        other => {
            let words = other.join(" ");
            return Err(format!("`{words}`: allowed is --room NAME or --file FILE"));
        }
    }
    let program = tools::cargo_mutants()?;
    let mut unnoticed = String::new();
    for room in ROOMS {
        let files = match words {
            [] => room.files,
            ["--room", name] if *name == room.name => room.files,
            ["--file", file] if room.holds(file) => &words[1..],
            _ => continue,
        };
        let profile = vec!["--profile=mutants".to_owned()];
        let quick = Pass { options: profile, filters: room.tests, skipped: &SLOW };
        let mut missed = quick.run(&program, room.name, files)?;
        if !missed.is_empty() {
            let options = missed.lines().map(|change| format!("--re=^{}$", escaped(change)));
            let options = options.collect();
            // All tests of the core, on the changes that the quick ones did not notice.
            let thorough = Pass { options, filters: &[], skipped: &[] };
            missed = thorough.run(&program, room.name, files)?;
        }
        unnoticed += &missed;
    }
    if unnoticed.is_empty() {
        say("every change was noticed");
        return Ok(());
    }
    println!("{unnoticed}");
    Err(format!(
        "{} changes went unnoticed: add a test, or an excuse with its reason to .cargo/mutants.toml",
        unnoticed.lines().count()
    ))
}

/// A regular expression that matches this text alone.
fn escaped(text: &str) -> String {
    let mut expression = String::new();
    for character in text.chars() {
        if "\\.+*?()|[]{}^$".contains(character) {
            expression.push('\\');
        }
        expression.push(character);
    }
    expression
}

/// One run of cargo-mutants.
struct Pass<'a> {
    options: Vec<String>,
    /// Names of the tests that run; all if there is none.
    filters: &'a [&'a str],
    skipped: &'a [&'a str],
}

impl Pass<'_> {
    /// The changes that no test noticed, a line each. One that makes a test hang was noticed.
    fn run(&self, program: &Path, room: &str, files: &[&str]) -> Result<String, String> {
        let output = format!("target/mutants/{room}");
        fs::create_dir_all(&output).map_err(|error| format!("{output}: {error}"))?;
        let mut command = Command::new(program);
        command.args(["mutants", "--no-shuffle", "--jobs=2", "--output", &output]);
        command.args(&self.options);
        command.args(files.iter().map(|file| format!("--file={file}")));
        command.args(["--package=equipoise", "--cargo-arg=--lib", "--cargo-arg=--test=device"]);
        // The laws of the samplers and the boards take long and are not changed.
        let skipped = ["noise::", "board::"].iter().chain(self.skipped);
        command
            .args(["--", "--"])
            .args(self.filters)
            .args(skipped.flat_map(|test| ["--skip", test]));
        // The cargo that runs this would be found in the environment of the mutated builds.
        command.env("CARGO", cargo().get_program());
        if !self.skipped.is_empty() {
            command.env("EQUIPOISE_TRIALS", QUICK_TRIALS);
        }
        say(&shown(&command));
        let status = command.status().map_err(|error| format!("cargo mutants: {error}"))?;
        if !matches!(status.code(), Some(0 | MISSED | TIMED_OUT)) {
            return Err(format!("cargo mutants: {status}"));
        }
        let report = format!("{output}/mutants.out/missed.txt");
        fs::read_to_string(&report).map_err(|error| format!("{report}: {error}"))
    }
}

/// Exit codes of cargo-mutants: a change was not noticed, or made a test hang.
const MISSED: i32 = 2;
const TIMED_OUT: i32 = 3;
