//! Never the wrong patient, trial or key: the commands of the terminal against virtual devices, two
//! where two are needed. What needs keys on a screen is in `end_to_end.rs`.

#[path = "safety/custody.rs"]
mod custody;
#[path = "safety/identity.rs"]
mod identity;
#[path = "safety/memory.rs"]
mod memory;
#[path = "common/relay.rs"]
mod relay;
#[path = "safety/squatter.rs"]
mod squatter;
#[path = "common/ward.rs"]
mod ward;

use relay::{Fate, Relay};
use ward::{PROGRAM, Ward, json};
