//! The bytes of replies. Values take fields that came later from a line that does not have them, so
//! that a new field of `HELLO` or `STATUS` changes nothing here.

use super::super::{Arm, Micro, Reply, assert_reply, counting};
use super::{NAME, TRIAL};
use equipoise::plan::{Better, DesignName, Results};
use equipoise::terms::Phase;
use equipoise::wire::{
    Claim, Ending, FileDigest, FlashTrouble, Hello, ImageHash, LastLook, NextLook, Restart, Row,
    RowArm, RowBasis, Stage, State, Status, Stored, TrialName,
};

/// A `HELLO` without fields.
const BARE_HELLO: &str = "HELLO equipoise 3 0.3.0 blank*B0A9";
/// A `STATUS` without the fields of a blinded trial.
const OPEN_STATUS: &str = "STATUS trial=0123456789abcdef file=0011223344556677 design=interim n=20000 better=high results=custodian assigned=57 \
     resolved=54 capacity=128 phase=explore looks=0 next-look=1525*A50F";

fn hello(state: State, restart: Option<Restart>) -> Hello<'static> {
    let Ok(Reply::Hello(bare)) = Reply::parse(BARE_HELLO.as_bytes()) else { panic!() };
    assert_eq!((bare.version, bare.state, bare.stored), ("0.3.0", State::Blank, None));
    assert_eq!((bare.custody, bare.trial, bare.restart, bare.image), (None, None, None, None));
    Hello { state, restart, ..bare }
}

fn open_status() -> Status {
    let Ok(Reply::Status(open)) = Reply::parse(OPEN_STATUS.as_bytes()) else { panic!() };
    assert_eq!((open.name, open.design, open.patients), (NAME, DesignName::Interim, 20_000));
    assert_eq!((open.better, open.results), (Better::High, Results::Custodian));
    assert_eq!((open.assigned, open.resolved, open.capacity), (57, 54, 128));
    assert_eq!(open.waiting(), 3);
    assert_eq!((open.phase, open.looks), (Phase::Explore, 0));
    assert_eq!(open.next_look, NextLook::After(1525));
    assert_eq!(open.kits, None);
    open
}

