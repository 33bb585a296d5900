//! Golden flash images: a device of every released version, in the middle of a trial, as its flash
//! was read out.
//!
//! `tests/golden/VERSION-DESIGN.flash` is the flash of a device (64 pages of 1 KB, the blank
//! end cut off), written by the `Device` of that version. `VERSION-DESIGN.txt` says what that
//! device answered after its next power-up. Images are added, never edited. A version of which
//! there is no image yet gets one with `EQUIPOISE_GOLDEN=write cargo test --test device
//! golden_flash::`.

use equipoise::testkit::desk;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use desk::{Flash, KEY, PAGE, sealed};
use equipoise::board::in_memory::InMemory;
use equipoise::device::health::Repeatable;
use equipoise::testkit::order;
use equipoise::testkit::strict_flash::StrictFlash;
use equipoise::trial::stored::STATE_VERSION;
use equipoise::wire::Request;

const PAGES: usize = 64;
/// The journal's format in images of other state versions.
const JOURNALS: [(u8, u8); 1] = [(1, 2)];
const DESIGNS: [&str; 4] = ["interim", "uniform", "dp-conse", "blinded"];

/// Bytes of the v1's journal pages.
const V1_PAGE: usize = 2048;

type GoldenDevice<const P: usize = PAGE> = InMemory<Flash<P>, Repeatable, 64, 256>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn board<const P: usize>(flash: &Flash<P>, seed: u64) -> GoldenDevice<P> {
    let mut board = GoldenDevice::asleep(flash.clone(), Repeatable::new(seed), None);
    board.power_up();
    board
}

fn ask<const P: usize>(board: &mut GoldenDevice<P>, line: &str) -> String {
    let mut sent = Vec::new();
    board.exchange((sealed(line) + "\n").as_bytes(), &mut sent);
    String::from_utf8(sent).unwrap().split('*').next().unwrap().to_string()
}

/// Questions to a device after its flash was read out: the last patient's arm, and two who wait.
const QUESTIONS: [&str; 3] = ["ASSIGN 14 1 0000000e", "OUTCOME 9 1", "LOST 14"];

/// A trial of 20 patients after its 14th: 9, 12, 13 and 14 wait, 4 and 8 are lost.
fn trial(design: &str) -> Flash {
    let flash = Flash(Rc::new(RefCell::new(StrictFlash::new(PAGES, 0xFF))));
    let mut board = board(&flash, 1);
    assert_eq!(ask(&mut board, &Request::Key(KEY).to_string()), "OK");
    let design = if design == "blinded" { "interim kits=30" } else { design };
    let plan = format!(
        "PLAN design={design} features=3 patients=20 better=high epsilon=1 file=0011223344556677"
    );
    let planned = order(KEY, &plan, |line| ask(&mut board, line));
    assert!(planned.starts_with("OK trial="), "{planned}");
    for patient in 1..=14 {
        let arm = ask(&mut board, &format!("ASSIGN {patient} {} {patient:08x}", patient % 3));
        assert!(arm.starts_with("ARM ") || arm.starts_with("KIT "), "{arm}");
        let resolved = match patient {
            9 | 12.. => continue,
            4 | 8 => format!("LOST {patient}"),
            _ => format!("OUTCOME {patient} {}", patient % 2),
        };
        assert_eq!(ask(&mut board, &resolved), format!("OK {patient}"));
        board.run_until_idle();
    }
    board.run_until_idle();
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

fn load<const P: usize>(bytes: &[u8]) -> Flash<P> {
    Flash(Rc::new(RefCell::new(StrictFlash::from_bytes(bytes))))
}

/// The images in the folder, each with the version and the design of its name.
fn images() -> Vec<(PathBuf, u8, String)> {
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let images = files.filter(|path| path.extension().is_some_and(|end| end == "flash"));
    images
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let (version, design) = name.split_once('-').unwrap();
            (path, version.parse().unwrap(), design.to_owned())
        })
        .collect()
}

