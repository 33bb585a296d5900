//! Parts that several tests share.

pub mod clock;
pub mod page;
pub mod processes;
pub mod relay;
#[cfg(feature = "terminal-tests")]
pub mod screen;
pub mod ward;
