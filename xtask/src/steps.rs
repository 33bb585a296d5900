//! The commands with which `cargo xtask test` begins, before it runs the tests.

/// Their names. A test compares the documents with them.
pub const STEPS: [&str; 4] = ["setup", "lint", "sizes", "reproduce"];
