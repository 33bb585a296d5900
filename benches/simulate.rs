//! Simulated patients per second on one core, next to a bare loop in the same run.
//!
//! Two bare loops, both of which draw a feature, throw a coin, draw an outcome and add it:
//! * `bare loop`, as one would write it: one draw of the generator for each of the three, rates as floats;
//! * `leanest loop`: what the harness does, one 64-bit word for feature and outcome and one bit for the arm.
//!
//! What a design needs above the leanest loop is the design itself, as it ships, and the count of patients per arm; the
//! outcomes come at once, so nobody waits in a table (`Trial::at_once`). Patients per second are the line `thrpt`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use equipoise::chance::{Chance, Sampler};
use equipoise::host::simulate::{Comparator, Instance, Policy, Scenario, sums};
use equipoise::plan::Plan;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

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
    let thresholds = [[0.35, 0.65].map(|p: f64| (p * f64::from(1 << 16) * f64::from(1 << 16)) as u64); 16];
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
    let text = format!("design={design} features={FEATURES} patients={PATIENTS} epsilon=1");
    let plan = Plan::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let policy = comparator.map_or(Policy::Core, Policy::Comparator);
    Scenario { policy, ..Scenario::new(plan, Instance::same(FEATURES, 0.35, 0.65), 1_000_000, 1) }
}

fn patients(c: &mut Criterion) {
    let mut group = c.benchmark_group("patients");
    group.throughput(Throughput::Elements(PATIENTS.into()));
    group.bench_function("bare loop", |b| b.iter(|| black_box(bare_loop())));
    group.bench_function("leanest loop", |b| b.iter(|| black_box(leanest_loop())));
    let one_core = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let one_core = one_core.unwrap_or_else(|error| panic!("{error}"));
    for name in ["uniform", "conse", "dp-conse", "interim"] {
        let scenario = scenario(name);
        let mut run = 0;
        group.bench_function(name, |b| {
            b.iter(|| {
                run = (run + 1) % 1_000_000;
                one_core.install(|| black_box(sums(&scenario, run..run + 1, &|| ())))
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30);
    targets = patients
}
criterion_main!(benches);
