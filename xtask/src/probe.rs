//! `cargo xtask flash | lock | verify | run`: the commands for a real board.
//!
//! With [probe-rs](https://probe.rs) only the pages of the image are written, so a running trial
//! survives an update of a board whose debug port is open. A locked micro:bit can only be erased as
//! a whole, so each command looks at the port before it builds anything, and refuses. Copying the
//! hex file onto the drive of a micro:bit erases the whole chip, the trial included; so does
//! `probe-rs erase`. Both need `--erase-trial`. Copying the UF2 file onto the drive of a Pico 2
//! keeps the trial.

use crate::board::{BoardName, Build, Profile};
use crate::{run, say, shown, tools};
use std::fs;
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Message when neither way to a board is found.
const NO_WAY: &str = "probe-rs is missing (cargo install probe-rs-tools, or https://probe.rs), and the \
    board's drive is not mounted; plug the board in (a Pico 2 with its button BOOTSEL held), or install \
    probe-rs";
const NO_PROBE: &str = "probe-rs is missing: cargo install probe-rs-tools, or see https://probe.rs";
const TRIAL_LOST: &str = "this way the whole chip is erased, and with it a trial that is running, its \
    key and its report. If that is what you want, say --erase-trial; with probe-rs installed a trial on \
    a board that is not locked survives `cargo xtask flash`";

const TRIAL_KEPT: &str = "copying to the drive of a Pico 2 keeps the trial, so --erase-trial needs probe-rs; \
    the command ERASE over the serial line erases a trial too";
const NO_LOCK: &str = "the flash of a Pico 2 is a chip of its own that anybody can read, also through the \
    board's USB socket: there is nothing to lock. See docs/board.md for what that means";

const LOCKED: &str = "the board is locked: its chip lets nobody write, read or verify it before \
    everything on it is erased, the trial, its key and its report included. Nothing was changed";
/// Advice for a locked board, by command.
const LOCKED_FLASH: &str = "finish the trial first: close it and take its report. Then `cargo xtask flash \
    --erase-trial` erases the chip and writes the image; the custodian sets the key and the plan again, and \
    the board must be locked again";
const LOCKED_VERIFY: &str = "`equipoise status` shows the hash of the image that runs: compare it with the \
    SHA-256 that `cargo xtask firmware` prints. Compare the flash itself before a board is locked";
const LOCKED_LOCK: &str = "it need not be locked again";

/// Where the vector table of a micro:bit begins. The word there is the stack's address on a board
/// with a program and all ones on an erased one: zero means that the chip does not show it.
const FIRST_WORD: &str = "0x0";
/// Parts of the messages with which probe-rs refuses a locked nRF52. The first is a warning, the
/// second the error; without the permission to erase everything it goes no further.
const REFUSALS: [&str; 2] = ["Core is locked", "lacked the permission to do so: erase_all"];
/// The permission, as an option of probe-rs.
const ERASE_ALL: &str = "--allow-erase-all";

/// The options of the four commands.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    board: BoardName,
    erase_trial: bool,
    yes: bool,
}

impl Options {
    fn parse(words: &[&str], allowed: &[&str]) -> Result<Self, String> {
        let (mut board, mut erase_trial, mut yes) = (None, false, false);
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match *word {
                "--board" => {
                    board = Some(BoardName::named(rest.next().ok_or_else(which_board)?)?);
                }
                "--erase-trial" if allowed.contains(word) => erase_trial = true,
                "--yes" if allowed.contains(word) => yes = true,
                other => return Err(format!("`{other}` is not an option of this command")),
            }
        }
        let board = board.ok_or_else(which_board)?;
        Ok(Self { board, erase_trial, yes })
    }
}

fn which_board() -> String {
    format!("which board? --board and one of {}", BoardName::NAMES)
}

/// Checked before anything is built, because a build takes a minute.
fn need_probe() -> Result<(), String> {
    if tools::answers("probe-rs") { Ok(()) } else { Err(NO_PROBE.into()) }
}

