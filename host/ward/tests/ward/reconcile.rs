//! Charts of simulated trials held against their reports: right ones pass, wrong ones are found.

use equipoise::chance::{Chance, DeviceSampler};
use equipoise::plan::Plan;
use equipoise::terms::{Arm, Phase};
use equipoise::trial::Trial;
use equipoise::wire::FileDigest;
use equipoise_ward::records::log::{Entry, Event};
use equipoise_ward::records::reconcile::chart::ChartRow;
use equipoise_ward::records::reconcile::ledger::steps;
use equipoise_ward::records::reconcile::sums::{LEVEL, SumsCheck};
use equipoise_ward::records::register::Register;
use equipoise_ward::records::site::{Site, digest_text};
use equipoise_ward::records::trial_file::TrialFile;
use serde_json::json;

const TRIAL: &str = "0123456789abcdef";

/// A simulated trial: who it is about, and how it goes.
#[derive(Clone, Copy, Debug)]
struct Setting {
    plan: &'static str,
    /// Probability of each arm's outcome.
    rates: [f64; 2],
    /// Outcomes come after so many later enrolments.
    delay: u32,
    /// Resolved patients at which the custodian closes or, before the end, asks for the report.
    stop: Option<(u32, Phase)>,
}

const FIXED: Setting = Setting {
    plan: "design=uniform features=2 patients=400 better=high epsilon=1",
    rates: [0.35, 0.55],
    delay: 0,
    stop: None,
};

const ADAPTIVE: Setting =
    Setting { plan: "features=2 patients=400 better=low epsilon=1 reports=2", ..FIXED };

/// Log, chart and report of a trial.
struct Simulated {
    trial: TrialFile,
    entries: Vec<Entry>,
    chart: Vec<ChartRow>,
    site: Site,
}

/// A number between 0 and 1, in steps of 2^-20.
fn uniform(chance: &mut impl Chance) -> f64 {
    let bits = (0..20).fold(0, |bits, _| 2 * bits + u32::from(chance.coin()));
    f64::from(bits) / f64::from(1 << 20)
}

fn trial_file(plan: &str) -> TrialFile {
    let mut trial = TrialFile::example().unwrap();
    trial.plan = Plan::parse(plan).unwrap();
    trial.features = (0..trial.plan.features()).map(|kind| format!("kind {kind}")).collect();
    trial
}

impl Setting {
    fn run(self, seed: u64) -> Simulated {
        let trial = trial_file(self.plan);
        let mut chance = DeviceSampler::seed_from_u64(seed);
        let mut device: Trial<8, 1024> = Trial::new(trial.plan).unwrap();
        let (mut events, mut chart) = (Vec::new(), Vec::new());
        events.push(Event::Opened {
            title: trial.title.clone(),
            plan: trial.plan.to_string(),
            trial: TRIAL.to_owned(),
            file: digest_text(FileDigest(trial.digest())),
        });
        let (n, kinds) = (trial.plan.patients(), u32::from(trial.plan.features()));
        let most = self.stop.map_or(n, |(resolved, _)| resolved);
        for turn in 1..=n + self.delay {
            if turn <= n {
                let feature = (uniform(&mut chance) * f64::from(kinds)) as u8;
                let arm = device.assign(feature, None, &mut chance).unwrap();
                let happens = uniform(&mut chance) < self.rates[arm.index()];
                let is_lost = uniform(&mut chance) < 0.04;
                chart.push((turn, feature, arm, (!is_lost).then_some(u16::from(happens))));
                events.push(Event::Arm {
                    code: turn.to_string(),
                    patient: turn,
                    feature,
                    feature_name: trial.feature_name(feature),
                    arm: arm.index() as u8,
                    arm_name: trial.arm_name(arm).to_owned(),
                    answered: "ARM".to_owned(),
                });
            }
            let Some(patient) = turn.checked_sub(self.delay).filter(|patient| *patient > 0) else {
                continue;
            };
            if device.resolved() == most {
                break;
            }
            let (code, answered) = (patient.to_string(), "OK".to_owned());
            match chart[patient as usize - 1].3 {
                Some(y) => {
                    device.outcome(patient, y, &mut chance).unwrap();
                    events.push(Event::Outcome { code, patient, answered, rose: true });
                }
                None => {
                    device.lost(patient, &mut chance).unwrap();
                    events.push(Event::Lost { code, patient, answered, rose: true });
                }
            }
            device.look(&mut chance);
        }
        if self.stop.is_none_or(|(_, phase)| phase == Phase::Closed) {
            device.close(&mut chance);
        }
        let site = report(&trial, &device);
        let entries = (1..).zip(events).map(|(line, event)| {
            let (time, operator) = ("2026-11-16T08:00:00Z".to_owned(), "x".to_owned());
            Entry { line, time, operator, signed: None, event }
        });
        let row = |(number, feature, arm, outcome): (u32, u8, Arm, Option<u16>)| ChartRow {
            line: number as usize + 1,
            code: number.to_string(),
            kind: feature.to_string(),
            given: arm.index().to_string(),
            outcome: outcome.map_or_else(String::new, |y| y.to_string()),
            ..ChartRow::default()
        };
        let entries = entries.collect();
        Simulated { trial, entries, chart: chart.into_iter().map(row).collect(), site }
    }

