//! The firmware in emulation: QEMU for the v1, models of their chips for the v2 and the Pico 2.

mod emulation;
mod nrf52833;
mod qemu;
mod rp2350;

/// How often a test does something: in its short version, and in the long one, which `LONG` in
/// `xtask/src/gates.rs` lists.
fn times(short: u32, long: u32) -> u32 {
    if std::env::var_os("EQUIPOISE_LONG").is_some() { long } else { short }
}
