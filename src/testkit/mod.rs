//! What tests need beside the product: models of imperfect hardware, a custodian.
#![allow(clippy::panic, reason = "a test helper that fails stops its test")]

mod custodian;
pub mod noisy_line;
pub mod strict_flash;

pub use custodian::order;
