//! Tools of the tests: models of imperfect hardware, a custodian.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test helper that fails stops its test"
)]
#![allow(missing_docs, reason = "helpers are named after what they do")]

mod custodian;
pub mod desk;
pub mod kits;
pub mod noisy_line;
pub mod strict_flash;

pub use custodian::order;
