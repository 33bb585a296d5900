//! Tests of simulator, planner and boundaries.

mod boundaries;
mod common;
mod operating;
mod planner;
mod ratios;
mod simulate;