/// Refuses a board whose debug port is closed, with the way out of this command. One word is read
/// for it, before anything is built.
fn need_open_port(board: BoardName, way_out: &str) -> Result<(), String> {
    if board.lock_word().is_none() {
        return Ok(());
    }
    let read = ["read", "--chip", board.chip(), "b32", FIRST_WORD, "1"];
    let (line, status, said) = ask_probe(&read)?;
    if is_locked(status.success(), &said) {
        return Err(format!("{LOCKED}; {way_out}"));
    }
    if status.success() { Ok(()) } else { Err(format!("`{line}` ended with {status}:\n{said}")) }
}

/// Calls probe-rs for what it says: the call, how it ended, and its words.
fn ask_probe(words: &[&str]) -> Result<(String, ExitStatus, String), String> {
    let mut command = Command::new("probe-rs");
    command.args(words);
    let line = shown(&command);
    say(&line);
    let output = command.output().map_err(|error| format!("`{line}` did not start: {error}"))?;
    let said = [output.stdout, output.stderr].concat();
    Ok((line, output.status, String::from_utf8_lossy(&said).trim_end().to_owned()))
}

/// Starts the image that was written. A newer nRF52 locks itself whenever it starts: if it has done
/// so already, nothing is left to do, and no permission is given that would erase it again.
fn restart(board: BoardName) -> Result<(), String> {
    let (line, status, said) = ask_probe(&["reset", "--chip", board.chip()])?;
    if status.success() {
        return Ok(());
    }
    if is_locked(false, &said) {
        say(
            "the image is written, and the chip has locked itself; unplug the board and plug it in again",
        );
        return Ok(());
    }
    Err(format!("`{line}` ended with {status}:\n{said}"))
}

/// Whether a board is locked, from what probe-rs said when it read the first word.
fn is_locked(was_read: bool, said: &str) -> bool {
    if !was_read {
        return REFUSALS.iter().any(|refusal| said.contains(refusal));
    }
    let mut words = said.split_whitespace();
    words.next_back().is_some_and(|word| word.trim_start_matches("0x").bytes().all(|c| c == b'0'))
}

/// Writes the image to the board and starts it.
pub fn flash(words: &[&str]) -> Result<(), String> {
    let options = Options::parse(words, &["--erase-trial"])?;
    if need_probe().is_ok() {
        if !options.erase_trial {
            need_open_port(options.board, LOCKED_FLASH)?;
        }
        let build = build(options.board)?;
        for arguments in flash_steps(options.board, &build.elf, options.erase_trial) {
            run(Command::new("probe-rs").args(arguments))?;
        }
        return restart(options.board);
    }
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let drive = drives(&mounts, options.board.drive()).into_iter().next().ok_or(NO_WAY)?;
    say(&format!("probe-rs is missing; the board's drive is {}", drive.display()));
    let build = build(options.board)?;
    let image = build.elf.with_extension(options.board.drive_image());
    copy_to_drive(&drive, options.board, &image, options.erase_trial)
}

/// Closes the debug port of the board.
pub fn lock(words: &[&str]) -> Result<(), String> {
    let options = Options::parse(words, &["--yes"])?;
    let (address, value) = options.board.lock_word().ok_or(NO_LOCK)?;
    need_probe()?;
    need_open_port(options.board, LOCKED_LOCK)?;
    if !options.yes {
        print!(
            "This closes the debug port. It can only be opened again by erasing the whole chip, with \
             its trial and key.\nType `lock` to go on: "
        );
        let _ = std::io::stdout().flush();
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        if read.is_err() || line.trim() != "lock" {
            return Err("nothing was changed".into());
        }
    }
    for arguments in lock_steps(options.board, address, value) {
        run(Command::new("probe-rs").args(arguments))?;
    }
    say(
        "the board is locked: `cargo xtask verify` must refuse it from now on, also after its power was \
         off. Its firmware can only be changed by erasing the trial",
    );
    Ok(())
}

/// Compares the flash of the board with the image built from this tree.
pub fn verify(words: &[&str]) -> Result<(), String> {
    let options = Options::parse(words, &[])?;
    need_probe()?;
    need_open_port(options.board, LOCKED_VERIFY)?;
    let build = build(options.board)?;
    run(Command::new("probe-rs").args(["verify", "--chip", options.board.chip()]).arg(&build.elf))?;
    say("the board holds the image of this tree");
    Ok(())
}

