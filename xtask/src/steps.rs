//! Commands of CI, which no document's test runs again.

/// Their names. A test compares the documents with them.
pub const STEPS: [&str; 4] = ["setup", "lint", "sizes", "release-check"];