    /// The part of `charts` simulated ones that is called wrong after a change.
    fn alarms(self, charts: u64, change: impl Fn(&mut Simulated)) -> f64 {
        let alarm = |seed: &u64| {
            let mut simulated = self.run(*seed);
            change(&mut simulated);
            !simulated.check().unwrap().agrees()
        };
        (0..charts).filter(alarm).count() as f64 / charts as f64
    }
}

/// The report of a trial as the device and the program write it.
fn report(trial: &TrialFile, device: &Trial<8, 1024>) -> Site {
    let closed = device.phase() == Phase::Closed;
    let looks = equipoise::design::schedule::looks(device.plan());
    let at = looks.take(device.looks().into()).last().filter(|_| !closed);
    let micro = |value: f64| (value * 1e6).round() / 1e6;
    let row = |feature: u8| {
        let estimate = device.estimate(feature)?;
        let basis = estimate.basis.unwrap();
        let [zero, one] = basis.arms;
        Some(json!({
            "feature": feature, "name": trial.feature_name(feature), "estimate": estimate.effect,
            "standard_error": estimate.deviation, "low": estimate.low(), "high": estimate.high(),
            "outcomes": estimate.patients.round() as u32, "spent": micro(basis.spent),
            "half": basis.half_spent, "looks": basis.looks, "windows": basis.windows,
            "n0": zero.outcomes.round() as u32, "mean0": micro(zero.mean),
            "n1": one.outcomes.round() as u32, "mean1": micro(one.mean),
        }))
    };
    let rows: Vec<_> = (0..trial.plan.features()).filter_map(row).collect();
    let text = json!({
        "trial": TRIAL, "title": trial.title, "file": digest_text(FileDigest(trial.digest())),
        "plan": trial.plan.to_string(), "stage": if closed { "final" } else { "interim" },
        "look": device.looks(), "of": device.looks() + 1, "at": at, "enrolled": device.assigned(),
        "resolved": device.resolved(), "counted": 0, "rows": rows, "overall": null,
        "mac": "0".repeat(64),
    });
    Site::parse("report", &text.to_string()).unwrap()
}

impl Simulated {
    fn check(&self) -> Result<SumsCheck, String> {
        let register = Register::read(&self.entries);
        SumsCheck::new(&register, &steps(&self.entries), &self.trial, &self.chart, &self.site)
    }

    /// Flips a tenth of arm 1's outcomes in the chart, of those that are `old`.
    fn flip_tenth(&mut self, old: &str) {
        let all = self.chart.iter().filter(|row| row.given == "1" && !row.outcome.is_empty());
        let tenth = all.count() / 10;
        let own = |row: &&mut ChartRow| row.given == "1" && row.outcome == old;
        for row in self.chart.iter_mut().filter(own).take(tenth) {
            row.outcome = if old == "1" { "0" } else { "1" }.to_owned();
        }
    }
}

/// How many charts are simulated.
fn charts(short: u64, long: u64) -> u64 {
    if std::env::var_os("EQUIPOISE_LONG").is_some() { long } else { short }
}

/// Four standard deviations of a part of so many charts.
fn by_chance(part: f64, charts: u64) -> f64 {
    4.0 * (part * (1.0 - part) / charts as f64).sqrt()
}

/// Of right charts 5 % are called wrong: over 3,000 in the long version, 1.2 more or less.
/// Requirement W24.
#[test]
fn right_charts_alarm_at_the_level() {
    let charts = charts(60, 3000);
    let found = FIXED.alarms(charts, |_| ());
    println!("{charts} right charts: {:.2} % alarms", 100.0 * found);
    let bound = if charts == 3000 { 0.012 } else { by_chance(LEVEL, charts) };
    assert!((found - LEVEL).abs() <= bound, "{found}");
}

