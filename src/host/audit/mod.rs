//! The privacy audit: exact on small trials, structured at full size, statistical on the whole device.

pub mod cases;
pub mod enumerator;
pub mod exact;
pub mod loss;
