//! The memory of the program: no dump holds it, and keys do not stay in it.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use equipoise::wire::{FileDigest, Request, TrialId};
use equipoise_ward::records::keys::KeyFile;
use rustix::process::{Pid, Signal, kill_process};

use super::*;

/// A user without rights, whose processes show whether they are dumpable by the owner of their
/// files in /proc.
const NOBODY: u32 = 65534;

/// A process, killed at the end.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Ends a process as a fault in it would; whether a dump was written.
fn crash(Running(child): &mut Running) -> bool {
    kill_process(Pid::from_child(child), Signal::QUIT).unwrap();
    let end = child.wait().unwrap();
    assert_eq!(end.signal(), Some(Signal::QUIT.as_raw()), "{end:?}");
    end.core_dumped()
}

/// A program in a folder, allowed to leave dumps of any size there. It does not ignore SIGQUIT, as
/// the programs of a background shell do: it would never crash.
fn start(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("prlimit");
    command.args(["--core=unlimited", "env", "--default-signal=QUIT"]);
    command.args(words).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// A running device leaves no dump, is allowed none, and cannot be looked into by other programs of
/// its user, whatever limits it was started with. Requirement W20.
#[test]
fn a_crash_leaves_no_dump() {
    let ward = Ward::new();
    // The copy is one that every user may run.
    let program = ward.file("equipoise");
    std::fs::copy(PROGRAM, &program).unwrap();
    let all = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(ward.path(), all.clone()).unwrap();
    std::fs::set_permissions(&program, all).unwrap();
    let program = program.display().to_string();
    let mut device = start(ward.path(), &[&program, "device", "--flash", "flash", "--pty"]);
    let root = rustix::process::getuid().is_root();
    if root {
        device.uid(NOBODY).gid(NOBODY);
    }
    let mut device = Running(device.spawn().unwrap());
    let mut port = String::new();
    BufReader::new(device.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    assert!(!port.is_empty(), "the device runs");
    let about = |file: &str| format!("/proc/{}/{file}", device.0.id());
    let limits = std::fs::read_to_string(about("limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"], "{core}");
    // The system gives the memory of a process that is not dumpable to root.
    assert_eq!(std::fs::metadata(about("mem")).unwrap().uid(), 0);
    assert!(!crash(&mut device), "a dump was written");
    let files = ward.files();
    assert!(!files.iter().any(|file| file.display().to_string().contains("core")), "{files:?}");

    // Another program with the same limits shows that dumps are possible here at all.
    let mut other = start(ward.path(), &["cat"]);
    if root {
        other.uid(NOBODY).gid(NOBODY);
    }
    let mut other = Running(other.spawn().unwrap());
    // It runs, and is no longer `prlimit`.
    while std::fs::read_to_string(format!("/proc/{}/comm", other.0.id())).unwrap().trim() != "cat" {
        std::thread::yield_now();
    }
    let owner = std::fs::metadata(format!("/proc/{}/mem", other.0.id())).unwrap().uid();
    assert_eq!(owner, if root { NOBODY } else { rustix::process::getuid().as_raw() });
    if !crash(&mut other) {
        eprintln!("this machine writes no dumps: only limits and rights were looked at");
    }
}

/// Bytes that are looked for. They are kept masked, or the search would find itself.
struct Masked(Vec<u8>);

/// Bytes of a piece: if a part of a secret was overwritten by chance, the others are still found.
const PIECE: usize = 8;

const MASK: u8 = 0xA5;
/// Bytes of memory that are looked at at once.
const CHUNK: usize = 1 << 20;

impl Masked {
    /// Whether a piece of them is anywhere in the memory that this process can write to.
    fn is_in_memory(&self) -> bool {
        let memory = File::open("/proc/self/mem").unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut chunk = vec![0; CHUNK];
        maps.lines().filter(|line| line.contains(" rw")).any(|line| {
            let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let [from, to] = [from, to].map(|place| u64::from_str_radix(place, 16).unwrap());
            // Chunks overlap, so that nothing lies across a border.
            (from..to).step_by(CHUNK - PIECE).any(|place| {
                let length = CHUNK.min((to - place) as usize);
                let chunk = &mut chunk[..length];
                chunk.fill(0);
                // A part of a stack may not be there yet.
                let read = memory.read_at(chunk, place).unwrap_or(0);
                let found = self.is_in(&chunk[..read]);
                chunk.fill(0);
                std::hint::black_box(&chunk);
                found
            })
        })
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        let (pieces, _) = self.0.as_chunks::<PIECE>();
        pieces.iter().any(|piece| {
            let first = piece[0] ^ MASK;
            let mut at = 0;
            while let Some(next) = bytes[at..].iter().position(|byte| *byte == first) {
                at += next;
                let rest = bytes[at..].iter().map(|byte| byte ^ MASK);
                if bytes.len() - at >= PIECE && rest.zip(piece).all(|(a, b)| a == *b) {
                    return true;
                }
                at += 1;
            }
            false
        })
    }
}

/// The digits of a key file and the bytes they stand for, read digit by digit.
fn masked(path: &Path) -> [Masked; 2] {
    let mut file = File::open(path).unwrap();
    let (mut digits, mut bytes) = (Masked(Vec::new()), Masked(Vec::new()));
    let mut byte = 0;
    for place in 0..64 {
        let mut digit = [0];
        file.read_exact(&mut digit).unwrap();
        digits.0.push(digit[0] ^ MASK);
        byte = byte << 4 | char::from(digit[0]).to_digit(16).unwrap() as u8;
        if place % 2 == 1 {
            bytes.0.push(byte ^ MASK);
            byte = 0;
        }
    }
    [digits, bytes]
}

/// Uses a key as the commands do: in calls that end before the key is dropped, and deep enough
/// that the search does not overwrite what they leave on the stack.
#[inline(never)]
fn use_for_everything(key: &KeyFile) {
    let depth = std::hint::black_box([0_u8; 16_384]);
    use_here(key);
    std::hint::black_box(&depth);
}

#[inline(never)]
fn use_here(key: &KeyFile) {
    let sent = Request::Key(key.bytes()).to_line().unwrap();
    let proof = key.proof(&[1; 16], TrialId([2; 8]), &Request::Close);
    let (file, kits) = (FileDigest([3; 8]), 40);
    assert!(sent.as_bytes().starts_with(b"KEY "));
    assert_ne!(proof[..], key.kit_seal(file, b"")[..16]);
    let _ = std::hint::black_box(key.kit_key(file, kits));
}

/// A key that was made, read, sent and used for proofs, seals and kits is nowhere in memory after
/// its last use, neither as bytes nor as text. Requirement W20.
#[test]
fn no_key_stays_in_memory() {
    let ward = Ward::new();
    let path = ward.file("key");
    drop(KeyFile::generate(&path).unwrap());
    let [digits, bytes] = masked(&path);
    assert!(!digits.is_in_memory() && !bytes.is_in_memory(), "a new key");
    // Four, for the search itself may take the memory that one of them had.
    let keys = [(); 4].map(|()| KeyFile::read(&path).unwrap());
    assert!(bytes.is_in_memory(), "the search finds a key that is there");
    keys.iter().for_each(use_for_everything);
    drop(keys);
    assert!(!bytes.is_in_memory(), "the bytes of a key that was used");
    assert!(!digits.is_in_memory(), "the digits of a key that was used");
}
