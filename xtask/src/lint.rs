//! `cargo xtask lint`: the gates that need no test run.
//!
//! Formatting, line lengths, openings of doc comments, the note on unmaintained crates, spelling,
//! licences and sources of all crates, clippy for every build that ships, documentation without
//! warnings, and builds with the oldest compiler that Cargo.toml promises.

use crate::board::{BoardName, Profile};
use crate::gates::TESTED;
use crate::timed::Steps;
use crate::tools::Compiler;
use crate::{cargo, run, say, security, tools};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Longest comment line, in characters; `max_width` in rustfmt.toml is the same for code.
const COLUMNS: usize = 100;

pub fn lint() -> Result<(), String> {
    let steps = Steps::of("lint");
    let typos = steps.step("tools", || {
        tools::lints()?;
        tools::typos()
    })?;
    steps.step("format and words", || {
        run(cargo().args(["fmt", "--all", "--check"]))?;
        columns()?;
        openings()?;
        security::unmaintained()?;
        run(&mut Command::new(typos))
    })?;
    steps.step("licences and sources", || {
        let deny = ["deny", "--locked", "check", "bans", "licenses", "sources"];
        run(Command::new(tools::cargo_deny()?).args(deny))
    })?;
    steps.step("clippy of the host", clippy)?;
    let compiler = tools::compiler()?;
    steps.step("clippy and documentation of the boards", || boards(&compiler))?;
    steps.step("the library as others embed it", embedded)?;
    steps.step("documentation", || strict_doc(cargo().args(["doc", "--workspace"]), ""))?;
    steps.step("oldest Rust", oldest_compiler)
}

const STRICT: [&str; 3] = ["--", "-D", "warnings"];

/// Clippy of everything that runs on the host, and of the fuzz targets.
fn clippy() -> Result<(), String> {
    let all = ["clippy", "--workspace", "--all-targets", "--features", TESTED];
    run(cargo().args(all).args(STRICT))?;
    // A run over all members unifies features and would hide a missing one.
    for package in ["equipoise", "equipoise-study", "equipoise-audit", "equipoise-ward"] {
        run(cargo().args(["clippy", "--package", package, "--lib"]).args(STRICT))?;
    }
    run(cargo().args(["clippy", "--package", "equipoise", "--tests"]).args(STRICT))?;
    let fuzz = ["--manifest-path", "fuzz/Cargo.toml", "--target-dir", "target/fuzz"];
    run(cargo().arg("clippy").args(fuzz).args(STRICT))
}

/// Clippy of every firmware, and the documentation of its board.
fn boards(compiler: &Compiler) -> Result<(), String> {
    for board in BoardName::ALL {
        for profile in [Profile::Release, Profile::Test] {
            let mut command = compiler.cargo("clippy", board.target());
            run(command.args(board.firmware(profile)).args(STRICT))?;
        }
        let mut doc = compiler.cargo("doc", board.target());
        doc.args(board.library(Profile::Release));
        // Headers link to parts of the host and of the testkit, which a board does not have.
        strict_doc(&mut doc, " -A rustdoc::broken_intra_doc_links")?;
    }
    // Logs of the emulated board; the other boards do not have them.
    let mut command = compiler.cargo("clippy", BoardName::V1.target());
    run(command.args(BoardName::V1.firmware(Profile::Logging)).args(STRICT))
}

/// Makes documentation, without any warning but those that `more` allows.
fn strict_doc(doc: &mut Command, more: &str) -> Result<(), String> {
    let doc = doc.args(["--no-deps", "--document-private-items"]);
    run(doc.env("RUSTDOCFLAGS", format!("-D warnings{more}")))
}

