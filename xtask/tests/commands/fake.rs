//! A probe-rs that writes down its arguments, in front of everything else on the PATH.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Its arguments become a line of the file `calls` beside it. It fails if the first one is the
/// content of the file `fails`, or, with the text of the file `locked`, if there is one and it has
/// no permission to erase everything. The word that it reads is the one in the file `word`.
const SCRIPT: &str = "\
#!/bin/sh
here=${0%/*}
[ \"$1\" = --version ] && exit 0
echo \"$*\" >> \"$here/calls\"
[ \"$1\" = read ] && cat \"$here/word\"
case \"$*\" in
*--allow-erase-all*) ;;
*) cat \"$here/locked\" >&2 2>/dev/null && exit 1 ;;
esac
[ \"$1\" != \"$(cat \"$here/fails\" 2>/dev/null)\" ]
";
/// Words of probe-rs about a locked nRF52 (versions 0.23 to 0.29).
const LOCKED: &str = " WARN probe_rs::vendor::nordicsemi::sequences::nrf52: Core is locked. Erase procedure \
    will be started to unlock it.\nError: Connecting to the chip was unsuccessful.\n\nCaused by:\n    \
    0: An ARM specific error occurred.\n    1: An operation could not be performed because it lacked the \
    permission to do so: erase_all\n";

/// A folder with the fake, removed at the end.
pub struct Fake {
    folder: PathBuf,
    /// Output of the last command.
    said: RefCell<String>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Fake {
    pub fn new() -> Self {
        let fake = Self::missing();
        let program = fake.folder.join("probe-rs");
        fs::write(&program, SCRIPT).unwrap();
        fake.first_word("20001ff8");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        fake
    }

    /// None at all.
    pub fn missing() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("xtask-fake-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self { folder, said: RefCell::default() }
    }

    /// Lets the calls with this first word fail.
    pub fn fail_at(&self, word: &str) {
        fs::write(self.folder.join("fails"), word).unwrap();
    }

    /// The board is an nRF52 that is locked.
    pub fn lock(&self) {
        fs::write(self.folder.join("locked"), LOCKED).unwrap();
    }

    /// The first word of the board's flash, as a debugger reads it.
    pub fn first_word(&self, word: &str) {
        fs::write(self.folder.join("word"), format!("{word} \n")).unwrap();
    }

    /// Runs a command of xtask to its end: whether it succeeded, and the calls of probe-rs.
    pub fn xtask(&self, words: &[&str]) -> (bool, Vec<String>) {
        let calls = self.folder.join("calls");
        let _ = fs::remove_file(&calls);
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.args(words).stdin(Stdio::null()).env("PATH", self.path());
        let output = command.output().unwrap();
        *self.said.borrow_mut() =
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let calls = fs::read_to_string(calls).unwrap_or_default();
        (output.status.success(), calls.lines().map(str::to_owned).collect())
    }

    /// Output of the last command.
    pub fn said(&self) -> String {
        self.said.borrow().clone()
    }

    /// The fake first, and no other probe-rs.
    fn path(&self) -> String {
        let others = std::env::var("PATH").unwrap();
        let others =
            others.split(':').filter(|folder| !Path::new(folder).join("probe-rs").exists());
        std::iter::once(self.folder.to_str().unwrap()).chain(others).collect::<Vec<_>>().join(":")
    }
}

/// The ELF of a board, as xtask names it.
pub fn firmware(board: &str) -> String {
    let target = match board {
        "v1" => "thumbv6m-none-eabi",
        "v2" => "thumbv7em-none-eabihf",
        "pico2" => "thumbv8m.main-none-eabihf",
        other => panic!("no board {other}"),
    };
    let built = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    format!("{built}/{target}/firmware/firmware")
}
