//! `equipoise sample`.

use std::io::{self, BufWriter, ErrorKind};

use super::error::CliError;
use super::values;
use equipoise::noise::Rate;
use equipoise_study::sample::{Law, Sample, write};

/// The greatest centre: any draw around it fits an `i64`.
const GREATEST_CENTER: u64 = 1 << 62;

/// Draws to make: their law, its parameters and their number.
#[derive(clap::Args, Debug)]
pub struct SampleArgs {
    /// The law
    #[arg(long, value_parser = values::law())]
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
///
/// # Errors
/// A centre for a law that has none, or an output that cannot be written. A reader that went away
/// is not an error.
pub fn sample(args: &SampleArgs) -> Result<(), CliError> {
    if args.law == Law::DiscreteLaplace && args.center.is_some() {
        return Err(CliError::usage(
            "--center is for --law lap-plus; discrete-laplace has its centre at 0",
        ));
    }
    let SampleArgs { law, rate, count, seed, histogram, .. } = *args;
    let sample = Sample { law, rate, center: args.center.unwrap_or(0), count, seed, histogram };
    match write(&sample, &mut BufWriter::with_capacity(1 << 16, io::stdout().lock())) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CliError::usage(format!("the draws cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}
