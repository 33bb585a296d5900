//! The files of a trial on the terminal's disk, and the values they hold.

pub mod alike;
pub mod code;
pub mod due;
pub mod factors;
pub mod keys;
pub mod kit_label;
pub mod log;
pub mod pharmacy;
pub mod picture;
pub mod place;
pub mod plan_file;
pub mod register;
pub mod report;
pub mod site;
pub mod table;
pub mod text;
pub mod tie;
pub mod trial_file;
