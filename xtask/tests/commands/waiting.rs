//! `cargo xtask` behind another cargo.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Most time for a line that should come at once.
const PATIENCE: Duration = Duration::from_secs(60);

/// While another cargo holds the lock of the build, `cargo xtask` says that it waits.
#[test]
fn waiting_for_cargo_is_said() {
    let folder = std::env::temp_dir().join(format!("xtask-waiting-{}", std::process::id()));
    fs::create_dir_all(folder.join("debug")).unwrap();
    let other = File::create(folder.join("debug/.cargo-lock")).unwrap();
    other.lock().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["xtask", "--help"]).env("CARGO_TARGET_DIR", &folder).current_dir("..");
    let mut waiting = cargo.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(waiting.stderr.take().unwrap()).lines().map_while(Result::ok);
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        // Before that it may wait for the cache of packages, which another cargo may be using.
        let waits = |line: &String| line.contains("waiting for file lock on");
        let _ = sender.send(said.find(|line| waits(line) && !line.contains("package cache")));
    });
    let line = receiver.recv_timeout(PATIENCE);
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert!(matches!(line, Ok(Some(_))), "cargo xtask waits without a word");
}
