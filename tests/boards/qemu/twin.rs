//! The board and a host, given the same noise and the same requests, say the same: byte for byte.

use crate::qemu::bedside::{Bedside, Dice, KEY, hex, sealed, tag};
use crate::qemu::emulator::{Emulator, Firmware};
use crate::times;
use equipoise::board::in_memory::InMemory;
use equipoise::board::rehearsal::Rehearsal;
use equipoise::device::health::Entropy;
use equipoise::testkit::order;
use equipoise::testkit::strict_flash::StrictFlash;
use equipoise::wire::{ImageHash, Restart, unhex};

const PAGE: usize = 2048;

struct Rehearsed(Rehearsal);

impl Entropy for Rehearsed {
    fn sample(&mut self) -> Option<u8> {
        Some(self.0.byte())
    }
}

/// Something that answers a request with all its lines.
trait Twin {
    fn answer(&mut self, request: &str) -> String;
}

impl Twin for InMemory<StrictFlash<PAGE>, Rehearsed, 64, 256> {
    fn answer(&mut self, request: &str) -> String {
        let mut reply = Vec::new();
        self.exchange((sealed(request) + "\n").as_bytes(), &mut reply);
        self.run_until_idle();
        String::from_utf8(reply).unwrap()
    }
}

impl Twin for Emulator {
    fn answer(&mut self, request: &str) -> String {
        let mut reply = self.ask(&sealed(request)) + "\n";
        if request == "REPORT" {
            while reply.lines().last().is_some_and(|line| line.starts_with("ROW ")) {
                reply += &(self.line() + "\n");
            }
        }
        reply
    }
}

/// Everything one of them says in a trial.
fn transcript(twin: &mut impl Twin, design: &str) -> Vec<String> {
    let patients = times(500, 2000);
    let mut dice = Dice(2024);
    let mut said = vec![twin.answer("HELLO"), twin.answer(&format!("KEY {}", hex(&KEY)))];
    let plan = format!(
        "PLAN design={design} features=5 patients={patients} scale=3 better=high results=open epsilon=3/2"
    );
    order(KEY, &plan, |line| {
        said.push(twin.answer(line));
        said.last().cloned().unwrap_or_default()
    });
    let mut waiting = Vec::new();
    for k in 1..=patients {
        said.push(twin.answer(&format!("ASSIGN {k} {} {}", dice.roll(5), tag(k))));
        waiting.push(k);
        while waiting.len() > 40 || (!waiting.is_empty() && k == patients) {
            let patient = waiting.swap_remove(dice.roll(waiting.len() as u32) as usize);
            let lost = dice.roll(20) == 0;
            let outcome = format!("OUTCOME {patient} {}", dice.roll(4));
            said.push(twin.answer(&if lost { format!("LOST {patient}") } else { outcome }));
        }
        if k % 250 == 0 {
            said.push(twin.answer("STATUS"));
        }
    }
    order(KEY, "CLOSE", |line| {
        said.push(twin.answer(line));
        said.last().cloned().unwrap_or_default()
    });
    said.extend(["REPORT", "STATUS", "HELLO"].map(|request| twin.answer(request)));
    said
}

/// Board and host say the same over 500 patients, in the long version over 2000. Requirement D27.
#[test]
fn board_and_host_agree_over_2000_patients() {
    for design in ["dp-conse", "interim"] {
        let flash = StrictFlash::<PAGE>::new(64, 0);
        let restart = Some(Restart::Reset);
        let mut host = InMemory::asleep(flash, Rehearsed(Rehearsal::START), restart);
        host.power_up();
        // `HELLO` names the board's image.
        let digest = xtask::image::digest(&Firmware::Test.elf().load_segments());
        host.device.set_image(ImageHash(unhex(&digest.as_bytes()[..16]).unwrap()));
        let expected = transcript(&mut host, design);
        let board = transcript(&mut Emulator::boot(Firmware::Test), design);
        for (i, (board, host)) in board.iter().zip(&expected).enumerate() {
            assert_eq!(board, host, "{design}: reply {i} differs");
        }
        assert_eq!(board.len(), expected.len());
        let bytes: usize = board.iter().map(String::len).sum();
        println!("{design}: {} replies, {bytes} bytes, all equal", board.len());
    }
}
