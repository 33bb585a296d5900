//! Draws of discrete Laplace noise per second, next to the floor: one 64-bit word from the same
//! generator.
//!
//! `cargo bench --bench samplers`; the line `thrpt` gives draws (elements) per second.
use std::hint::black_box;

use chacha20::ChaCha20Rng;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use equipoise::chance::{Chance, Sampler};
use equipoise::noise::{Laplace, Rate};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Draws in one measured call, so that its overhead does not count.
const DRAWS: u64 = 1000;
const SEED: u64 = 1;

fn generator<R: Rng + SeedableRng>(criterion: &mut Criterion, name: &str) {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(DRAWS));
    let mut words = R::seed_from_u64(SEED);
    group.bench_function("floor: one u64", |b| {
        b.iter(|| (0..DRAWS).fold(0, |sum, _| sum ^ words.next_u64()));
    });
    let mut sampler = Sampler::<R>::seed_from_u64(SEED);
    for den in [2, 8, 40, 400] {
        let Some(rate) = Rate::new(1, den) else { continue };
        let law = Laplace::new(rate);
        group.bench_function(format!("discrete Laplace, rate 1/{den}"), |b| {
            b.iter(|| (0..DRAWS).fold(0, |sum, _| sum ^ sampler.discrete_laplace(black_box(&law))));
        });
    }
    group.finish();
}

fn samplers(criterion: &mut Criterion) {
    generator::<ChaCha20Rng>(criterion, "ChaCha20");
    generator::<Xoshiro256PlusPlus>(criterion, "xoshiro256++");
}

criterion_group!(benches, samplers);
criterion_main!(benches);