/// Builds `examples/embed.rs` for a Cortex-M4 as a user of the library does: with its default
/// features and the flags of no board. (Cargo would build an example with all that our tests need.)
fn embedded() -> Result<(), String> {
    const FOLDER: &str = "target/embed";
    let target = BoardName::V2.target();
    let mut library = cargo();
    library.args(["build", "--package", "equipoise", "--lib", "--target", target]);
    library.args(["--target-dir", FOLDER]);
    run(library.env("CARGO_TARGET_THUMBV7EM_NONE_EABIHF_RUSTFLAGS", "--cfg embedded"))?;
    let deps = format!("{FOLDER}/{target}/debug/deps");
    let newest = |name: &str| {
        let files = fs::read_dir(&deps).map_err(|error| format!("{deps}: {error}"))?;
        let found = files.flatten().filter(|file| {
            let file = file.file_name().to_string_lossy().into_owned();
            file.starts_with(&format!("lib{name}-")) && file.ends_with(".rlib")
        });
        let found = found.max_by_key(|file| file.metadata().and_then(|data| data.modified()).ok());
        let file = found.ok_or_else(|| format!("{deps} has no lib{name}"))?;
        Ok::<_, String>(format!("{name}={}", file.path().display()))
    };
    let mut example = Command::new("rustc");
    example.args([
        "--edition",
        "2024",
        "--crate-type",
        "rlib",
        "--target",
        target,
        "-D",
        "warnings",
    ]);
    example.args(["--out-dir", FOLDER, "-L", &deps, "examples/embed.rs"]);
    for name in ["equipoise", "embedded_storage"] {
        example.args(["--extern", &newest(name)?]);
    }
    run(&mut example)
}

/// Compiles the program for the other systems that it supports; `cargo xtask dist` also links it.
pub fn other_systems() -> Result<(), String> {
    for target in ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"] {
        tools::target(target)?;
        run(cargo().args(["check", "--package", "equipoise-cli", "--target", target]))?;
    }
    Ok(())
}

/// Compiles the program, the build tool, all tests and the boards' firmware with the `rust-version`
/// of Cargo.toml.
fn oldest_compiler() -> Result<(), String> {
    let version = rust_version(&read(Path::new("Cargo.toml"))?)?;
    say(&format!("Cargo.toml promises Rust {version}; compiling with it"));
    tools::toolchain(&version)?;
    tools::targets_of(&version)?;
    let check = || {
        let mut command = Command::new("rustup");
        command.args(["run", &version, "cargo", "check", "--locked"]);
        // A directory of its own: artefacts of another compiler would be thrown away at every
        // change.
        command.args(["--target-dir", "target/oldest"]);
        // Set by the cargo that runs this, and would choose its compiler again.
        command.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
        command
    };
    run(check().args(["--workspace", "--all-targets", "--features", TESTED]))?;
    for board in BoardName::ALL {
        let firmware = board.firmware(Profile::Release);
        run(check().args(["--target", board.target()]).args(firmware))?;
    }
    Ok(())
}

/// The `rust-version` of a manifest, with all three numbers.
fn rust_version(manifest: &str) -> Result<String, String> {
    let found = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \""));
    let version = found.and_then(|rest| rest.split('"').next());
    let version = version.ok_or("Cargo.toml has no line `rust-version = \"..\"`")?;
    Ok(if version.matches('.').count() == 1 { format!("{version}.0") } else { version.to_owned() })
}

/// Checks the length of every comment under version control; rustfmt sees to the code.
pub fn columns() -> Result<(), String> {
    check_comments(&format!("longer than {COLUMNS} columns"), |text| {
        long_comments(text).iter().map(|(line, columns)| format!("{line}: {columns}")).collect()
    })
}

/// Checks that no doc comment under version control opens with "What": a comment says what a thing
/// is before what it is like, and so opens with a noun, or with a verb if the thing is a function.
fn openings() -> Result<(), String> {
    check_comments("opened with \"What\" (begin with a noun or a verb)", |text| {
        opened_with_what(text).iter().map(usize::to_string).collect()
    })
}

