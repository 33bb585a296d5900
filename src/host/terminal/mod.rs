//! The trial terminal, for people at the bedside, scripts and the custodian.
//!
//! ```text
//! screen, page -> worker (orders, news)
//!                    |
//! scripts, demo -> bedside (enrolment, outcomes) -> client (retries) -> link (bytes) -> device
//!                    |
//!                   log (what was asked and answered)
//! ```

pub mod alike;
pub mod bedside;
pub mod boards;
pub mod client;
pub mod code;
pub mod custodian;
pub mod demo;
pub mod due;
mod exchange;
pub mod factors;
pub mod failure;
pub mod keys;
pub mod kit_label;
pub mod link;
pub mod log;
pub mod orders;
pub mod pharmacy;
pub mod picture;
pub mod place;
pub mod register;
pub mod report;
pub mod screen;
pub mod start;
pub mod table;
pub mod text;
pub mod tie;
pub mod trial_file;
pub mod worker;
