//! The client of a device's line: one request, one answer, over bytes that may be lost or garbled.

pub mod boards;
pub mod client;
pub mod custodian;
mod exchange;
pub mod link;
mod qemu;
