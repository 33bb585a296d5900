//! `equipoise demo`.

use super::error::CliError;
use super::values::demo_board;
use equipoise_ward::demo::{Kind, Settings, demo};

/// `equipoise demo`
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Patients of the trial; by default 4000 on the virtual board, 1000 under QEMU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    patients: Option<u32>,
    /// Which board plays the device
    #[arg(long, default_value = "virtual", value_parser = demo_board())]
    board: Kind,
    /// Seed of the simulated patients; by default another one each time
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// A double-blind trial: kit numbers instead of arms, and replacements for broken kits
    #[arg(long)]
    blinded: bool,
}

/// Runs the demonstration.
///
/// # Errors
/// The board cannot be started, or the trial did not go as it should.
pub fn run(args: &DemoArgs) -> Result<(), CliError> {
    let DemoArgs { patients, board, seed, blinded } = *args;
    Ok(demo(&Settings { patients, board, seed, blinded })?)
}
