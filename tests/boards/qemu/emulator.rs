//! A micro:bit v1 in QEMU: its serial line, its flash, its reset button and its power switch.
//!
//! QEMU gets three sockets: the serial port, the machine protocol (QMP) and the debugger's. It
//! starts stopped; saved flash goes in through the debugger's `M` packets (which survive resets,
//! unlike loaded files), and comes out through QMP's `memsave`. A thread drains the serial port,
//! for QEMU stalls on an unread socket. Timeouts only turn a hang into a failure; nothing passes or
//! fails by speed.

use crate::qemu::bedside::Bedside;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use xtask::elf::Elf;
use xtask::qemu;

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(30);
/// An instruction takes 2^6 ns, about one cycle at 16 MHz, so that time on the board is a count of
/// instructions; sleep takes no time of ours.
const ICOUNT: &str = "shift=6,sleep=off";
/// Bytes of flash in one debugger packet.
const PACKET: usize = 1024;

/// Counts of the board's 16 MHz timer as instructions.
pub fn instructions(ticks: u32) -> u32 {
    (f64::from(ticks) * 62.5 / 64.0).round() as u32
}

/// The builds of the firmware.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Firmware {
    /// The image that ships.
    Release,
    /// Seeded, with commands that crash it.
    Test,
    /// The same with logs.
    Logging,
}

impl Firmware {
    /// Its ELF, from the environment `cargo xtask test` sets.
    pub fn path(self) -> PathBuf {
        let name = match self {
            Self::Release => "EQUIPOISE_FIRMWARE",
            Self::Test => "EQUIPOISE_FIRMWARE_TEST",
            Self::Logging => "EQUIPOISE_FIRMWARE_LOGGING",
        };
        let path = std::env::var_os(name)
            .unwrap_or_else(|| panic!("{name} is not set: run `cargo xtask test`"));
        assert!(
            Path::new(&path).is_file(),
            "{name}={path:?} is not a file: run `cargo xtask test`"
        );
        path.into()
    }

    pub fn elf(self) -> Elf {
        Elf::parse(std::fs::read(self.path()).unwrap()).expect("the firmware is an ELF")
    }

    /// The address of a symbol.
    pub fn symbol(self, name: &str) -> u32 {
        self.elf().symbol(name).unwrap_or_else(|| panic!("the firmware has no symbol {name}"))
    }

    /// Start and length of the journal.
    pub fn journal(self) -> (u32, u32) {
        let (start, end) = (self.symbol("_journal_start"), self.symbol("_journal_end"));
        (start, end - start)
    }
}

/// A running board.
pub struct Emulator {
    firmware: Firmware,
    qemu: Child,
    directory: TempDir,
    qmp: BufReader<UnixStream>,
    serial: UnixStream,
    lines: Receiver<Vec<u8>>,
}

impl Emulator {
    /// Boots a board whose journal has never been written.
    pub fn boot(firmware: Firmware) -> Self {
        Self::boot_with(firmware, None, &[])
    }

    /// Boots the build that logs, on the journal another one left if there is one.
    pub fn boot_logging(journal: Option<&[u8]>) -> Self {
        Self::boot_with(
            Firmware::Logging,
            journal,
            &["-semihosting-config", "enable=on,target=native"],
        )
    }

    /// Ends QEMU, which writes out what it has buffered, and gives the lines logged, encoded: a
    /// zero ends each.
    pub fn logged(mut self) -> BTreeSet<Vec<u8>> {
        self.qmp("quit", json!({}));
        self.qemu.wait().unwrap();
        let output = std::fs::read(self.directory.path().join("output")).unwrap();
        output
            .split(|byte| *byte == 0)
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect()
    }

    /// The same, one instruction at a time, so that [`Self::trace`] can tell which.
    pub fn boot_traced(firmware: Firmware) -> Self {
        Self::boot_with(firmware, None, &["-singlestep"])
    }

    /// Boots a board on the journal another one left.
    pub fn boot_on(firmware: Firmware, journal: &[u8]) -> Self {
        Self::boot_with(firmware, Some(journal), &[])
    }

