//! A ward for the tests: a folder with a virtual device on a serial line, and the program to run in
//! it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_equipoise");
/// The folder of the workspace, with documents and examples.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs the program to its end: exit code, standard output, standard error.
pub fn equipoise(args: &[&str]) -> (Option<i32>, String, String) {
    let out = Command::new(PROGRAM).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (out.status.code(), text(out.stdout), text(out.stderr))
}

/// Arms of the blinded trial.
pub const ARMS: [&str; 2] = ["Placebo", "Verumin"];
/// Edits that turn the example trial into a blinded one of 40 patients with 50 kits an arm.
pub const BLINDED: [(&str, &str); 4] = [
    ("title = ", "blinded = true\ntitle = "),
    ("\"Usual care\", \"Early walking\"", "\"Placebo\", \"Verumin\""),
    ("patients = 4000", "patients = 40\nkits = 50"),
    ("[outcome]", "[kits]\nsite = \"A\"\nuse = 1\nprefix = \"K-\"\ncheck = \"damm\"\n\n[outcome]"),
];

/// A running virtual device; killed at the end, as by a power cut.
pub struct Device(Child);

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Device {
    /// Its process.
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

pub struct Ward {
    folder: tempfile::TempDir,
}

/// Result of a command.
#[derive(Debug)]
pub struct Done {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ward {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// The serial line of the device: a link to its pseudo-terminal.
    pub fn port(&self) -> String {
        self.file("port").display().to_string()
    }

    pub fn device(&self) -> Device {
        let mut child = Command::new(PROGRAM)
            .args(["device", "--pty", "--link"])
            .arg(self.port())
            .arg("--flash")
            .arg(self.file("flash"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Its first line says that the port is there.
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the device did not start");
        Device(child)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(words).current_dir(self.path()).stdin(Stdio::null());
        command.env("XDG_DATA_HOME", self.file("data")).env("USER", "tester");
        command
    }

    pub fn run(&self, words: &[&str]) -> Done {
        done(self.command(words).output().unwrap())
    }

    /// Starts a command that reads its standard input.
    pub fn start(&self, words: &[&str]) -> Child {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs a command with text on its standard input, which it may leave unread.
    pub fn run_with(&self, words: &[&str], input: &str) -> Done {
        let mut child = self.start(words);
        if let Err(error) = child.stdin.take().unwrap().write_all(input.as_bytes()) {
            assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe, "{words:?}");
        }
        done(child.wait_with_output().unwrap())
    }

    /// Runs a command on the device; it must succeed.
    #[track_caller]
    pub fn good(&self, words: &[&str]) -> String {
        let done = self.on_device(words);
        assert_eq!(done.code, 0, "{words:?}: {done:?}");
        done.out
    }

    pub fn on_device(&self, words: &[&str]) -> Done {
        let port = self.port();
        self.run(&[words, &["--port", &port]].concat())
    }

    /// Writes the example trial with something replaced, makes a key and begins the trial. Its
    /// results are open, unless the changes say something else.
    pub fn provision(&self, changes: &[(&str, &str)]) {
        let mut text = equipoise_ward::records::trial_file::EXAMPLE.to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        if !text.contains("\nresults = ") {
            text = text.replacen("[plan]\n", "[plan]\nresults = \"open\"\n", 1);
        }
        std::fs::write(self.file("trial.toml"), text).unwrap();
        assert_eq!(self.run(&["keygen", "key"]).code, 0);
        self.good(&["provision", "trial.toml", "--key-file", "key", "--log", "custodian.jsonl"]);
    }

    /// Makes the pharmacy's list of kits, in the file `k.csv`: its rows, the heading first.
    pub fn kit_list(&self) -> Vec<Vec<String>> {
        let words = ["kits", "list", "trial.toml", "--key-file", "key", "--csv", "-o", "k.csv"];
        let made = self.run(&words);
        assert!(made.code == 0 && made.out.contains("100 kits, 50 of each arm"), "{made:?}");
        let text = std::fs::read_to_string(self.file("k.csv")).unwrap();
        let field = |field: &str| field.trim_matches('"').to_owned();
        text.lines().map(|line| line.split(',').map(field).collect()).collect()
    }

    /// Removes what `provision` kept on this machine in files with this ending.
    pub fn forget_records(&self, ending: &str) {
        for file in std::fs::read_dir(self.file("data").join("equipoise").join("trials")).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|end| end == ending) {
                std::fs::remove_file(path).unwrap();
            }
        }
    }

    /// Every file in the folder but the device's flash and the program's own inputs.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.path().to_owned()];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = std::fs::symlink_metadata(&path).unwrap().file_type();
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() && path != self.file("flash") {
                    files.push(path);
                }
            }
        }
        files
    }
}

/// The one line of JSON that a command printed.
pub fn json(text: &str) -> serde_json::Value {
    assert_eq!(text.lines().count(), 1, "one line of JSON: {text}");
    serde_json::from_str(text).unwrap()
}

fn done(output: Output) -> Done {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Done {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}
