//! `equipoise`: a bedside randomizer for clinical trials.
//!
//! A patient walks through the crate in one direction:
//!
//! ```text
//! serial line -> wire::Request -> Device -> Trial (one Design) -> journal (durable) -> wire::Reply -> serial line
//! ```
#![no_std]
// The core must not be able to panic. (The command line and the tests may; so these are not in Cargo.toml.)
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

#[cfg(any(test, feature = "host"))]
#[macro_use]
extern crate std;

#[cfg(all(target_os = "none", feature = "firmware"))]
pub mod board;
pub mod chance;
mod codec;
pub mod design;
pub mod device;
pub mod estimate;
pub mod journal;
pub mod noise;
pub mod plan;
pub mod ratio;
pub mod trial;
pub mod wire;

#[cfg(feature = "host")]
pub mod host;
#[cfg(feature = "host")]
pub mod testkit;

/// The names of std's prelude that core's lacks: `host` modules and tests import them.
#[cfg(any(test, feature = "host"))]
mod prelude {
    #[allow(unused_imports, reason = "the core's own tests need only some of them")]
    pub use std::{
        borrow::ToOwned,
        boxed::Box,
        string::{String, ToString},
        vec::Vec,
    };
}
