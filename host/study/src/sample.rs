//! `equipoise sample`: draws of the noise, so that anybody can test its law with other tools.
//!
//! The draws are those of a device, ChaCha20 included, from a seed: the same arguments give the
//! same bytes. One draw a line or, with `--histogram`, lines `value count` in rising order, without
//! the values that did not occur.
//!
//! Exit code 0 if all was written or the reader went away, 2 for a bad argument or an output that
//! cannot be written.

use std::collections::BTreeMap;
use std::io::{self, Write};

use equipoise::chance::{Chance, DeviceSampler};
use equipoise::noise::{Laplace, Rate};

/// Draws to make: their law, its parameters and their number.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The law.
    pub law: Law,
    /// Its rate.
    pub rate: Rate,
    /// The centre of `lap-plus`, at most 2^62.
    pub center: u64,
    /// How many draws.
    pub count: u64,
    /// The same seed gives the same draws.
    pub seed: u64,
    /// Whether values are counted instead of printed.
    pub histogram: bool,
}

/// A noise law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// k with probability (1-q)/(1+q) q^|k|, q = e^-rate.
    DiscreteLaplace,
    /// The same around a centre, conditioned on being at least 0.
    LapPlus,
}

/// Draws and prints.
///
/// # Errors
/// The output cannot be written.
pub fn write(sample: &Sample, out: &mut impl Write) -> io::Result<()> {
    let law = Laplace::new(sample.rate);
    let mut chance = DeviceSampler::seed_from_u64(sample.seed);
    let center = sample.center;
    let mut draws = (0..sample.count).map(|_| match sample.law {
        Law::DiscreteLaplace => chance.discrete_laplace(&law),
        // Centre and noise are at most 2^62 each, less one: no wrap.
        Law::LapPlus => chance.lap_plus(center, &law) as i64,
    });
    if sample.histogram {
        let mut counts = BTreeMap::<i64, u64>::new();
        draws.for_each(|draw| *counts.entry(draw).or_default() += 1);
        counts.iter().try_for_each(|(value, count)| writeln!(out, "{value} {count}"))?;
    } else {
        draws.try_for_each(|draw| writeln!(out, "{draw}"))?;
    }
    out.flush()
}
