//! `cargo xtask lint`: the gates that need no test run.
//!
//! Formatting, line lengths, spelling, clippy for every build that ships, documentation without
//! warnings, and builds for other systems and with the oldest compiler that Cargo.toml promises.

use crate::board::{Board, Profile};
use crate::{TESTED, cargo, run, say, tools};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Longest line of code or comment, in characters.
const COLUMNS: usize = 100;
/// File names whose lines are measured; Markdown tables and data may be wider.
const MEASURED: [&str; 5] = [".rs", ".py", ".sh", ".x", ".toml"];

pub fn lint() -> Result<(), String> {
    tools::lints()?;
    run(cargo().args(["fmt", "--all", "--check"]))?;
    run(&mut Command::new(tools::typos()?))?;
    let clippy = ["clippy", "--all-targets"];
    let strict = ["--", "-D", "warnings"];
    run(cargo().args(clippy).args(["--features", TESTED]).args(strict))?;
    run(cargo().args(clippy).args(["--package", "xtask"]).args(strict))?;
    // The core without `host`, with its unit tests, as miri runs them.
    let core = ["clippy", "--lib", "--profile", "test", "--no-default-features"];
    run(cargo().args(core).args(strict))?;
    let compiler = tools::compiler()?;
    for board in Board::ALL {
        let mut command = compiler.cargo("clippy", board.target());
        run(command.args(board.firmware(Profile::Release)).args(strict))?;
    }
    let mut doc = cargo();
    doc.args(["doc", "--no-deps", "--workspace", "--document-private-items"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    run(&mut doc)?;
    other_systems()?;
    oldest_compiler()
}

/// Compiles the program for the other systems that it supports; `cargo xtask dist` also links it.
fn other_systems() -> Result<(), String> {
    for target in ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"] {
        tools::target(target)?;
        run(cargo().args(["check", "--bin", "equipoise", "--target", target]))?;
    }
    Ok(())
}

/// Compiles everything with the `rust-version` of Cargo.toml.
fn oldest_compiler() -> Result<(), String> {
    let version = rust_version(&read(Path::new("Cargo.toml"))?)?;
    say(&format!("Cargo.toml promises Rust {version}; compiling with it"));
    tools::toolchain(&version)?;
    let mut command = Command::new("rustup");
    // A directory of its own: artefacts of another compiler would be thrown away at every change.
    command.args(["run", &version, "cargo", "check", "--locked", "--all-targets"]);
    command.args(["--target-dir", "target/oldest"]);
    // Set by the cargo that runs this, and would choose its compiler again.
    command.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
    run(&mut command)
}

/// The `rust-version` of a manifest, with all three numbers.
fn rust_version(manifest: &str) -> Result<String, String> {
    let found = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \""));
    let version = found.and_then(|rest| rest.split('"').next());
    let version = version.ok_or("Cargo.toml has no line `rust-version = \"..\"`")?;
    Ok(if version.matches('.').count() == 1 { format!("{version}.0") } else { version.to_owned() })
}

/// Checks the length of every line under version control.
pub fn columns() -> Result<(), String> {
    let listed = Command::new("git").args(["ls-files"]).output();
    let listed = listed.map_err(|error| format!("`git ls-files` did not start: {error}"))?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    let mut found = Vec::new();
    let mut files = 0;
    for file in listed.lines().filter(|file| MEASURED.iter().any(|end| file.ends_with(end))) {
        // A file that was deleted but not yet committed is still listed.
        let Ok(text) = fs::read_to_string(file) else { continue };
        files += 1;
        found.extend(long_lines(&text).map(|(line, columns)| format!("{file}:{line}: {columns}")));
    }
    match (files, found.as_slice()) {
        (0, _) => Err("`git ls-files` lists no source file".into()),
        (_, []) => {
            say(&format!("no line of {files} files is longer than {COLUMNS} columns"));
            Ok(())
        }
        _ => Err(format!("{} lines are longer than {COLUMNS} columns:\n{}", found.len(), found.join("\n"))),
    }
}

/// Number and length of the lines that are too long.
fn long_lines(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let lengths = text.lines().map(|line| line.chars().count()).enumerate();
    lengths.filter(|(_, length)| *length > COLUMNS).map(|(i, length)| (i + 1, length))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_counted_in_characters() {
        let wide = "é".repeat(COLUMNS);
        let text = format!("{wide}\nshort\n{wide}x\n");
        assert_eq!(long_lines(&text).collect::<Vec<_>>(), [(3, COLUMNS + 1)]);
    }

    #[test]
    fn rust_version_is_completed() {
        assert_eq!(rust_version("[a]\nrust-version = \"1.89\"\n"), Ok("1.89.0".into()));
        assert_eq!(rust_version("rust-version = \"1.89.2\""), Ok("1.89.2".into()));
        assert!(rust_version("rust-version.workspace = true").is_err());
    }
}