/// Writes the image, starts it and shows its log until Ctrl-C.
pub fn start(words: &[&str]) -> Result<(), String> {
    let options = Options::parse(words, &[])?;
    need_probe()?;
    need_open_port(options.board, LOCKED_FLASH)?;
    let build = build(options.board)?;
    run(Command::new("probe-rs").args(["run", "--chip", options.board.chip()]).arg(&build.elf))
}

/// The shipping image, which must leave the journal's pages alone.
fn build(board: BoardName) -> Result<Build, String> {
    let build = Build::make(&tools::compiler()?, board, Profile::Release)?;
    build.write_images()?;
    build.check_journal()?;
    Ok(build)
}

/// The calls of probe-rs that write an image: page by page, so that the journal stays. Where the
/// trial is to be erased, a locked chip may be erased too, in either call: a newer one may have
/// locked itself again between them.
fn flash_steps(board: BoardName, elf: &Path, erase_trial: bool) -> Vec<Vec<String>> {
    let elf = elf.display().to_string();
    let permission = (erase_trial && board.lock_word().is_some()).then_some(ERASE_ALL);
    let call = |name: &'static str| [name, "--chip", board.chip()].into_iter().chain(permission);
    let erase = erase_trial.then(|| call("erase").map(str::to_owned).collect());
    let download = call("download").chain(["--verify", &elf]).map(str::to_owned).collect();
    erase.into_iter().chain([download]).collect()
}

/// The calls of probe-rs that lock a board: the configuration word is written through the flash
/// controller (NVMC), as docs/board.md explains.
fn lock_steps(board: BoardName, address: &str, value: &str) -> Vec<Vec<String>> {
    let write = |address: &str, value: &str| {
        ["write", "--chip", board.chip(), "b32", address, value].map(str::to_owned).to_vec()
    };
    let reset = ["reset", "--chip", board.chip()].map(str::to_owned).to_vec();
    vec![write(NVMC_CONFIG, "1"), write(address, value), write(NVMC_CONFIG, "0"), reset]
}

/// The register that allows writes to flash and to the configuration words, on both chips.
const NVMC_CONFIG: &str = "0x4001E504";

/// Mounted drives of this name, from the text of /proc/mounts.
fn drives(mounts: &str, name: &str) -> Vec<PathBuf> {
    let places = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    // Spaces in a path are written as \040.
    let places = places.map(|place| PathBuf::from(place.replace("\\040", " ")));
    places.filter(|place| place.file_name().is_some_and(|last| last == name)).collect()
}

