//! A bedside randomizer for clinical trials. A terminal sends a patient's feature, the device
//! answers with an arm, and everything that leaves the device is differentially private.
//!
//! A request takes one way through the crate:
//!
//! ```text
//! serial line -> wire::Request -> Device -> Trial (one design) -> journal -> wire::Reply -> serial line
//! ```
//!
//! | module | what it is | start with |
//! |---|---|---|
//! | [`terms`] | arms, phases, limits: the words that everybody needs | [`terms::Arm`] |
//! | [`plan`] | public parameters of a trial, checked once | [`plan::Plan`] |
//! | [`ratio`] | exact rationals, in which a plan and its rates are given | [`ratio::Ratio`] |
//! | [`chance`], [`noise`] | the source of randomness; exactly bounded integer samplers | [`chance::Chance`] |
//! | [`design`] | the designs: which arm, and what is learned | [`design::interim`] |
//! | [`trial`] | the state machine: assign, outcome, look, close | [`trial::Trial`] |
//! | [`estimate`] | effect and interval, from what is already noisy | [`estimate::Estimate`] |
//! | [`wire`] | grammar of requests and replies, checksum, framing | [`wire::Request`], [`wire::Reply`] |
//! | [`kits`] | kit numbers of blinded trials | [`kits::number`] |
//! | [`journal`] | durable state on NOR flash | [`journal::Journal`] |
//! | [`device`] | the whole device, bytes in and bytes out | [`device::Device::handle_line`] |
//! | `board` | the boards; the only `unsafe` code; firmware builds only | |
#![cfg_attr(
    feature = "testkit",
    doc = "| [`testkit`] | models of imperfect hardware for tests | |"
)]
//!
//! A trial without a device, as the simulator runs it:
//!
//! ```
//! use equipoise::chance::DeviceSampler;
//! use equipoise::plan::Plan;
//! use equipoise::terms::Phase;
//! use equipoise::trial::Trial;
//!
//! let plan = Plan::parse("features=2 patients=100 better=high epsilon=1")?;
//! let mut trial: Trial<2, 8> = Trial::new(plan)?;
//! let mut chance = DeviceSampler::seed_from_u64(7);
//! for patient in 1..=100 {
//!     let arm = trial.assign((patient % 2) as u8, None, &mut chance)?;
//!     trial.outcome(patient, arm.index() as u16, &mut chance)?;
//! }
//! trial.close(&mut chance);
//! assert_eq!(trial.phase(), Phase::Closed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Three rules hold everywhere: all chance enters through [`chance::Chance`], all durable state
//! leaves through the [`journal`], and all bytes to the outside leave through [`wire::Reply`],
//! which cannot hold a raw count, sum or outcome.
#![no_std]
// The core must not be able to panic. (The command line and the tests may; so these are not in
// Cargo.toml.)
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::unreachable
    )
)]

#[cfg(any(test, feature = "std"))]
#[macro_use]
extern crate std;

pub mod board;
pub mod chance;
mod codec;
pub mod design;
pub mod device;
pub mod estimate;
pub mod journal;
pub mod kits;
pub mod noise;
pub mod plan;
pub mod ratio;
pub mod terms;
pub mod trial;
pub mod wire;

#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
