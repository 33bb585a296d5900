//! A trial whose outcome is death, from its trial file to its report: the device must favour the
//! arm with fewer deaths, whichever way round the question is asked.

use equipoise::testkit::order;
use equipoise::wire::{FileDigest, Reply, Request, checksum};
use equipoise_ward::records::trial_file::{EXAMPLE, TrialFile};
use equipoise_ward::virtual_board::{Flash, PAGES, VirtualBoard};

const KEY: [u8; 32] = [0x5A; 32];
const PATIENTS: u32 = 400;
const SEEDS: u32 = 20;

/// Numbers below `sides`, for outcomes.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) * sides) >> 31
    }
}

/// The example with this question about one kind of patient, and which answer is the better one.
fn trial(question: &str, better: &str) -> TrialFile {
    let mut text = EXAMPLE.to_owned();
    for (from, to) in [
        ("patients = 4000", "patients = 400"),
        ("epsilon = 1 ", "epsilon = 2 "),
        ("Walks unaided on day 14?", question),
        ("better = \"high\"", better),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    let line = text.lines().find(|line| line.starts_with("features = ")).unwrap().to_owned();
    TrialFile::parse("t", &text.replace(&line, "features = [\"all\"]")).unwrap()
}

/// The share of the second half that got the deadlier arm, and the reported effect on the outcome
/// of the deadlier arm minus the other.
fn played(trial: &TrialFile, seed: u32, death: u32) -> (f64, f64) {
    let mut board: VirtualBoard = VirtualBoard::seeded(Flash::in_memory(PAGES), seed.into());
    let mut dice = Dice(seed.into());
    assert!(board.ask(&Request::Key(KEY).to_string()).starts_with("OK"));
    let plan = Request::Plan { plan: trial.plan, file: FileDigest(trial.digest()) };
    let planned = order(KEY, &plan.to_string(), |line| board.ask(line));
    assert!(planned.starts_with("OK trial="), "{planned}");
    let deadlier = seed % 2;
    let mut second_half = 0;
    for k in 1..=PATIENTS {
        let arm = board.ask(&format!("ASSIGN {k} 0 {k:08x}"));
        let arm: u32 = arm.split(['*', ' ']).nth(2).unwrap().parse().unwrap();
        let dies = dice.roll(10) < if arm == deadlier { 4 } else { 2 };
        let y = if dies { death } else { 1 - death };
        assert!(board.ask(&format!("OUTCOME {k} {y}")).starts_with("OK"));
        second_half += u32::from(arm == deadlier && k > PATIENTS / 2);
    }
    assert!(order(KEY, "CLOSE", |line| board.ask(line)).starts_with("OK"));
    let report = order(KEY, "REPORT", |line| board.ask(line));
    let line = report.lines().next().unwrap().split('*').next().unwrap().to_owned();
    let sealed = format!("{line}*{:04X}", checksum(line.as_bytes()));
    let Ok(Reply::Row(row)) = Reply::parse(sealed.as_bytes()) else { panic!("{report}") };
    let effect = f64::from(row.estimate.0) / 1e6;
    let sign = if deadlier == 1 { 1.0 } else { -1.0 };
    (f64::from(second_half) / f64::from(PATIENTS / 2), sign * effect)
}

/// At death rates of 0.2 and 0.4 the deadlier arm gets at most 35 % of the second half on average,
/// asked "Dead?" or asked "Alive?", and effects are in the outcome's own direction.
#[test]
fn the_deadlier_arm_gets_fewer_patients() {
    for (question, better, death, direction) in [
        ("Dead on day 30?", "better = \"no\"", 1, 1.0),
        ("Alive on day 30?", "better = \"yes\"", 0, -1.0),
    ] {
        let trial = trial(question, better);
        let runs: Vec<_> = (1..=SEEDS).map(|seed| played(&trial, seed, death)).collect();
        let mean =
            |of: &dyn Fn(&(f64, f64)) -> f64| runs.iter().map(of).sum::<f64>() / f64::from(SEEDS);
        let (share, effect) = (mean(&|run| run.0), direction * mean(&|run| run.1));
        println!(
            "{question} {share:.3} of the second half got the deadlier arm, effect {effect:.3}"
        );
        assert!(share <= 0.35, "{question} {share}");
        assert!((0.1..0.3).contains(&effect), "{question} {effect}");
    }
}
