//! Never the wrong patient, trial or key: the commands of the terminal against virtual devices, two
//! where two are needed. What needs keys on a screen is in `end_to_end.rs`.

mod custody;
mod identity;
mod memory;
use crate::common::relay;
mod squatter;
use crate::common::ward;

use relay::{Fate, Relay};
use ward::{PROGRAM, Ward, json};
