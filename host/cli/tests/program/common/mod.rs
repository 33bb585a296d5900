//! Parts that several tests share.

pub mod clock;
pub mod page;
pub mod relay;
pub mod screen;
pub mod ward;
