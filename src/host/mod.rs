//! What runs on a laptop: virtual board, terminal, page in the browser, simulator, planner, audit.
//! Needs std.
#![allow(
    clippy::indexing_slicing,
    clippy::expect_used,
    clippy::panic,
    reason = "host code may stop with a message"
)]

pub mod audit;
pub mod boundaries;
pub mod chart;
pub mod cli;
pub mod device;
pub mod dossier;
pub mod flash_file;
pub mod kits;
pub mod normal;
pub mod normality;
pub mod os;
pub mod output;
pub mod own_file;
pub mod pareto;
pub mod planner;
pub mod pool;
pub mod sample;
pub mod scenarios;
pub mod simulate;
pub mod terminal;
pub mod virtual_board;
pub mod web;
