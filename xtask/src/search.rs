//! Commands that search for faults longer than a test run may take: fuzzing, coverage of the
//! intervals, miri, mutation tests.

use crate::{cargo, run, say, tools};
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
    command.args(["test", "--quiet", "--test", "operating", "random", "--", "--nocapture"]);
    run(command.env("EQUIPOISE_SETTINGS", settings.to_string()))
}

/// The core's unit tests under miri, which finds undefined behaviour and wrong arithmetic in
/// `const`s.
pub fn miri() -> Result<(), String> {
    tools::miri()?;
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "miri", "test", "--lib", "--no-default-features"]);
    command.args(["--target-dir", "target/miri"]);
    // Too slow in an interpreter: laws of the samplers, whole flashes that are mounted, every split
    // of every request.
    let slow = ["noise::", "health::", "stops_the_mount", "another_request"];
    command.arg("--").args(slow.iter().flat_map(|test| ["--skip", test]));
    command.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
    run(&mut command)
}

/// What mutation tests change: the rooms of the core.
const MUTATED: [&str; 6] = [
    "src/codec.rs",
    "src/design/**/*.rs",
    "src/device/**/*.rs",
    "src/journal/**/*.rs",
    "src/trial/**/*.rs",
    "src/wire/**/*.rs",
];
/// Tests of the core that take a second; most changes fail one of them.
const QUICK_TESTS: [&str; 5] =
    ["--lib", "--test=device", "--test=golden_flash", "--test=golden_wire", "--test=trial"];
/// The others, which meet only the changes that the quick ones did not notice.
const THOROUGH_TESTS: [&str; 5] = [
    "--test=flash_images",
    "--test=fuzz",
    "--test=non_interference",
    "--test=power_cut",
    "--test=reference",
];

/// Changes the core in many small ways and prints the changes that no test notices. The settings,
/// and the excused changes with their reasons, are in `.cargo/mutants.toml`.
pub fn mutants(words: &[&str]) -> Result<(), String> {
    let files = match words {
        [] => &MUTATED[..],
        ["--file", file] if Path::new(file).exists() => &words[1..],
        ["--file", file] => return Err(format!("--file {file}: there is no such file")),
        other => return Err(format!("`{}`: allowed is --file FILE", other.join(" "))),
    };
    let program = tools::cargo_mutants()?;
    let pass = |options: &[&str], tests: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["mutants", "--no-shuffle", "--output", "target/mutants"]).args(options);
        command.args(files.iter().map(|file| format!("--file={file}")));
        command.args(tests.iter().map(|test| format!("--cargo-arg={test}")));
        // The laws of the samplers take long and are not changed.
        command.args(["--", "--", "--skip", "noise::"]);
        // The cargo that runs this would be found in the environment of the mutated builds.
        command.env("CARGO", cargo().get_program());
        let done = run(&mut command);
        let report = "target/mutants/mutants.out/missed.txt";
        let missed = fs::read_to_string(report).map_err(|error| format!("{report}: {error}"))?;
        if missed.is_empty() { done.map(|()| missed) } else { Ok(missed) }
    };
    let mut missed = pass(&[], &QUICK_TESTS)?;
    if !missed.is_empty() {
        missed = pass(&["--iterate"], &THOROUGH_TESTS)?;
    }
    if missed.is_empty() {
        say("every change was noticed");
        return Ok(());
    }
    println!("{missed}");
    Err(format!(
        "{} changes went unnoticed: add a test, or an excuse with its reason to .cargo/mutants.toml",
        missed.lines().count()
    ))
}
