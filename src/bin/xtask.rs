//! The one entry for building and testing.

fn main() {}
