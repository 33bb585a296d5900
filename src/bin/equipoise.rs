//! The program `equipoise`; see [`equipoise::host::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    equipoise::host::cli::run()
}