    fn boot_with(firmware: Firmware, journal: Option<&[u8]>, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let debugger = qemu::socket(directory.path(), "gdb");
        let qemu = qemu::microbit(&firmware.path(), directory.path())
            .args(["-S", "-chardev", &debugger, "-gdb", "chardev:gdb"])
            .args(["-icount", ICOUNT])
            .args(options)
            .arg("-D")
            .arg(path("log"))
            .stdout(File::create(path("output")).unwrap())
            .spawn()
            .unwrap_or_else(|error| panic!("{}", qemu::not_started(&error)));
        let qmp = BufReader::new(connect(&path("qmp")));
        let serial = connect(&path("serial"));
        let (sender, lines) = channel();
        let mut drain = BufReader::new(serial.try_clone().unwrap());
        std::thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                match drain.read_until(b'\n', &mut line) {
                    Ok(1..) if sender.send(line).is_ok() => {}
                    _ => break,
                }
            }
        });
        let mut emulator = Self { firmware, qemu, directory, qmp, serial, lines };
        emulator.qmp_reply();
        emulator.qmp("qmp_capabilities", json!({}));
        emulator.restore(journal);
        emulator.qmp("cont", json!({}));
        emulator
    }

    /// Sends bytes down the line.
    pub fn send(&mut self, bytes: &[u8]) {
        self.serial.write_all(bytes).expect("QEMU is running");
    }

    /// The next line the board sends, or `None` after a while.
    pub fn line_within(&mut self, patience: Duration) -> Option<String> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Some(String::from_utf8_lossy(line.trim_ascii_end()).into_owned()),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("QEMU closed the serial line"),
        }
    }

    /// Presses the reset button.
    pub fn reset(&mut self) {
        self.qmp("system_reset", json!({}));
    }

    /// Cuts the power at this very moment: what the board had still sent, and the journal's flash.
    pub fn cut_power(mut self) -> (Vec<String>, Vec<u8>) {
        self.qmp("stop", json!({}));
        let (start, length) = self.firmware.journal();
        let flash = self.memory(start, length);
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
        // The line ends with QEMU, so this ends too. A line that was cut short was not sent.
        let sent = self.lines.iter().filter(|line| line.ends_with(b"\n"));
        (
            sent.map(|line| String::from_utf8_lossy(line.trim_ascii_end()).into_owned()).collect(),
            flash,
        )
    }

    /// Has QEMU ended by itself?
    pub fn has_ended(&mut self) -> bool {
        matches!(self.qemu.try_wait(), Ok(Some(_)))
    }

    /// Memory as the processor sees it.
    pub fn memory(&mut self, start: u32, length: u32) -> Vec<u8> {
        let file = self.directory.path().join("memory");
        self.qmp(
            "memsave",
            json!({"val": start, "size": length, "filename": file, "cpu-index": 0}),
        );
        std::fs::read(file).unwrap()
    }

    /// The addresses of the instructions executed meanwhile, of a board that was [booted for
    /// it](Self::boot_traced).
    pub fn trace(&mut self, meanwhile: impl FnOnce(&mut Self)) -> Vec<u32> {
        let log = |board: &mut Self, what: &str| {
            board.qmp("human-monitor-command", json!({"command-line": format!("log {what}")}));
        };
        let file = self.directory.path().join("log");
        let _ = std::fs::write(&file, "");
        log(self, "exec,nochain");
        meanwhile(self);
        log(self, "none");
        // Trace 0: 0x7f12a4000100 [00000000/000006f4/00000110/ff000000] name
        let text = std::fs::read_to_string(file).unwrap();
        let address = |line: &str| u32::from_str_radix(line.split('/').nth(1)?, 16).ok();
        let lines = text.lines().filter(|line| line.starts_with("Trace"));
        let mut addresses: Vec<u32> = lines.filter_map(address).collect();
        // QEMU begins an instruction that touches a device again, to count it right, and logs it
        // twice.
        addresses.dedup();
        addresses
    }

    /// A word of memory, by its symbol.
    pub fn word(&mut self, symbol: &str) -> u32 {
        let bytes = self.memory(self.firmware.symbol(symbol), 4);
        u32::from_le_bytes(bytes.try_into().unwrap())
    }

    /// Writes what QEMU does not load: gaps between the image's segments, which are erased flash on
    /// a board and zeros in QEMU, and a journal.
    fn restore(&mut self, journal: Option<&[u8]>) {
        let mut segments = self.firmware.elf().load_segments();
        segments.sort();
        let gap = |pair: &[(u32, Vec<u8>)]| {
            let end = pair[0].0 + pair[0].1.len() as u32;
            (end, vec![0xFF; pair[1].0.saturating_sub(end) as usize])
        };
        let mut pieces: Vec<(u32, Vec<u8>)> = segments.windows(2).map(gap).collect();
        if let Some(journal) = journal {
            let (start, length) = self.firmware.journal();
            assert_eq!(journal.len(), length as usize);
            pieces.push((start, journal.to_vec()));
        }
        pieces.retain(|(_, bytes)| !bytes.is_empty());
        // A debugger that connects stops the board, at some moment before its first answer. One
        // that asks nothing could stop it after it was started.
        if pieces.is_empty() {
            return;
        }
        let mut debugger = connect(&self.directory.path().join("gdb"));
        for (start, bytes) in &pieces {
            store(&mut debugger, *start, bytes);
        }
        // Kept open until the end: QEMU goes on by itself when a debugger leaves.
        std::mem::forget(debugger);
    }

    fn qmp(&mut self, command: &str, arguments: Value) -> Value {
        let request = json!({"execute": command, "arguments": arguments});
        self.qmp.get_mut().write_all(format!("{request}\n").as_bytes()).expect("QEMU is running");
        self.qmp_reply()
    }

    fn qmp_reply(&mut self) -> Value {
        loop {
            let mut line = String::new();
            self.qmp.read_line(&mut line).expect("QEMU answers");
            assert!(!line.is_empty(), "QEMU has ended");
            let reply: Value = serde_json::from_str(&line).unwrap();
            assert!(reply.get("error").is_none(), "QEMU: {reply}");
            if reply.get("event").is_none() {
                return reply;
            }
        }
    }
}

impl Bedside for Emulator {
    fn ask(&mut self, request: &str) -> String {
        self.send(format!("{request}\n").as_bytes());
        self.line()
    }

    fn line(&mut self) -> String {
        self.line_within(PATIENCE).expect("the board sends nothing")
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

/// Writes memory through the debugger.
fn store(debugger: &mut UnixStream, start: u32, bytes: &[u8]) {
    for (i, bytes) in bytes.chunks(PACKET).enumerate() {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let packet = format!("M{:x},{:x}:{hex}", start as usize + i * PACKET, bytes.len());
        let sum = packet.bytes().fold(0_u8, |sum, byte| sum.wrapping_add(byte));
        debugger.write_all(format!("${packet}#{sum:02x}").as_bytes()).unwrap();
        let mut answer = [0; 7];
        debugger.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"+$OK#9a", "the debugger refused a flash page");
        debugger.write_all(b"+").unwrap();
    }
}

fn connect(path: &Path) -> UnixStream {
    let start = Instant::now();
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => {
                stream.set_read_timeout(None).unwrap();
                return stream;
            }
            Err(error) if start.elapsed() > PATIENCE => panic!("{}: {error}", path.display()),
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}
