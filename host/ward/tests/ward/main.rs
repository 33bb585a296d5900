//! Tests of line client, records, screen and virtual board.

mod bedside;
mod copies;
mod custodian;
mod golden;
mod large_trial;
mod log;
mod mortality;
mod newer;
mod reconcile;
mod terminal;
mod two_sites;
