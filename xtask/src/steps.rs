//! Commands of CI, which no document's test runs again.

/// Their names. A test compares the documents with them.
pub const STEPS: [&str; 5] = ["setup", "lint", "sizes", "reproduce", "release-check"];
