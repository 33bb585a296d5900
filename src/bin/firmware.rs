//! The firmware: sets up the board chosen by a feature and runs [`equipoise::board::main_loop`] on
//! it.
//!
//! With the feature `seeded`, for tests, the noise source is a fixed sequence and the line `DRILL
//! ..` makes the board crash. The compiler refuses that feature without debug assertions, so a
//! release cannot have it.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(all(feature = "seeded", not(debug_assertions)))]
compile_error!(
    "`seeded` is for test builds: its arms and its noise can be predicted. Build with --profile firmware-test"
);

#[cfg(feature = "log-rtt")]
use defmt_rtt as _;
#[cfg(feature = "log-semihosting")]
use defmt_semihosting as _;

#[cfg(target_os = "none")]
#[cortex_m_rt::entry]
fn main() -> ! {
    match equipoise::board::take() {
        Some(parts) => equipoise::board::main_loop::run(parts),
        None => cortex_m::peripheral::SCB::sys_reset(),
    }
}

#[cfg(not(target_os = "none"))]
fn main() {}
