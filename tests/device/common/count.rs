//! How much of its work a test does.

/// As many as `EQUIPOISE_TRIALS` says, or `usual`.
pub fn trials(usual: u64) -> u64 {
    let Ok(text) = std::env::var("EQUIPOISE_TRIALS") else { return usual };
    text.parse().unwrap_or_else(|_| panic!("EQUIPOISE_TRIALS={text}: allowed is a number"))
}

/// As many as `usual`, or a fifth of them if `EQUIPOISE_TRIALS` is set.
pub fn long_trials(usual: u64) -> u64 {
    if std::env::var_os("EQUIPOISE_TRIALS").is_some() { usual / 5 } else { usual }
}

/// Whether `cargo xtask release-check --long` asks for the long version of a test.
pub fn is_long() -> bool {
    std::env::var_os("EQUIPOISE_LONG").is_some()
}
