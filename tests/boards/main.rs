//! The firmware in emulation: QEMU for the v1, models of their chips for the v2 and the Pico 2.

mod emulation;
mod nrf52833;
mod qemu;
mod rp2350;
