//! Performance: a trial of 64 kinds of patient, whose noise and reply times are held against their
//! laws, and a trial with the user's own plan.

use std::path::Path;
use std::time::Duration;

use super::bench::{Bench, Trouble, finding};
use super::plans;
use super::record::Record;
use crate::bedside::Bedside;
use crate::failure::Failure;
use crate::line::client::Client;
use crate::line::custodian;
use crate::line::link::Port;
use crate::records::log;
use crate::records::trial_file::TrialFile;
use equipoise::plan::Plan;
use equipoise::terms::Arm;
use equipoise::wire::{FileDigest, Request, Row};
use equipoise_study::noise_law::{Reading, agreement};

/// Replies leave a board at multiples of this.
const GRID: Duration = Duration::from_millis(20);
/// The line, its driver and this program add up to this much.
const OFF_GRID: Duration = Duration::from_millis(8);
/// Milliseconds by which a reply may come before its moment: the two clocks differ.
const EARLY: f64 = 1.0;
/// Replies that take longer turned a page of the flash, or had a look behind them.
const ORDINARY: Duration = Duration::from_millis(100);
/// Terminals wait this long for a reply before they ask again.
const PATIENCE: Duration = Duration::from_millis(2500);
/// Most standard deviations by which chance may move a finding: one right device in 100,000 has
/// more.
const MOST_DEVIATIONS: f64 = 4.5;
/// Milliseconds that a terminal can tell apart.
const TOLD_APART: f64 = 0.5;
const FILE: FileDigest = FileDigest::NONE;

/// Times of replies by the arm or outcome of the request, and those that are not ordinary.
#[derive(Default)]
struct Times([Vec<f64>; 2], Vec<Duration>);

impl Times {
    fn add(&mut self, group: usize, took: Duration) {
        if took >= ORDINARY {
            self.1.push(took);
        } else if let Some(times) = self.0.get_mut(group) {
            times.push(took.as_secs_f64() * 1e3);
        }
    }