/// Copies the image to a board's drive, after making sure that it is the right board.
fn copy_to_drive(drive: &Path, board: BoardName, image: &Path, erase: bool) -> Result<(), String> {
    let details = drive.join(board.details());
    let text =
        fs::read_to_string(&details).map_err(|error| format!("{}: {error}", details.display()))?;
    match BoardName::from_details(&text) {
        Some(found) if found == board => {}
        Some(found) => return Err(format!("the drive is that of a board {found}, not {board}")),
        None => return Err(format!("{} names no board that we know", details.display())),
    }
    match (board, erase) {
        (BoardName::V1 | BoardName::V2, false) => return Err(TRIAL_LOST.into()),
        (BoardName::Pico2, true) => return Err(TRIAL_KEPT.into()),
        _ => {}
    }
    say(&format!("copying {} to {}", image.display(), drive.display()));
    let target = drive.join("firmware").with_extension(board.drive_image());
    let bytes = fs::read(image).map_err(|error| format!("{}: {error}", image.display()))?;
    let mut file =
        fs::File::create(&target).map_err(|error| format!("{}: {error}", target.display()))?;
    // The board restarts, and the drive goes away, when the file is complete.
    file.write_all(&bytes).map_err(|error| format!("{}: {error}", target.display()))?;
    let _ = file.sync_all();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without `--erase-trial` no call erases more than the image's pages.
    #[test]
    fn flash_keeps_the_trial() {
        for board in BoardName::ALL {
            let steps = flash_steps(board, Path::new("x"), false);
            let words = steps.concat();
            assert!(!words.iter().any(|word| word.contains("erase")), "{words:?}");
            assert_eq!(steps[0][..2], ["download", "--chip"]);
            let erased = flash_steps(board, Path::new("x"), true);
            assert_eq!(erased[0][0], "erase");
            let permitted = erased.iter().filter(|step| step.iter().any(|word| word == ERASE_ALL));
            let needed = if board.lock_word().is_some() { 2 } else { 0 };
            assert_eq!(permitted.count(), needed, "{erased:?}");
        }
    }

    /// A locked nRF52 is known by the message of probe-rs, a locked nRF51 by a word that cannot be.
    #[test]
    fn locked_board_is_recognised() {
        for refusal in REFUSALS {
            assert!(is_locked(false, &format!(" WARN probe_rs: {refusal}. \nError: no\n")));
        }
        assert!(!is_locked(false, "Error: No connected probes were found.\n"));
        assert!(is_locked(true, "00000000 \n"));
        assert!(!is_locked(true, "20001ff8 \n") && !is_locked(true, "ffffffff\n"));
        assert!(!is_locked(true, ""));
    }

    #[test]
    fn drive_is_found_in_mounts() {
        let mounts = "/dev/sda1 / ext4 rw 0 0\n/dev/sdb /media/a\\040b/MICROBIT vfat rw 0 0\n";
        assert_eq!(drives(mounts, "MICROBIT"), [PathBuf::from("/media/a b/MICROBIT")]);
        assert!(drives(mounts, "RP2350").is_empty());
        assert!(drives("/dev/sdb /media/MICROBIT2 vfat rw 0 0\n", "MICROBIT").is_empty());
    }

    /// The hex file reaches the right board's drive only, and only with `--erase-trial`.
    #[test]
    fn drive_takes_the_right_image() {
        let drive = std::env::temp_dir().join(format!("xtask-drive-{}", std::process::id()));
        fs::create_dir_all(&drive).unwrap();
        fs::write(drive.join("DETAILS.TXT"), "# DAPLink\r\nUnique ID: 9904360254974e45\r\n")
            .unwrap();
        let hex = drive.join("image");
        fs::write(&hex, ":00000001FF\n").unwrap();
        let copied = drive.join("firmware.hex");
        assert!(
            copy_to_drive(&drive, BoardName::V1, &hex, true)
                .unwrap_err()
                .contains("board v2, not v1")
        );
        assert_eq!(copy_to_drive(&drive, BoardName::V2, &hex, false), Err(TRIAL_LOST.into()));
        assert!(!copied.exists());
        assert_eq!(copy_to_drive(&drive, BoardName::V2, &hex, true), Ok(()));
        assert_eq!(fs::read(&copied).unwrap(), fs::read(&hex).unwrap());
        fs::write(drive.join("INFO_UF2.TXT"), "UF2 Bootloader v1.0\r\nBoard-ID: RP2350\r\n")
            .unwrap();
        assert_eq!(copy_to_drive(&drive, BoardName::Pico2, &hex, true), Err(TRIAL_KEPT.into()));
        assert_eq!(copy_to_drive(&drive, BoardName::Pico2, &hex, false), Ok(()));
        assert_eq!(fs::read(drive.join("firmware.uf2")).unwrap(), fs::read(&hex).unwrap());
        fs::remove_dir_all(&drive).unwrap();
    }

    /// The flash controller is open for the word and no longer; a Pico 2 is not locked at all.
    #[test]
    fn lock_opens_and_closes_the_controller() {
        for board in [BoardName::V1, BoardName::V2] {
            let (address, value) = board.lock_word().unwrap();
            let steps = lock_steps(board, address, value);
            let written: Vec<&str> =
                steps.iter().filter_map(|step| step.get(5)).map(String::as_str).collect();
            assert_eq!(written, ["1", value, "0"]);
        }
        assert_eq!(lock(&["--board", "pico2", "--yes"]), Err(NO_LOCK.into()));
    }

    #[test]
    fn options_are_checked() {
        let options =
            Options::parse(&["--board", "v2", "--erase-trial"], &["--erase-trial"]).unwrap();
        assert_eq!(options, Options { board: BoardName::V2, erase_trial: true, yes: false });
        assert!(Options::parse(&["--board", "v2", "--erase-trial"], &[]).is_err());
        assert!(Options::parse(&[], &[]).unwrap_err().contains("which board"));
        assert!(Options::parse(&["--board", "v9"], &[]).unwrap_err().contains("v9"));
    }
}
