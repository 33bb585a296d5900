//! `equipoise sample`: draws of the noise, so that anybody can test its law with other tools.
//!
//! The draws are those of a device, ChaCha20 included, from a seed: the same arguments give the
//! same bytes. One draw a line or, with `--histogram`, lines `value count` in rising order, without
//! the values that did not occur.
//!
//! Exit code 0 if all was written or the reader went away, 2 for a bad argument or an output that
//! cannot be written.

use crate::prelude::*;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use crate::chance::{Chance, DeviceSampler};
use crate::noise::{Laplace, Rate};

/// The greatest centre: any draw around it fits an `i64`.
const GREATEST_CENTER: u64 = 1 << 62;

/// What to draw, and how often.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The law
    #[arg(long)]
    law: Law,
    /// The rate of the law: e^-rate is the ratio of neighbouring probabilities; 1/134217728..=16
    #[arg(long, value_name = "NUM/DEN", value_parser = rate, allow_hyphen_values = true)]
    rate: Rate,
    /// The centre of lap-plus [default: 0]
    #[arg(long, value_name = "C", value_parser = center, allow_hyphen_values = true)]
    center: Option<u64>,
    /// How many draws
    #[arg(long, value_name = "N", value_parser = whole, allow_hyphen_values = true)]
    count: u64,
    /// The seed; the same seed gives the same draws
    #[arg(long, value_name = "S", value_parser = whole, allow_hyphen_values = true)]
    seed: u64,
    /// Count the values instead of printing every draw
    #[arg(long)]
    histogram: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    /// k with probability (1-q)/(1+q) q^|k|, q = e^-rate
    DiscreteLaplace,
    /// The same around a centre, conditioned on being at least 0
    LapPlus,
}

fn rate(text: &str) -> Result<Rate, String> {
    let (num, den) = text.split_once('/').unwrap_or((text, "1"));
    let parts = whole(num).ok().zip(whole(den).ok());
    let rate = parts.and_then(|(num, den)| Rate::new(num, den));
    rate.ok_or_else(|| format!("allowed NUM/DEN or NUM, whole numbers, {}", Rate::ALLOWED))
}

fn center(text: &str) -> Result<u64, String> {
    let center = whole(text).ok().filter(|&center| center <= GREATEST_CENTER);
    center.ok_or_else(|| format!("allowed 0..={GREATEST_CENTER}"))
}

/// A number of decimal digits only.
fn whole(text: &str) -> Result<u64, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| format!("allowed 0..={}", u64::MAX))
}

/// Draws and prints.
#[must_use]
pub fn run(args: &Args) -> ExitCode {
    if args.law == Law::DiscreteLaplace && args.center.is_some() {
        eprintln!(
            "equipoise: --center is for --law lap-plus; discrete-laplace has its centre at 0"
        );
        return ExitCode::from(2);
    }
    match write(args, &mut BufWriter::with_capacity(1 << 16, io::stdout().lock())) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("equipoise: the draws cannot be written: {error}");
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}

fn write(args: &Args, out: &mut impl Write) -> io::Result<()> {
    let law = Laplace::new(args.rate);
    let mut chance = DeviceSampler::seed_from_u64(args.seed);
    let center = args.center.unwrap_or(0);
    let mut draws = (0..args.count).map(|_| match args.law {
        Law::DiscreteLaplace => chance.discrete_laplace(&law),
        // Centre and noise are at most 2^62 each, less one: no wrap.
        Law::LapPlus => chance.lap_plus(center, &law) as i64,
    });
    if args.histogram {
        let mut counts = BTreeMap::<i64, u64>::new();
        draws.for_each(|draw| *counts.entry(draw).or_default() += 1);
        counts.iter().try_for_each(|(value, count)| writeln!(out, "{value} {count}"))?;
    } else {
        draws.try_for_each(|draw| writeln!(out, "{draw}"))?;
    }
    out.flush()
}
