//! Tests of the build tool: its commands for boards, and those that documents show.

mod documents;
mod embed;
mod fake;
mod house;
mod probe;
mod sizes;
mod waiting;