/// A firmware names the version it finds, refuses every request, and leaves every byte as it is.
/// Requirement D11.
#[test]
fn other_versions_are_refused_untouched() {
    let others: Vec<_> =
        images().into_iter().filter(|(_, version, _)| *version != STATE_VERSION).collect();
    assert!(others.len() >= 2, "the images of version 1 are gone");
    for (path, version, design) in others {
        let bytes = image(&path);
        let flash: Flash = load(&bytes);
        let mut board = board(&flash, 2);
        let hello = ask(&mut board, "HELLO");
        let (_, stored) =
            hello.split_once(" foreign ").unwrap_or_else(|| panic!("{version}-{design}: {hello}"));
        // By the state's version, or by the journal's format where that is another one too.
        let journal = JOURNALS.iter().filter(|(state, _)| *state == version);
        let mut names = journal.map(|(_, format)| format!("stored=journal-{format}"));
        assert!(
            stored == format!("stored=state-{version}") || names.any(|name| name == stored),
            "{stored}"
        );
        let key = Request::Key([1; 32]).to_string();
        let plan = "PLAN features=1 patients=20 better=high epsilon=1";
        for line in
            QUESTIONS.iter().chain(&["STATUS", "REPORT", "AUTH", "CLOSE", "ERASE", plan, &key])
        {
            let name = Request::parse(line.as_bytes()).unwrap().name();
            let refusal = format!("ERR foreign re={name} {stored} use the firmware that wrote it");
            assert_eq!(ask(&mut board, line), refusal, "{design}: {line}");
            assert!(!board.step() || !board.step(), "{design}: {line} leaves work");
        }
        assert!(flash.0.borrow().bytes() == bytes, "{design}: the flash was changed");
        assert_eq!(flash.0.borrow().operations(), 0, "{design}");
    }
}

/// A v1 had 64 journal pages of 1 KB where the second half of its journal is now. A new firmware on
/// such a board does not take it for blank, and leaves every byte as it is.
#[test]
fn an_updated_v1_is_not_taken_for_blank() {
    for (path, version, design) in images() {
        let bytes = [vec![0xFF; PAGES * (V1_PAGE - PAGE)], image(&path)].concat();
        let flash = load::<V1_PAGE>(&bytes);
        let hello = ask(&mut board(&flash, 2), "HELLO");
        let journal = JOURNALS.iter().find(|(state, _)| *state == version);
        let expected = journal
            .map_or(" fault".to_owned(), |(_, format)| format!(" foreign stored=journal-{format}"));
        assert!(hello.contains(&expected), "{version}-{design}: {hello}");
        assert!(flash.0.borrow().bytes() == bytes, "{version}-{design}: the flash was changed");
    }
}

/// The present firmware goes on with images of its own version, from a file or just made.
#[test]
fn present_images_are_read_and_continued() {
    for design in DESIGNS {
        let made = trial(design);
        let answers = dialogue(&load(&made.0.borrow().bytes()));
        let path = folder().join(format!("{STATE_VERSION}-{design}.flash"));
        if std::env::var("EQUIPOISE_GOLDEN").as_deref() == Ok("write") && !path.exists() {
            let mut bytes = made.0.borrow().bytes();
            let used = bytes.iter().rposition(|byte| *byte != 0xFF).map_or(0, |last| last + 1);
            bytes.truncate(used);
            std::fs::write(&path, bytes).unwrap();
            std::fs::write(path.with_extension("txt"), &answers).unwrap();
        }
        goes_on(&made, &answers);
        let told = std::fs::read_to_string(path.with_extension("txt"));
        let told =
            told.unwrap_or_else(|error| panic!("{}: {error}; see the header", path.display()));
        goes_on(&load(&image(&path)), &told);
    }
}

fn goes_on(flash: &Flash, answers: &str) {
    assert_eq!(dialogue(flash), answers);
    let next = ask(&mut board(flash, 3), "ASSIGN 15 2 0000000f");
    assert!(next.starts_with("ARM 15 ") || next.starts_with("KIT 15 "), "{next}");
    assert_eq!(flash.0.borrow().misuse(), None);
}
