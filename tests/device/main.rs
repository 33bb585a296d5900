//! Tests of the device: trial, line, flash and documents, on the host.

mod blinded;
mod capacity;
mod common;
mod contributing;
mod dead_bit;
mod endurance;
mod flash_images;
mod fuzz;
mod golden_flash;
mod golden_wire;
mod journal;
mod kits;
mod limits;
mod line_noise;
mod main_loop;
mod noise;
mod non_interference;
mod paper;
mod power_cut;
mod reference;
mod requests;
mod trial;
mod trial_power_cut;
mod wear;
mod wire_document;
