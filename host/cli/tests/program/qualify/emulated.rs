//! The firmware of the three boards on a pseudo-terminal, qualified as a board is: the micro:bit v1
//! under QEMU, the v2 and the Pico 2 under the models in `tests/boards`. The images are those that
//! `cargo xtask test` names in the environment.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{checks, interrupted_after};
use crate::common::ward::Ward;
use sha2::{Digest as _, Sha256};

/// Resets the machine, which stands for a loss of power: flash and RAM of QEMU live as long as it.
const RESET: &str = "\
import json, socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
read = line.makefile('r')
read.readline()
for command in ['qmp_capabilities', 'system_reset']:
    line.sendall((json.dumps({'execute': command}) + '\\n').encode())
    while 'return' not in json.loads(read.readline()):
        pass
";

struct Emulator(Child);

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// QEMU with an image, its control in the socket `qmp`; and the path of its serial line.
fn emulator(image: &Path, folder: &Path) -> (Emulator, String) {
    let control = format!("unix:{},server=on,wait=off", folder.join("qmp").display());
    let mut child = Command::new("qemu-system-arm")
        .args(["-M", "microbit", "-display", "none", "-monitor", "none", "-kernel"])
        .arg(image)
        .args(["-serial", "pty", "-qmp", &control])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.split(' ').find(|word| word.starts_with("/dev/")).map(str::to_owned);
    (Emulator(child), port.unwrap_or_else(|| panic!("no pseudo-terminal: {line}")))
}

/// The hash of an image; flash between its parts reads as `between`: zero under QEMU, else ones.
fn hash(image: &Path, between: u8) -> String {
    let elf = xtask::elf::Elf::parse(std::fs::read(image).unwrap()).unwrap();
    let parts = elf.load_segments();
    let begin = parts.iter().map(|(at, _)| *at as usize).min().unwrap();
    let end = parts.iter().map(|(at, bytes)| *at as usize + bytes.len()).max().unwrap();
    let mut flash = vec![between; end - begin];
    for (at, bytes) in &parts {
        flash[*at as usize - begin..][..bytes.len()].copy_from_slice(bytes);
    }
    Sha256::digest(&flash).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The emulated v1 passes every check, its image's hash among them. A computer that is busy with
/// other tests delays an emulated board, so its replies may be late; they are never early.
/// Requirement W27.
#[test]
fn the_emulated_v1_passes() {
    let image = named("EQUIPOISE_FIRMWARE");
    let ward = Ward::new();
    let (_emulator, port) = emulator(&image, ward.path());
    std::fs::write(ward.file("reset.py"), RESET).unwrap();
    std::fs::write(ward.file("images.txt"), format!("{} v1\n", hash(&image, 0))).unwrap();
    passes(&ward, &port, "python3 reset.py qmp");
}

/// A path that `cargo xtask test` names in the environment.
fn named(variable: &str) -> PathBuf {
    std::env::var_os(variable).expect("cargo xtask test names it").into()
}

/// Qualifies a board; late replies alone are forgiven.
fn passes(ward: &Ward, port: &str, power: &str) {
    let words = ["qualify", "--port", port, "--out", "result", "--power", power];
    let done = ward.run(&[&words[..], &["--images", "images.txt", "--yes"]].concat());
    let record = std::fs::read_to_string(ward.file("result/qualification.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let failed = checks(&record, "failed");
    assert!(failed.iter().all(|id| ["P-03", "P-08"].contains(id)), "{done:?}\n{record:#}");
    assert!(!record.to_string().contains("too early"), "{record:#}");
    assert_eq!(done.code, i32::from(!failed.is_empty()), "{done:?}");
    assert!(checks(&record, "not-applicable").is_empty(), "{record:#}");
}

/// A chip's model on a pseudo-terminal, with its control in the socket `control`.
struct Bridge(Child, PathBuf);

impl Bridge {
    fn boot(chip: &str, image: &Path, folder: &Path) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (port, control) = (folder.join("port"), folder.join("control"));
        let child = Command::new(named("EQUIPOISE_PYTHON"))
            .arg("-B")
            .arg(root.join("tests/boards/emulation/bridge.py"))
            .arg(chip)
            .args([image, Path::new("1"), &port, &control])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut bridge = Self(child, control);
        // The link is made when the firmware has booted.
        while !port.exists() {
            assert!(bridge.0.try_wait().unwrap().is_none(), "the emulator ended");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        bridge
    }

    /// Acts of the board that the specification of the chip forbids, as JSON.
    fn violations(&self) -> String {
        let mut control = UnixStream::connect(&self.1).unwrap();
        control.write_all(b"violations\n").unwrap();
        let mut found = String::new();
        control.read_to_string(&mut found).unwrap();
        found
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Says a word to the bridge, and waits until it is done.
const WORD: &str = "\
import socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect('control')
line.sendall((sys.argv[1] + '\\n').encode())
line.recv(1)
";

/// Qualifies the model of a chip: all stages in the long version, lines and key in the short one.
fn chip_passes(chip: &str, variable: &str) {
    let (ward, image) = (Ward::new(), named(variable));
    let bridge = Bridge::boot(chip, &image, ward.path());
    std::fs::write(ward.file("word.py"), WORD).unwrap();
    std::fs::write(ward.file("images.txt"), format!("{} x\n", hash(&image, 0xFF))).unwrap();
    if std::env::var_os("EQUIPOISE_LONG").is_none() {
        interrupted_after(&ward, &["rules", "kits", "capacity", "noise and times"]);
    }
    passes(&ward, &ward.port(), "python3 word.py power");
    assert_eq!(bridge.violations(), "[]");
}

/// The emulated v2 passes every check, over a pseudo-terminal and with power cuts of the emulator.
/// Requirement W27.
#[test]
fn the_emulated_v2_passes() {
    chip_passes("nrf52833", "EQUIPOISE_FIRMWARE_V2");
}

/// The emulated Pico 2 passes as well. Requirement W27.
#[test]
fn the_emulated_pico_2_passes() {
    chip_passes("rp2350", "EQUIPOISE_FIRMWARE_PICO2");
}
