//! Tests of the program `equipoise` as people and scripts run it.

mod accounts;
mod audit;
mod blinded_ward;
#[cfg(feature = "terminal-tests")]
mod board_demo;
#[cfg(feature = "browser-tests")]
mod browser;
mod cards;
mod cli;
mod code_break;
mod common;
mod coordinator;
mod documentation;
#[cfg(feature = "terminal-tests")]
mod end_to_end;
mod key_check;
mod no_pin;
#[cfg(feature = "terminal-tests")]
mod pandas;
mod plan;
mod pool;
#[cfg(feature = "terminal-tests")]
mod python_client;
#[cfg(unix)]
mod qualify;
mod reconcile;
mod records;
mod recovery;
mod safety;
mod sample;
mod simulate;
mod staff;
#[cfg(feature = "terminal-tests")]
mod staff_screen;
mod virtual_device;
mod virtual_flash;
mod web;
