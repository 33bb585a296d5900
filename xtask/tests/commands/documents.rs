//! Every command that `docs/board.md`, `docs/porting.md` and `docs/wire.md` show is run, with a
//! probe-rs that only writes down its calls; or it is listed here with the reason why it cannot be.
//!
//! The test vectors of `docs/wire.md` are in `tests/device/wire_document.rs`, its examples in
//! `host/cli/tests/program/python_client.rs` and `host/cli/tests/program/browser`.

use super::fake::Fake;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use xtask::markdown;
use xtask::steps::STEPS;

const DOCUMENTS: [(&str, &str); 3] = [
    ("docs/board.md", include_str!("../../../docs/board.md")),
    ("docs/porting.md", include_str!("../../../docs/porting.md")),
    ("docs/wire.md", include_str!("../../../docs/wire.md")),
];

/// Commands that cannot be run here, and why.
const CANNOT: [(&str, &str); 6] = [
    ("cargo xtask test", "it is the command that runs this test"),
    ("equipoise status", "shows the image of a real board; tests/qemu holds HELLO against the ELF"),
    ("probe-rs read --chip .. b32 0x20000 16", "needs a locked board"),
    ("probe-rs verify --chip .. firmware", "needs a board; `cargo xtask verify` makes the call"),
    (
        "probe-rs run --chip nRF52833_xxAA target/logging/thumbv7em-none-eabihf/firmware/firmware",
        "needs a board; the image is built",
    ),
    ("socat - UNIX-CONNECT:line", "needs the emulated board, which only Ctrl-C ends"),
];

/// Commands that must be refused, and a part of what they say.
const REFUSED: [(&str, &str); 2] = [
    ("cargo xtask lock --board pico2", "there is nothing to lock"),
    // Nobody answers its question.
    ("cargo xtask lock --board v1", "nothing was changed"),
];

/// The features with which `cargo xtask test` builds the tests.
pub const FEATURES: &str =
    "equipoise/board-tests,equipoise-cli/terminal-tests,equipoise-cli/browser-tests";

#[test]
fn shown_commands_work() {
    let fake = Fake::new();
    let (mut done, mut run) = (BTreeSet::new(), 0);
    for (path, text) in DOCUMENTS {
        for words in markdown::shown(text).iter().flat_map(|line| markdown::commands(line)) {
            let line = words.join(" ");
            if !done.insert(line.clone()) || CANNOT.iter().any(|(cannot, _)| *cannot == line) {
                continue;
            }
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            match words.as_slice() {
                // Their calls are compared below.
                ["probe-rs", ..] => {}
                ["cargo", "xtask", step] if STEPS.contains(step) => {}
                ["cargo", "xtask", rest @ ..] => {
                    let (good, _) = fake.xtask(rest);
                    let refused = REFUSED.iter().find(|(refused, _)| *refused == line);
                    let right = match refused {
                        Some((_, part)) => !good && fake.said().contains(part),
                        None => good,
                    };
                    assert!(right, "{path}: {line}\n{}", fake.said());
                    run += 1;
                }
                ["cargo", name @ ("build" | "test"), rest @ ..] => {
                    let mut command = Command::new(env!("CARGO"));
                    // An image that logs is made in the long version; this one sees that it
                    // compiles.
                    let is_long = std::env::var_os("EQUIPOISE_LONG").is_some();
                    let name = if *name == "build" && !is_long { "check" } else { name };
                    command.arg(name).args(rest).current_dir("..");
                    if name == "test" {
                        command.args(["--workspace", "--features", FEATURES]);
                    }
                    let output = command.output().unwrap();
                    assert!(output.status.success(), "{path}: {line}\n{output:?}");
                    run += 1;
                }
                _ => {
                    panic!("{path}: `{line}` is neither run here nor listed as one that cannot be")
                }
            }
        }
    }
    for (line, _) in CANNOT.iter().chain(&REFUSED) {
        assert!(done.contains(*line), "no document shows `{line}` any more");
    }
    assert!(run >= 8, "only {run} commands were run");
}

/// The calls of probe-rs that `docs/board.md` shows are those that `cargo xtask flash` and `cargo
/// xtask lock` make, in this order.
#[test]
fn shown_calls_are_those_of_xtask() {
    let fake = Fake::new();
    let (_, board) = DOCUMENTS[0];
    let code = markdown::split(board).0.join("\n");
    let shown = code.lines().flat_map(markdown::commands).filter(|words| words[0] == "probe-rs");
    let shown = shown.map(|words| words[1..].join(" "));
    let shown: Vec<String> = shown.filter(|call| !call.contains("target/logging")).collect();
    let mut made = Vec::new();
    for words in [
        &["flash", "--board", "v1"][..],
        &["lock", "--board", "v1", "--yes"],
        &["lock", "--board", "v2", "--yes"],
    ] {
        let (good, calls) = fake.xtask(words);
        assert!(good, "{words:?}: {}", fake.said());
        // The document shows once how a command finds out whether the board is locked.
        let known = calls.iter().position(|call| !call.starts_with("read")).unwrap();
        made.extend(calls.into_iter().skip(if made.is_empty() { 0 } else { known }));
    }
    let built = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let made: Vec<_> =
        made.iter().map(|call| call.replace(&format!("{built}/"), "target/")).collect();
    assert_eq!(shown, made);
}

/// `cargo xtask firmware` leaves the images where `docs/board.md` says.
#[test]
fn images_are_where_they_are_said_to_be() {
    let fake = Fake::new();
    assert!(fake.xtask(&["firmware"]).0, "{}", fake.said());
    let prose = markdown::split(DOCUMENTS[0].1).1.join("\n");
    let spans = markdown::inline_code(&prose);
    let folders: Vec<_> = spans.iter().filter(|span| span.starts_with("target/thumb")).collect();
    assert_eq!(folders.len(), 3, "{folders:?}");
    let built = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    for folder in folders {
        let folder = Path::new("..").join(folder.replacen("target", &built, 1));
        assert!(folder.join("firmware.hex").is_file(), "{}", folder.display());
        let uf2 = folder.to_string_lossy().contains("thumbv8m");
        assert_eq!(folder.join("firmware.uf2").is_file(), uf2, "{}", folder.display());
    }
}
