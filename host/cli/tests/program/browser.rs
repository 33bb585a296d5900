//! The bedside in a real Chromium, against a virtual device.
//!
//! Needs chromium, chromedriver and axe-core, so it is behind the feature `browser-tests`, which
//! `cargo xtask test` turns on. Each test has one browser for several scenes. With the variable
//! `EQUIPOISE_SCREENSHOTS` set to a folder the views are left there as pictures.

mod attack;
mod blinded;
mod day;
mod driver;
mod example;
mod records;
mod report;
mod slips;
mod staff;
mod tabs;
mod trouble;
mod twice;
mod unblind;
mod views;
