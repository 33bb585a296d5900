//! Any flash image is mounted or refused, without a panic, and the same way at the next power-up.
//!
//! Input: one byte that chooses a real device's image, then changes of six bytes each: the word's
//! number and its new value, little-endian. Starting from real images gets past the checksums.
#![no_main]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::OnceLock;

use equipoise::device::health::Repeatable;
use equipoise::testkit::desk::{Desk, Flash, PAGE, PAGES, PLAN};
use equipoise::testkit::strict_flash::StrictFlash;
use equipoise::wire::State;
use libfuzzer_sys::fuzz_target;

/// Images of devices at several moments of their trials.
fn images() -> &'static [Vec<u8>] {
    static IMAGES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    IMAGES.get_or_init(|| {
        let mut images = vec![vec![0xFF; PAGES * PAGE]];
        for plan in [PLAN, "PLAN design=dp-conse features=4 patients=60 better=high results=open epsilon=2"] {
            let mut desk = Desk::running(1, plan);
            for patient in 1..=20 {
                desk.assign(patient, patient % 3);
                desk.ask(&format!("OUTCOME {patient} 1"));
                if patient % 3 == 0 {
                    desk.run_until_idle();
                }
                if patient % 4 == 0 {
                    images.push(desk.flash.0.borrow().bytes());
                }
            }
        }
        images
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((first, changes)) = data.split_first() else { return };
    let images = images();
    let mut image = images[usize::from(*first) % images.len()].clone();
    for change in changes.chunks_exact(6) {
        let word = usize::from(u16::from_le_bytes([change[0], change[1]])) % (image.len() / 4);
        image[word * 4..][..4].copy_from_slice(&change[2..]);
    }
    let flash = Flash(Rc::new(RefCell::new(StrictFlash::from_bytes(&image))));
    let mut desk = Desk::<_>::on(flash, Repeatable::new(1));
    let state = desk.device.state();
    let status = desk.ask("STATUS");
    if state == State::Fault {
        assert!(status.starts_with("ERR"), "a device in fault answers {status}");
        return;
    }
    let mut desk = desk.power_up(2);
    assert_eq!(desk.ask("STATUS"), status, "recovery found something else the second time");
    for line in ["ASSIGN 1 0 00000001", "OUTCOME 3 1", "LOST 6", "REPORT", PLAN] {
        desk.ask(line);
    }
    desk.run_until_idle();
});
