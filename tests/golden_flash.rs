//! Golden flash images: a device of every released version, in the middle of a trial, as its flash was read out.
//!
//! `tests/golden/VERSION-DESIGN.flash` is the flash of a micro:bit v1 (64 pages of 1 KB, the blank end cut off),
//! written by the `Device` of that version. `VERSION-DESIGN.txt` says what that device answered after its next
//! power-up. Images are added, never edited. A version of which there is no image yet gets one with
//! `EQUIPOISE_GOLDEN=write cargo test --test golden_flash`.

#[path = "desk/mod.rs"]
mod desk;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use desk::{Flash, KEY, PAGE, sealed};
use equipoise::device::health::Repeatable;
use equipoise::device::{Device, Held, Rest};
use equipoise::journal::strict::StrictFlash;
use equipoise::wire::Request;

const PAGES: usize = 64;
/// The version of what the parts on flash mean.
const VERSION: &str = "1";
const DESIGNS: [&str; 2] = ["interim", "dp-conse"];

type Board = Device<Box<Held>, Flash, Repeatable>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn board(flash: &Flash, seed: u64) -> Board {
    Device::new(Box::new(Held::BLANK), flash.clone(), Repeatable::new(seed), None)
}

fn ask(board: &mut Board, line: &str) -> String {
    let mut sent = Vec::new();
    board.handle_line(sealed(line).as_bytes(), &mut |reply| sent.extend_from_slice(reply));
    String::from_utf8(sent).unwrap().split('*').next().unwrap().to_string()
}

/// What a device is asked after its flash was read out: the last patient's arm, and two who wait.
const QUESTIONS: [&str; 3] = ["ASSIGN 14 1 0000000e", "OUTCOME 9 1", "LOST 14"];

/// A trial of 20 patients after its 14th: 9, 12, 13 and 14 wait, 4 and 8 are lost.
fn trial(design: &str) -> Flash {
    let flash = Flash(Rc::new(RefCell::new(StrictFlash::new(PAGES, 0xFF))));
    let mut board = board(&flash, 1);
    assert_eq!(ask(&mut board, &Request::Key(KEY).to_string()), "OK");
    let planned = ask(&mut board, &format!("PLAN design={design} features=3 patients=20 epsilon=1"));
    assert!(planned.starts_with("OK trial="), "{planned}");
    for patient in 1..=14 {
        let arm = ask(&mut board, &format!("ASSIGN {patient} {} {patient:08x}", patient % 3));
        assert!(arm.starts_with("ARM "), "{arm}");
        let resolved = match patient {
            9 | 12.. => continue,
            4 | 8 => format!("LOST {patient}"),
            _ => format!("OUTCOME {patient} {}", patient % 2),
        };
        assert_eq!(ask(&mut board, &resolved), format!("OK {patient}"));
        while board.rest() != Rest::Idle {}
    }
    while board.rest() != Rest::Idle {}
    flash
}

/// The questions and what the device on this flash answers.
fn dialogue(flash: &Flash) -> String {
    let mut board = board(flash, 2);
    QUESTIONS.iter().map(|line| format!("{line}\n{}\n", ask(&mut board, line))).collect()
}

/// The bytes of an image with its blank end restored.
fn image(path: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(path).unwrap();
    bytes.resize(PAGES * PAGE, 0xFF);
    bytes
}

fn load(bytes: &[u8]) -> Flash {
    Flash(Rc::new(RefCell::new(StrictFlash::from_bytes(bytes))))
}

/// There is an image of the present version for every design, and the present firmware goes on with it.
#[test]
fn present_images_are_read_and_continued() {
    for design in DESIGNS {
        let path = folder().join(format!("{VERSION}-{design}.flash"));
        let answers = path.with_extension("txt");
        if std::env::var("EQUIPOISE_GOLDEN").as_deref() == Ok("write") && !path.exists() {
            let flash = trial(design);
            let mut bytes = flash.0.borrow().bytes();
            let used = bytes.iter().rposition(|byte| *byte != 0xFF).map_or(0, |last| last + 1);
            bytes.truncate(used);
            std::fs::write(&path, bytes).unwrap();
            std::fs::write(&answers, dialogue(&flash)).unwrap();
        }
        let flash = load(&image(&path));
        assert_eq!(dialogue(&flash), std::fs::read_to_string(&answers).unwrap(), "{design}");
        assert!(ask(&mut board(&flash, 3), "ASSIGN 15 2 0000000f").starts_with("ARM 15 "), "{design}");
        assert_eq!(flash.0.borrow().misuse(), None);
    }
}
