//! The bedside in a real Chromium, against a virtual device.
//!
//! Needs chromium, chromedriver and axe-core, so it is behind the feature `browser-tests`, which
//! `cargo xtask test` turns on. Each test has one browser for several scenes. With the variable
//! `EQUIPOISE_SCREENSHOTS` set to a folder the views are left there as pictures.

#[path = "browser/attack.rs"]
mod attack;
#[path = "browser/blinded.rs"]
mod blinded;
#[path = "common/clock.rs"]
mod clock;
#[path = "browser/day.rs"]
mod day;
#[path = "common/desk.rs"]
mod desk;
#[path = "browser/driver.rs"]
mod driver;
#[path = "browser/example.rs"]
mod example;
#[path = "common/http.rs"]
mod http;
#[path = "common/page.rs"]
mod page;
#[path = "common/relay.rs"]
mod relay;
#[path = "browser/report.rs"]
mod report;
#[path = "browser/tabs.rs"]
mod tabs;
#[path = "browser/trouble.rs"]
mod trouble;
#[path = "browser/views.rs"]
mod views;
#[path = "common/ward.rs"]
mod ward;
