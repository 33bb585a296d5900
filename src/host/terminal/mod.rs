//! The trial terminal: what the person at the bedside, the script and the custodian use.
//!
//! ```text
//! screen, scripts, demo -> bedside (one patient's way) -> client (retries) -> link (bytes) -> device
//!                               |
//!                              log (what was asked and answered)
//! ```

pub mod bedside;
pub mod boards;
pub mod client;
pub mod commands;
pub mod custodian;
pub mod demo;
pub mod failure;
pub mod keys;
pub mod link;
pub mod log;
pub mod picture;
pub mod place;
pub mod register;
pub mod report;
pub mod screen;
pub mod start;
pub mod trial_file;
