//! An emulated board: a Python process that runs `board.py`, spoken to in lines of JSON.
//!
//! Time on the board is virtual, so nothing here passes or fails by the speed of the machine. When
//! a board is dropped after a test that passed, it must not have done anything that the chip's
//! specification forbids.

use super::Chip;
use crate::qemu::bedside::Bedside;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The builds of the firmware.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Firmware {
    /// The image that ships.
    Release,
    /// Seeded, with commands that crash it.
    Test,
}

impl Firmware {
    /// Its ELF for a chip.
    pub fn path(self, chip: &Chip) -> PathBuf {
        path(match self {
            Self::Release => chip.release,
            Self::Test => chip.test,
        })
    }
}

/// A path from the environment that `cargo xtask test` sets.
fn path(name: &str) -> PathBuf {
    let path = std::env::var_os(name)
        .unwrap_or_else(|| panic!("{name} is not set: run `cargo xtask test`"));
    assert!(Path::new(&path).is_file(), "{name}={path:?} is not a file: run `cargo xtask test`");
    path.into()
}

/// A board with power.
pub struct EmulatedBoard {
    chip: &'static Chip,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// The power failed.
#[derive(Debug)]
pub struct Cut;

impl EmulatedBoard {
    /// Switches on a board whose journal has never been written. `seed` is for its noise and its
    /// torn flash.
    pub fn boot(chip: &'static Chip, firmware: Firmware, seed: u32) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/boards/emulation/board.py");
        let mut process = Command::new(path("EQUIPOISE_PYTHON"))
            .arg("-B")
            .arg(script)
            .arg(chip.name)
            .arg(firmware.path(chip))
            .arg(seed.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("the emulator did not start: {error}"));
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut board = Self { chip, process, input, output: BufReader::new(output) };
        board.start();
        board
    }

    /// Lets the board boot until it is ready for requests.
    pub fn start(&mut self) {
        self.try_start().expect("the power is on");
    }

    /// The same where the power may fail.
    pub fn try_start(&mut self) -> Result<(), Cut> {
        let answer = self.tell(json!({"do": "start", "limit": self.chip.boot}))?;
        assert!(answer["ready"] == true, "the board does not boot in time");
        Ok(())
    }

    fn tell(&mut self, command: Value) -> Result<Value, Cut> {
        writeln!(self.input, "{command}")
            .expect("the emulator runs; is the Python package `unicorn` installed?");
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        assert!(
            !answer.is_empty(),
            "the emulator ended at {:.80}; see its message above",
            command.to_string()
        );
        let answer: Value = serde_json::from_str(&answer).unwrap();
        if answer["cut"] == true { Err(Cut) } else { Ok(answer) }
    }

    fn does(&mut self, command: Value) -> Value {
        self.tell(command).expect("the power is on")
    }

    /// Runs for so many microseconds.
    pub fn run(&mut self, time: u64) {
        self.does(json!({"do": "run", "time": time}));
    }

    /// Puts bytes on the line at 115200 baud, beginning `after` microseconds from now.
    pub fn send(&mut self, bytes: &[u8], after: u64) {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.does(json!({"do": "send", "hex": hex, "after": after}));
    }

    /// The next line the board sends within so many microseconds, and the moment its first byte
    /// began.
    pub fn try_line(&mut self, within: u64) -> Result<Option<(String, f64)>, Cut> {
        let answer = self.tell(json!({"do": "line", "limit": within}))?;
        let line = answer["line"].as_str().map(str::to_owned);
        Ok(line.map(|line| (line, answer["began"].as_f64().unwrap())))
    }

    /// Lets the power fail in the flash operation, or in the page erase, so many from here.
    pub fn cut_at(&mut self, operation: u32, erase: bool) {
        self.does(json!({"do": "cut", "operation": operation, "erase": erase}));
    }

    /// The power fails no more.
    pub fn never_cut(&mut self) {
        self.cut_at(u32::MAX, false);
    }

    /// Switches the power on again; RAM holds anything.
    pub fn power_up(&mut self) {
        self.does(json!({"do": "power"}));
    }

    /// Presses the reset button. The `others` are further reasons that the chip reports.
    pub fn press_reset(&mut self, others: u32) {
        self.reset("pin", others);
    }

    /// Resets the chip by software, without a mark of the firmware's handlers.
    pub fn reset_by_software(&mut self) {
        self.reset("software", 0);
    }

    fn reset(&mut self, cause: &str, others: u32) {
        self.does(json!({"do": "reset", "cause": cause, "others": others}));
        self.start();
    }

    /// Switches the noise source on or off, or makes it give the same byte for ever.
    pub fn set_noise(&mut self, on: bool, stuck: Option<u8>) {
        self.does(json!({"do": "noise", "on": on, "stuck": stuck}));
    }

    /// Makes the next flash operation stop the processor for so many microseconds.
    pub fn slow_flash(&mut self, time: u32) {
        self.does(json!({"do": "slow", "time": time}));
    }

    /// Changes a property of this chip.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.does(json!({"do": "set", "name": name, "value": value.into()}));
    }

    /// The word behind a symbol.
    pub fn word(&mut self, symbol: &str) -> u64 {
        self.does(json!({"do": "word", "symbol": symbol}))["word"].as_u64().unwrap()
    }

    /// Fills the journal with these bytes.
    pub fn store_journal(&mut self, byte: impl FnMut() -> u8) {
        let bytes = std::iter::repeat_with(byte).take(self.chip.journal);
        let hex: String = bytes.map(|byte| format!("{byte:02x}")).collect();
        self.does(json!({"do": "store", "hex": hex}));
    }

    /// Reads the observations.
    pub fn state(&mut self) -> State {
        let state = self.does(json!({"do": "state"}));
        State {
            wire_free: state["wire_free"].as_f64().unwrap(),
            overruns: state["overruns"].as_u64().unwrap(),
            operations: state["operations"].as_u64().unwrap(),
            erases: state["erases"]
                .as_array()
                .unwrap()
                .iter()
                .map(|n| n.as_u64().unwrap())
                .collect(),
            lit: state["lit"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect(),
            resets: state["resets"]
                .as_array()
                .unwrap()
                .iter()
                .map(|cause| cause.as_u64().unwrap())
                .collect(),
            violations: state["violations"]
                .as_array()
                .unwrap()
                .iter()
                .map(|text| text.to_string())
                .collect(),
        }
    }
}

/// Observations since the board was made.
#[derive(Debug)]
pub struct State {
    /// When the last byte sent to it had arrived.
    pub wire_free: f64,
    /// Bytes the UART lost.
    pub overruns: u64,
    /// Flash operations.
    pub operations: u64,
    /// Erases of each page of the journal.
    pub erases: Vec<u64>,
    /// LED events since the last call, in the chip's own form.
    pub lit: Vec<u64>,
    /// Causes of its resets: 0 power, 1 the pin, 2 the watchdog, 4 software, 8 a lock-up.
    pub resets: Vec<u64>,
    /// Violations of the specification.
    pub violations: Vec<String>,
}

impl Bedside for EmulatedBoard {
    fn ask(&mut self, line: &str) -> String {
        self.send(format!("{line}\n").as_bytes(), 0);
        self.line()
    }

    fn line(&mut self) -> String {
        self.try_line(self.chip.patience).expect("the power is on").expect("the board answers").0
    }
}

impl Drop for EmulatedBoard {
    fn drop(&mut self) {
        let violations =
            if std::thread::panicking() { Vec::new() } else { self.state().violations };
        let _ = self.process.kill();
        let _ = self.process.wait();
        assert!(violations.is_empty(), "{violations:#?}");
    }
}
