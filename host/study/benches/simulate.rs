//! Simulated patients per second on one core, next to a bare loop in the same run.
//!
//! Two bare loops, both of which draw a feature, throw a coin, draw an outcome and add it:
//! * `bare loop`, as one would write it: one draw of the generator for each of the three, rates as
//!   floats;
//! * `leanest loop`: what the harness does, one 64-bit word for feature and outcome and one bit for
//!   the arm.
//!
//! The difference between a design and the leanest loop is the design itself, as it ships, and the
//! count of patients per arm; the outcomes come at once, so nobody waits in a table
//! (`Trial::at_once`).

use std::hint::black_box;
use std::time::Instant;

use equipoise::chance::{Chance, Sampler};
use equipoise::plan::Plan;
use equipoise_study::simulate::{Comparator, Delay, Instance, Lost, Policy, Scenario, sums};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const ROUNDS: usize = 200;
const RUNS: u32 = 1_000_000;
const PATIENTS: u32 = 1_000_000;
const FEATURES: u8 = 10;

fn bare_loop() -> u64 {
    const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
    let mut words = Xoshiro256PlusPlus::seed_from_u64(1);
    let rates = [[0.35, 0.65]; 16];
    let mut sums = [[(0u64, 0u32); 2]; 16];
    for _ in 0..PATIENTS {
        let feature = (u64::from(words.next_u32()) * u64::from(FEATURES)) >> 32 & 15;
        let arm = (words.next_u32() >> 31) as usize;
        let yes = (words.next_u64() >> 11) as f64 * UNIT < rates[feature as usize][arm];
        let (sum, count) = &mut sums[feature as usize][arm];
        *sum += u64::from(yes);
        *count += 1;
    }
    sums.iter().flatten().map(|(sum, _)| sum).sum()
}

fn leanest_loop() -> u64 {
    let mut world = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut coins = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(2);
    let thresholds =
        [[0.35, 0.65].map(|p: f64| (p * f64::from(1 << 16) * f64::from(1 << 16)) as u64); 16];
    let mut sums = [[(0u64, 0u32); 2]; 16];
    for _ in 0..PATIENTS {
        let word = world.next_u64();
        let feature = ((word & 0xFFFF_FFFF) * u64::from(FEATURES)) >> 32 & 15;
        let arm = usize::from(coins.coin());
        let yes = word >> 32 < thresholds[feature as usize][arm];
        let (sum, count) = &mut sums[feature as usize][arm];
        *sum += u64::from(yes);
        *count += 1;
    }
    sums.iter().flatten().map(|(sum, _)| sum).sum()
}

fn scenario(name: &str) -> Scenario {
    let comparator = Comparator::parse(name).ok().flatten();
    let design = if comparator.is_some() { "conse" } else { name };
    let text =
        format!("design={design} features={FEATURES} patients={PATIENTS} better=high epsilon=1");
    let plan = Plan::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let policy = comparator.map_or(Policy::Core, Policy::Comparator);
    Scenario { policy, ..Scenario::new(plan, Instance::same(FEATURES, 0.35, 0.65), RUNS, 1) }
}

/// One loop to be timed.
type Loop<'a> = (&'a str, Box<dyn FnMut() + 'a>);

fn main() {
    let one_core = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let one_core = one_core.unwrap_or_else(|error| panic!("{error}"));
    let designs = ["fixed", "conse", "dp-conse", "interim"].map(|name| (name, scenario(name)));
    let general = ("interim, general", general());
    let mut loops: Vec<Loop> = vec![
        ("bare loop", Box::new(|| _ = black_box(bare_loop()))),
        ("leanest loop", Box::new(|| _ = black_box(leanest_loop()))),
    ];
    for (name, scenario) in designs.iter().chain([&general]) {
        let (mut run, one_core) = (0, &one_core);
        let play = move || {
            run = (run + 1) % RUNS;
            one_core.install(|| _ = black_box(sums(scenario, run..run + 1, &|| ())));
        };
        loops.push((name, Box::new(play)));
    }
    // In turns, so that other load on the machine affects all of them alike.
    let mut times = vec![Vec::new(); loops.len()];
    for _ in 0..ROUNDS {
        for ((_, play), times) in loops.iter_mut().zip(&mut times) {
            let start = Instant::now();
            play();
            times.push(start.elapsed().as_secs_f64());
        }
    }
    println!(
        "{ROUNDS} rounds of {PATIENTS} patients each; in bare loops: the median of the rounds' ratios\n"
    );
    println!("| | million patients a second, median | best | in bare loops |");
    println!("|---|---|---|---|");
    let bare = times[0].clone();
    let [.., plain, general] = &times[..] else { return };
    let general = median(general.iter().zip(plain).map(|(time, plain)| time / plain).collect());
    for ((name, _), times) in loops.iter().zip(times) {
        let ratio = median(times.iter().zip(&bare).map(|(time, bare)| time / bare).collect());
        let speed = |time: f64| f64::from(PATIENTS) / time / 1e6;
        let best = times.iter().copied().fold(f64::INFINITY, f64::min);
        println!("| {name} | {:.0} | {:.0} | {ratio:.2} |", speed(median(times)), speed(best));
    }
    println!(
        "\ninterim with delays, losses and graded outcomes: {general:.2} times the plain path"
    );
}

/// `interim` on the general path, as on a board: graded outcomes that come late or never.
fn general() -> Scenario {
    let text = format!("features={FEATURES} patients={PATIENTS} better=high epsilon=1 scale=10");
    let plan = Plan::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut scenario = Scenario::new(plan, Instance::same(FEATURES, 0.35, 0.65), RUNS, 1);
    scenario.world.delay = Delay { from: 50, to: 200 };
    scenario.world.lost = Lost([0.1; 2]);
    scenario
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
