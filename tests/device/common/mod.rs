//! Parts that several tests share.

pub mod book;
pub mod count;
pub mod cuts;
pub mod transcription;
pub mod wide;