    fn all(&self) -> Vec<f64> {
        let mut all = self.0.concat();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Difference of the two medians in milliseconds, and how many standard deviations the ranks of
    /// the groups differ (Mann and Whitney): a machine that is busy now and then does not matter.
    fn difference(&self) -> (f64, f64) {
        let [zero, one] = &self.0;
        let all = self.all();
        let rank = |time: &f64| {
            let (below, up_to) =
                (all.partition_point(|t| t < time), all.partition_point(|t| t <= time));
            (below + up_to) as f64 / 2.0
        };
        let (n, m) = (zero.len() as f64, one.len() as f64);
        let sum: f64 = one.iter().map(rank).sum();
        let deviations = (sum - m * (n + m) / 2.0) / (n * m * (n + m + 1.0) / 12.0).sqrt();
        let sorted = |times: &[f64]| {
            let mut times = times.to_vec();
            times.sort_by(f64::total_cmp);
            middle(&times)
        };
        (deviations, sorted(one) - sorted(zero))
    }
}

/// The median of sorted times.
fn middle(times: &[f64]) -> f64 {
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs the trial of 64 kinds and judges it.
pub fn noise(bench: &mut Bench, record: &mut Record) -> Result<(), Failure> {
    let (mut arms, mut outcomes) = (Times::default(), Times::default());
    let mut truth = Vec::new();
    let mut ones = 0;
    let run = run(bench, &mut arms, &mut outcomes, &mut truth, &mut ones);
    let is_run = run.is_ok();
    record.check("P-01", "A trial of 64 kinds of patient runs to its end", run)?;
    if !is_run {
        return Ok(());
    }
    record.check("P-02", "A fair coin gives both arms about equally often", coin(ones))?;
    record.check(
        "P-03",
        "Replies leave on the 20 ms grid: the quickest twentieth at most 8 ms past it",
        on_grid(bench, &arms, &outcomes),
    )?;
    record.check("P-04", "Reply times depend on no arm and no outcome", {
        same_times(&arms, &outcomes)
    })?;
    record.check(
        "P-08",
        "Every reply comes within the 2.5 s that a terminal waits, page turns included",
        in_time(&arms, &outcomes),
    )?;
    let mut rows = Vec::new();
    record.check("P-05", "The report is signed and has a row for each of the 64 kinds", {
        report(bench, &mut rows)
    })?;
    record.check(
        "P-06",
        "The noisy numbers of outcomes have the law of the noise, no less, no more",
        law(&truth, &rows),
    )?;
    record.check("P-07", "The trial is erased, and the device is blank", {
        bench.make_blank().map(|()| "blank".to_owned())
    })
}

fn run(
    bench: &mut Bench,
    arms: &mut Times,
    outcomes: &mut Times,
    truth: &mut Vec<u32>,
    ones: &mut u32,
) -> Result<String, Trouble> {
    bench.make_blank()?;
    let plan = plans::noise()?;
    let features = u32::from(plan.features());
    bench.begin(&plan, FILE)?;
    *truth = vec![0; features as usize];
    for patient in 1..=plan.patients() {
        let feature = patient % features;
        let (arm, took) = bench.assign(patient, feature)?;
        arms.add(arm.index(), took);
        *ones += u32::from(arm == Arm::One);
        // In no order, so that a busy moment of this machine meets both outcomes.
        let y = patient.wrapping_mul(0x9e37_79b9) >> 31;
        let is_lost = patient % 11 == 0;
        let took = bench.resolve(patient, (!is_lost).then_some(y))?;
        if !is_lost {
            outcomes.add(y as usize, took);
            if let Some(count) = truth.get_mut(feature as usize) {
                *count += 1;
            }
        }
    }
    bench.carry_out(&Request::Close)?;
    Ok(format!("{} patients of {features} kinds", plan.patients()))
}

fn coin(ones: u32) -> Result<String, Trouble> {
    let patients = f64::from(plans::noise()?.patients());
    let deviations = (f64::from(ones) - patients / 2.0) / (patients.sqrt() / 2.0);
    let found = format!("{ones} of {patients} on arm 1 ({deviations:+.1} sd)");
    if deviations.abs() > MOST_DEVIATIONS { finding(found) } else { Ok(found) }
}

/// The quickest twentieth of the replies is judged: a busy computer delays the others.
fn on_grid(bench: &mut Bench, arms: &Times, outcomes: &Times) -> Result<String, Trouble> {
    let is_board = bench.greet()?.image.is_some();
    let grid = GRID.as_secs_f64() * 1e3;
    let mut times = [arms.all(), outcomes.all()].concat();
    times.sort_by(f64::total_cmp);
    // A busy computer delays most replies, but not the quickest ones.
    let quick = times.get(..times.len() / 20).unwrap_or_default();
    // Two clocks differ: a reply that comes up to `EARLY` before its moment belongs to it.
    let mut past: Vec<f64> = quick.iter().map(|time| (time + EARLY) % grid - EARLY).collect();
    past.sort_by(f64::total_cmp);
    let first = quick.first().copied().unwrap_or_default();
    // The virtual device lets only refusals wait.
    let is_early = is_board && first < grid - EARLY;
    let is_late = middle(&past) > OFF_GRID.as_secs_f64() * 1e3;
    let found = format!(
        "{} replies, quickest {first:.1} ms, median {:.1} ms; quickest twentieth {:.1} ms past the \
         grid{}",
        times.len(),
        middle(&times),
        middle(&past),
        if is_early { ": too early" } else { "" }
    );
    if is_early || is_late || quick.is_empty() { finding(found) } else { Ok(found) }
}

fn same_times(arms: &Times, outcomes: &Times) -> Result<String, Trouble> {
    let mut found = Vec::new();
    let mut wrong = false;
    for (name, times) in [("arms", arms), ("outcomes", outcomes)] {
        let (deviations, milliseconds) = times.difference();
        wrong |= deviations.abs() > MOST_DEVIATIONS && milliseconds.abs() > TOLD_APART;
        found.push(format!("{name}: {milliseconds:+.2} ms ({deviations:+.1} sd)"));
    }
    let found = found.join(", ");
    if wrong { finding(found) } else { Ok(found) }
}

fn in_time(arms: &Times, outcomes: &Times) -> Result<String, Trouble> {
    let slow = [&arms.1[..], &outcomes.1].concat();
    let longest = slow.iter().max().copied().unwrap_or_default();
    let found = match slow.len() {
        0 => "no reply took longer than 0.1 s".to_owned(),
        count => {
            format!("{count} took longer than 0.1 s, the longest {:.2} s", longest.as_secs_f64())
        }
    };
    if longest > PATIENCE { finding(found) } else { Ok(found) }
}

fn report(bench: &mut Bench, rows: &mut Vec<Row>) -> Result<String, Trouble> {
    let plan: Plan = plans::noise()?;
    *rows = bench.report(&plan, FILE)?;
    if rows.len() == usize::from(plan.features()) {
        Ok(format!("{} rows, the MAC is right", rows.len()))
    } else {
        finding(format!("{} rows", rows.len()))
    }
}

fn law(truth: &[u32], rows: &[Row]) -> Result<String, Trouble> {
    let reading = |row: &Row| {
        let truth = truth.get(usize::from(row.feature)).copied().unwrap_or_default();
        Reading { truth, noisy: row.outcomes, windows: 1 }
    };
    let readings: Vec<Reading> = rows.iter().map(reading).collect();
    let Some(found) = agreement(&plans::noise()?, &readings) else {
        return finding("there is no noisy number");
    };
    let text = format!(
        "squared differences {:.2} times their variance ({:+.1} sd)",
        found.mean, found.deviations
    );
    if found.deviations.abs() <= MOST_DEVIATIONS { Ok(text) } else { finding(text) }
}

/// Runs a trial with the user's plan, with a log as at the bedside.
pub fn own_plan(
    bench: &mut Bench,
    record: &mut Record,
    (trial, port, folder): (&TrialFile, &Port, &Path),
) -> Result<(), Failure> {
    let blank = bench.make_blank().map(|()| "blank".to_owned());
    record.check("P-20", "The device is blank before the user's trial", blank)?;
    bench.release();
    let result = own_trial(bench, (trial, port, folder));
    let result = match result {
        Err(Failure::NoDevice(error)) => return Err(Failure::NoDevice(error)),
        Err(other) => finding(other.to_string()),
        Ok(text) => Ok(text),
    };
    record.check(
        "P-21",
        "A trial with the user's plan runs at line speed, and its log verifies",
        result,
    )?;
    record.check("P-22", "The user's trial is erased, and the device is blank", {
        bench.make_blank().map(|()| "blank".to_owned())
    })
}

fn own_trial(
    bench: &mut Bench,
    (trial, port, folder): (&TrialFile, &Port, &Path),
) -> Result<String, Failure> {
    let mut trial = trial.clone();
    // Another title gives another digest, so that no kit of the real trial is used up.
    trial.title = "Qualification".to_owned();
    let (plan, file) = (trial.plan, FileDigest(trial.digest()));
    let log_file = folder.join("trial.jsonl");
    for old in [log_file.clone(), log::head_path(&log_file)] {
        let _ = std::fs::remove_file(old);
    }
    let mut client = Client::on(port.clone());
    custodian::provision(&mut client, &plan, file, &bench.key)?;
    let mut bedside = Bedside::open(client, trial, &log_file, "qualification")?;
    let features = u32::from(plan.features());
    for patient in 1..=plan.patients() {
        let feature = u8::try_from(patient % features).unwrap_or_default();
        let number = bedside.enrol(&format!("Q-{patient}"), feature)?.number;
        if patient % 20 == 0 {
            bedside.lost(number)?;
        } else {
            let y = patient % (u32::from(plan.scale()) + 1);
            bedside.outcome(number, u16::try_from(y).unwrap_or_default())?;
        }
    }
    custodian::close(bedside.client(), &bench.key)?;
    let report = custodian::report(bedside.client(), Some(&bench.key))?;
    if !bench.key.signed(&plan, file, &report) {
        return Err(Failure::Refused("the MAC of the report is wrong".to_owned()));
    }
    drop(bedside);
    let (head, _) = log::verify(&log_file, None)?;
    let (rows, patients) = (report.rows.len(), plan.patients());
    Ok(format!(
        "{patients} patients, {} lines of log, the chain holds; {rows} rows, the MAC is right",
        head.lines
    ))
}