/// The same where the ledger does not hold all outcomes of the chart: they come late and are
/// forgotten unread, wait behind the last look, or the trial is closed early. Requirement W24.
#[test]
fn unread_outcomes_are_no_difference() {
    let charts = charts(12, 1000);
    for (name, setting) in [
        ("late", Setting { delay: 60, ..ADAPTIVE }),
        ("closed early", Setting { stop: Some((250, Phase::Closed)), ..ADAPTIVE }),
        ("not closed", Setting { delay: 40, stop: Some((250, Phase::Measure)), ..ADAPTIVE }),
    ] {
        let found = setting.alarms(charts, |_| ());
        println!("{name}: {charts} right charts, {:.1} % alarms", 100.0 * found);
        assert!(found <= LEVEL + by_chance(LEVEL, charts), "{name}: {found}");
    }
}

/// Outcomes that count are those of the device's ledger. At epsilon 20 a cell gets noise once in
/// 10,000 times, so that numbers and sums can be compared one by one; and some are never read.
#[test]
fn ledgers_hold_what_the_device_read() {
    let plan = "features=2 patients=1200 better=high epsilon=20 reports=2";
    let late = |delay| Setting { plan, delay, rates: [0.3, 0.6], stop: None };
    let mut unread = 0;
    for (setting, seeds) in [
        (late(0), 2),
        (late(60), 10),
        (late(200), 10),
        (Setting { stop: Some((500, Phase::Closed)), ..late(100) }, 10),
        (Setting { stop: Some((700, Phase::Measure)), ..late(100) }, 10),
    ] {
        for seed in 0..seeds {
            let simulated = setting.run(seed);
            let is_outcome = |entry: &&Entry| matches!(entry.event, Event::Outcome { .. });
            let recorded = simulated.entries.iter().filter(is_outcome).count() as u32;
            let check = simulated.check().unwrap();
            let mut held = 0;
            for (truth, told) in
                check.kinds().flat_map(|kind| kind.truth.into_iter().zip(kind.told))
            {
                let sum = f64::from(told.outcomes) * told.mean;
                let off = (f64::from(told.outcomes) - f64::from(truth.outcomes)).abs();
                let is_equal = off <= 1.0 && (sum - truth.total as f64).abs() <= 1.5;
                assert!(is_equal, "{setting:?} {seed}: {truth:?} {told:?}");
                held += truth.outcomes;
            }
            unread += recorded - held;
        }
    }
    assert!(unread > 100, "{unread} outcomes were never read");
}

/// A tenth of an arm's outcomes, all changed to yes or all to no, is found at 400 patients and
/// epsilon 1. (Where yes and no are changed alike, sums hardly move, and nothing can be found.)
/// Requirement W24.
#[test]
fn flipped_outcomes_of_an_arm_are_found() {
    let charts = charts(12, 1000);
    for old in ["0", "1"] {
        let found = FIXED.alarms(charts, |simulated| simulated.flip_tenth(old));
        println!("a tenth of arm 1 flipped from {old}: found in {:.1} %", 100.0 * found);
        assert!(found >= 0.99, "{found}");
    }
    let mut flipped = FIXED.run(1);
    flipped.flip_tenth("0");
    let check = flipped.check().unwrap();
    let arm = &flipped.trial.arms[1];
    assert_eq!(check.place(), format!("values of outcomes of {arm:?}"));
    assert!(check.text().contains("SUMS DIFFER"), "{}", check.text());
}

/// A report that cannot be compared is refused with the reason.
#[test]
fn reports_of_others_are_refused() {
    let own = FIXED.run(1);
    let refusal = |change: fn(&mut Simulated)| {
        let mut changed = FIXED.run(1);
        change(&mut changed);
        changed.check().unwrap_err()
    };
    assert!(own.check().is_ok());
    let other = refusal(|of| of.trial = trial_file(ADAPTIVE.plan));
    assert!(other.contains("another trial file"), "{other}");
    let lacking = refusal(|of| of.entries.truncate(500));
    assert!(lacking.contains("the log lacks 150 of the report's 400 patients"), "{lacking}");
    let foreign = refusal(|of| drop(of.entries.remove(0)));
    assert!(foreign.contains("the log is of no trial"), "{foreign}");
}