/// Looks for faulty comments in every source file under version control. `faults` gives their
/// lines, `fault` completes the sentence "comments are ..".
fn check_comments(fault: &str, faults: impl Fn(&str) -> Vec<String>) -> Result<(), String> {
    let listed = Command::new("git").args(["ls-files", "*.rs"]).output();
    let listed = listed.map_err(|error| format!("`git ls-files` did not start: {error}"))?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    let mut found = Vec::new();
    let mut files = 0;
    for file in listed.lines() {
        // A file that was deleted but not yet committed is still listed.
        let Ok(text) = fs::read_to_string(file) else { continue };
        files += 1;
        found.extend(faults(&text).iter().map(|line| format!("{file}:{line}")));
    }
    match (files, found.as_slice()) {
        (0, _) => Err("`git ls-files` lists no source file".into()),
        (_, []) => {
            say(&format!("no comment of {files} files is {fault}"));
            Ok(())
        }
        _ => Err(format!("{} comments are {fault}:\n{}", found.len(), found.join("\n"))),
    }
}

/// Wraps long comments. Only the nightly rustfmt can; what it leaves is what the stable one checks.
pub fn wrap_comments() -> Result<(), String> {
    let options = format!("wrap_comments=true,comment_width={COLUMNS}");
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "fmt", "--all", "--", "--config", &options]);
    command.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
    run(&mut command)?;
    run(cargo().args(["fmt", "--all"]))?;
    columns()
}

/// Number and length of the comment lines that are too long. Tables and preformatted blocks may be
/// wider, because they cannot be wrapped.
fn long_comments(text: &str) -> Vec<(usize, usize)> {
    let mut preformatted = false;
    let mut found = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            preformatted = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        if comment.starts_with("```") {
            preformatted = !preformatted;
        }
        let columns = line.chars().count();
        if columns > COLUMNS && !preformatted && !comment.starts_with('|') {
            found.push((i + 1, columns));
        }
    }
    found
}

/// Numbers of the lines at which a doc comment, or a paragraph of one, opens with the word "What".
fn opened_with_what(text: &str) -> Vec<usize> {
    let mut opens = true;
    let mut found = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            opens = true;
            continue;
        };
        let doc = doc.trim_start();
        let what =
            doc.strip_prefix("What").is_some_and(|rest| !rest.starts_with(char::is_alphabetic));
        if opens && what {
            found.push(i + 1);
        }
        opens = doc.is_empty() || doc.starts_with('#');
    }
    found
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted in characters; code, tables and preformatted blocks are left alone.
    #[test]
    fn long_comments_are_found() {
        let wide = "é".repeat(COLUMNS);
        let text = format!(
            "// {wide}\nlet x = \"{wide}\";\n    /// {wide}\n//! ```text\n//! {wide}\n//! ```\n\
             //! | {wide} |\n// short\n//!{wide}\n"
        );
        assert_eq!(
            long_comments(&text).iter().map(|(line, _)| *line).collect::<Vec<_>>(),
            [1, 3, 9]
        );
        assert!(long_comments(&format!("// {}", &wide[6..])).is_empty());
    }

    /// The first word of a comment or of a paragraph counts, not one that a wrapped line begins
    /// with, nor a longer word, a heading or a comment that is not documentation.
    #[test]
    fn comments_opened_with_what_are_found() {
        let bad = "//! What it is.\n\n    /// What's asked.\n    fn x() {}\n/// A part.\n///\n\
                   /// # Errors\n/// What is wrong.\n///\n/// What follows.\n";
        assert_eq!(opened_with_what(bad), [1, 3, 8, 10]);
        let good = "//! # What is promised\n//! All of it.\n\n/// A part of it.\n/// What\n\
                    /// Whatever it is.\n\n/// Whatever.\n// What follows is code.\nfn what() {}\n";
        assert!(opened_with_what(good).is_empty());
    }

    #[test]
    fn rust_version_is_completed() {
        assert_eq!(rust_version("[a]\nrust-version = \"1.89\"\n"), Ok("1.89.0".into()));
        assert_eq!(rust_version("rust-version = \"1.89.2\""), Ok("1.89.2".into()));
        assert!(rust_version("rust-version.workspace = true").is_err());
    }
}
