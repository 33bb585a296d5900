//! The firmware of the micro:bit v1 under QEMU, on a pseudo-terminal, qualified as a board is. The
//! image is the one that `cargo xtask test` names in the environment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::checks;
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

/// The hash of an image as QEMU has it: flash between its parts reads zero there, not ones.
fn hash(image: &Path) -> String {
    let elf = xtask::elf::Elf::parse(std::fs::read(image).unwrap()).unwrap();
    let parts = elf.load_segments();
    let end = parts.iter().map(|(at, bytes)| *at as usize + bytes.len()).max().unwrap();
    let mut flash = vec![0; end];
    for (at, bytes) in &parts {
        flash[*at as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    Sha256::digest(&flash).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The emulated v1 passes every check, its image's hash among them. A computer that is busy with
/// other tests delays an emulated board, so its replies may be late; they are never early.
#[test]
fn the_emulated_v1_passes() {
    let image = std::env::var_os("EQUIPOISE_FIRMWARE").expect("cargo xtask test names the image");
    let ward = Ward::new();
    let (_emulator, port) = emulator(Path::new(&image), ward.path());
    std::fs::write(ward.file("reset.py"), RESET).unwrap();
    let hash = hash(Path::new(&image));
    std::fs::write(ward.file("images.txt"), format!("{hash} v1\n")).unwrap();
    let power = "python3 reset.py qmp";
    let words = ["qualify", "--port", &port, "--out", "result", "--power", power];
    let done = ward.run(&[&words[..], &["--images", "images.txt", "--yes"]].concat());
    let record = std::fs::read_to_string(ward.file("result/qualification.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let failed = checks(&record, "failed");
    assert!(failed.is_empty() || failed == ["P-03"], "{done:?}\n{record:#}");
    assert!(!record.to_string().contains("too early"), "{record:#}");
    assert_eq!(done.code, i32::from(!failed.is_empty()), "{done:?}");
    assert!(checks(&record, "not-applicable").is_empty(), "{record:#}");
}
