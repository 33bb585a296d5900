//! `equipoise sample` hands out the draws of a device, the same for the same seed.
use crate::common::ward::PROGRAM;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use equipoise::chance::{Chance, DeviceSampler};
use equipoise::noise::{Laplace, Rate};

fn sample(arguments: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("sample").args(arguments.split_ascii_whitespace());
    command
}

/// Output of a command that must succeed.
fn printed(arguments: &str) -> String {
    let output = sample(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The draws are those of a device with this seed.
#[test]
fn draws_are_those_of_a_device() {
    let law = Laplace::new(Rate::new(3, 40).unwrap());
    let mut chance = DeviceSampler::seed_from_u64(5);
    let expected: String =
        (0..1000).map(|_| format!("{}\n", chance.discrete_laplace(&law))).collect();
    assert_eq!(printed("--law discrete-laplace --rate 3/40 --count 1000 --seed 5"), expected);
    let mut chance = DeviceSampler::seed_from_u64(5);
    let expected: String = (0..1000).map(|_| format!("{}\n", chance.lap_plus(7, &law))).collect();
    assert_eq!(printed("--law lap-plus --rate 3/40 --center 7 --count 1000 --seed 5"), expected);
}

#[test]
fn the_histogram_counts_the_same_draws() {
    let arguments = "--law lap-plus --rate 1/8 --center 2 --count 20000 --seed 6";
    let mut counts = BTreeMap::<i64, u64>::new();
    printed(arguments)
        .lines()
        .for_each(|line| *counts.entry(line.parse().unwrap()).or_default() += 1);
    let expected: String =
        counts.iter().map(|(value, count)| format!("{value} {count}\n")).collect();
    assert_eq!(printed(&format!("{arguments} --histogram")), expected);
}

/// A bad value is named with what is allowed, and the exit code is 2.
#[test]
fn bad_value_is_named_and_ends_in_2() {
    let good = [
        ("--law", "lap-plus"),
        ("--rate", "1/8"),
        ("--count", "1"),
        ("--seed", "1"),
        ("--center", "1"),
    ];
    let rates = "1/134217728..=16";
    let bad = [
        ("--law", "laplace", "discrete-laplace, lap-plus"),
        ("--rate", "0", rates),
        ("--rate", "16.5", rates),
        ("--rate", "33/2", rates),
        ("--rate", "1/134217729", rates),
        ("--rate", "1/0", rates),
        ("--rate", "-1/2", rates),
        ("--rate", "1/", rates),
        ("--count", "-1", "0..=18446744073709551615"),
        ("--count", "+1", "0..=18446744073709551615"),
        ("--seed", "x", "0..=18446744073709551615"),
        ("--center", "-1", "0..=4611686018427387904"),
        ("--center", "4611686018427387905", "0..=4611686018427387904"),
    ];
    for (key, value, allowed) in bad {
        let arguments =
            good.map(|(k, v)| format!("{k} {}", if k == key { value } else { v })).join(" ");
        let output = sample(&arguments).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(output.stdout.is_empty());
        for part in [key, value, allowed] {
            assert!(message.contains(part), "{arguments}: no {part} in {message}");
        }
    }
}

#[test]
fn a_centre_is_refused_where_the_law_has_none() {
    let output =
        sample("--law discrete-laplace --center 1 --rate 1/8 --count 1 --seed 1").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--center"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let arguments = "--law discrete-laplace --rate 1/8 --count 18446744073709551615 --seed 1";
    let mut child =
        sample(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