/// Every reply, with its bytes.
pub fn replies() -> Vec<(Reply<'static>, &'static str)> {
    let custody = Some((true, Micro(99_000_000)));
    let (largest, most) = (10_000_000, 65_535);
    let open = open_status();
    vec![
        (
            Reply::Hello(Hello {
                custody: Some((false, Micro(100_000_000))),
                ..hello(State::Blank, None)
            }),
            "HELLO equipoise 3 0.3.0 blank key=none left=100.000000*92DC\n",
        ),
        (
            Reply::Hello(Hello {
                custody,
                trial: Some(NAME),
                ..hello(State::Running, Some(Restart::Watchdog))
            }),
            "HELLO equipoise 3 0.3.0 running key=set left=99.000000 trial=0123456789abcdef file=0011223344556677 \
             restart=watchdog*04B6\n",
        ),
        (
            Reply::Hello(Hello {
                custody,
                trial: Some(NAME),
                ..hello(State::Closed, Some(Restart::Reset))
            }),
            "HELLO equipoise 3 0.3.0 closed key=set left=99.000000 trial=0123456789abcdef file=0011223344556677 \
             restart=reset*980D\n",
        ),
        (
            Reply::Hello(hello(State::Fault, Some(Restart::Fault))),
            "HELLO equipoise 3 0.3.0 fault restart=fault*A526\n",
        ),
        (
            Reply::Hello(Hello {
                image: Some(ImageHash([0xF0, 1, 2, 3, 4, 5, 6, 7])),
                ..hello(State::Fault, Some(Restart::Fault))
            }),
            "HELLO equipoise 3 0.3.0 fault restart=fault image=f001020304050607*F69F\n",
        ),
        (
            Reply::Hello(Hello { flash: Some(FlashTrouble::Damaged), ..hello(State::Fault, None) }),
            "HELLO equipoise 3 0.3.0 fault flash=damaged*8F01\n",
        ),
        (
            Reply::Hello(Hello { stored: Some(Stored::State(1)), ..hello(State::Foreign, None) }),
            "HELLO equipoise 3 0.3.0 foreign stored=state-1*A6C6\n",
        ),
        (
            Reply::Hello(Hello {
                stored: Some(Stored::Journal(2)),
                ..hello(State::Foreign, Some(Restart::Power))
            }),
            "HELLO equipoise 3 0.3.0 foreign stored=journal-2 restart=power*34FB\n",
        ),
        (
            Reply::Status(open),
            "STATUS trial=0123456789abcdef file=0011223344556677 design=interim n=20000 better=high results=custodian assigned=57 resolved=54 \
             capacity=128 phase=explore looks=0 next-look=1525*A50F\n",
        ),
        (
            Reply::Status(Status {
                design: DesignName::DpConse,
                patients: largest,
                assigned: largest,
                resolved: largest - most,
                capacity: most,
                phase: Phase::Measure,
                looks: 255,
                next_look: NextLook::AtClose,
                ..open
            }),
            "STATUS trial=0123456789abcdef file=0011223344556677 design=dp-conse n=10000000 better=high results=custodian assigned=10000000 \
             resolved=9934465 capacity=65535 phase=measure looks=255 next-look=close*5D44\n",
        ),
        (
            Reply::Status(Status {
                name: TrialName { id: TRIAL, file: FileDigest::NONE },
                patients: 20,
                assigned: 20,
                resolved: 20,
                capacity: 128,
                phase: Phase::Closed,
                looks: 2,
                next_look: NextLook::None,
                ..open
            }),
            "STATUS trial=0123456789abcdef file=0000000000000000 design=interim n=20 better=high results=custodian assigned=20 resolved=20 capacity=128 phase=closed looks=2 next-look=none*7F62\n",
        ),
        (
            Reply::Status(Status {
                patients: 20,
                assigned: 7,
                resolved: 5,
                capacity: 256,
                phase: Phase::Explore,
                looks: 0,
                next_look: NextLook::After(10),
                kits: Some((30, 3)),
                ..open
            }),
            "STATUS trial=0123456789abcdef file=0011223344556677 design=interim n=20 better=high results=custodian assigned=7 resolved=5 capacity=256 phase=explore looks=0 next-look=10 kits=30 replaced=3*228A\n",
        ),
        // The longest of a board: 250 characters are allowed.
        (
            Reply::Status(Status {
                patients: 1_048_576,
                assigned: 1_048_576,
                resolved: 1_044_480,
                capacity: 4096,
                phase: Phase::Measure,
                looks: 10,
                next_look: NextLook::After(1_048_576),
                kits: Some((1_048_576, 1_048_576)),
                ..open
            }),
            "STATUS trial=0123456789abcdef file=0011223344556677 design=interim n=1048576 better=high results=custodian assigned=1048576 resolved=1044480 \
             capacity=4096 phase=measure looks=10 next-look=1048576 kits=1048576 replaced=1048576*DDF7\n",
        ),
        (Reply::Kit { patient: 57, kit: 1 }, "KIT 57 1*69ED\n"),
        (Reply::Kit { patient: 1_048_576, kit: 2_097_152 }, "KIT 1048576 2097152*909A\n"),
        (Reply::Arm { patient: 57, arm: Arm::Zero }, "ARM 57 0*C682\n"),
        (Reply::Arm { patient: 10_000_000, arm: Arm::One }, "ARM 10000000 1*9E12\n"),
        (Reply::Recorded { patient: 57 }, "OK 57*2F0C\n"),
        (Reply::Done, "OK*F952\n"),
        (
            Reply::Planned { trial: TRIAL, claim: Claim::Pure },
            "OK trial=0123456789abcdef claim=pure*CC44\n",
        ),
        (
            Reply::Planned { trial: TRIAL, claim: Claim::Unproven },
            "OK trial=0123456789abcdef claim=unproven*7FFC\n",
        ),
        (
            Reply::Row(Row {
                feature: 0,
                estimate: Micro(-123_456),
                error: Micro(250_000),
                low: Micro(-1_000_000),
                high: Micro(1),
                outcomes: 0,
                basis: None,
            }),
            "ROW 0 -0.123456 0.250000 -1.000000 0.000001 0*6721\n",
        ),
        (
            Reply::Row(Row {
                feature: 63,
                estimate: Micro(i32::MIN),
                error: Micro(i32::MAX),
                low: Micro(i32::MIN),
                high: Micro(i32::MAX),
                outcomes: u32::MAX,
                basis: Some(RowBasis {
                    spent: Micro(i32::MAX),
                    half: Micro(i32::MAX),
                    looks: u32::MAX,
                    windows: u8::MAX,
                    arms: [RowArm { outcomes: u32::MAX, mean: Micro(i32::MIN) }; 2],
                }),
            }),
            "ROW 63 -2147.483648 2147.483647 -2147.483648 2147.483647 4294967295 spent=2147.483647 half=2147.483647 looks=4294967295 windows=255 n0=4294967295 mean0=-2147.483648 n1=4294967295 mean1=-2147.483648*82A6\n",
        ),
        (
            Reply::Row(Row {
                feature: 63,
                estimate: Micro(500_000),
                error: Micro(127_551),
                low: Micro(250_000),
                high: Micro(750_000),
                outcomes: 812,
                basis: Some(super::basis()),
            }),
            "ROW 63 0.500000 0.127551 0.250000 0.750000 812 spent=0.750000 half=0.500000 looks=31 windows=6 n0=402 mean0=0.312500 n1=410 mean1=0.812500*1AD8\n",
        ),
        (
            Reply::End {
                end: Ending {
                    rows: 64,
                    stage: Stage::Final,
                    look: Some(LastLook { number: u8::MAX, of: u8::MAX, at: Some(u32::MAX) }),
                    assigned: u32::MAX,
                    resolved: u32::MAX,
                    counted: u32::MAX,
                },
                trial: TRIAL,
                mac: counting(),
            },
            "END 64 stage=final look=255 of=255 at=4294967295 assigned=4294967295 resolved=4294967295 counted=4294967295 trial=0123456789abcdef mac=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*40C6\n",
        ),
        (
            Reply::End {
                end: Ending {
                    rows: 0,
                    stage: Stage::Interim,
                    look: None,
                    assigned: 20_000,
                    resolved: 19_997,
                    counted: 0,
                },
                trial: TRIAL,
                mac: counting(),
            },
            "END 0 stage=interim assigned=20000 resolved=19997 counted=0 trial=0123456789abcdef mac=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*C8A0\n",
        ),
        (Reply::Proof([0xA5; 16]), "PROOF a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5*B3B7\n"),
        (Reply::Nonce([0xA5; 16]), "NONCE a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5*5E3B\n"),
    ]
}

/// Every reply is written and read as these bytes.
#[test]
fn replies_are_these_bytes() {
    for (reply, bytes) in replies() {
        assert_reply(&reply, bytes);
    }
}
