//! The exact bytes of every request and reply of protocol version 2, and of the lines of version 1
//! that mean the same. Lines are added, never edited: a device in a hospital and a terminal of
//! another year must understand each other, or refuse each other by name. Checksums and MACs were
//! computed by another program.

mod limits;
mod refusals;

use equipoise::device::auth::CustodianKey;
use equipoise::device::report::ReportMac;
use equipoise::plan::{Design, Plan, Ratio};
use equipoise::terms::Arm;
use equipoise::terms::{NoKit, Phase};
use equipoise::wire::{
    Claim, FileDigest, Hello, ImageHash, LINE_LIMIT, Lock, Micro, NextLook, Refusal, Reply,
    Request, Restart, Row, State, Status, Stored, Tag, TrialId, TrialName, WireError, Word,
    checksum, protocol_of, split_proof, unhex,
};

const TRIAL: TrialId = TrialId([0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF]);
const FILE: FileDigest = FileDigest([0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]);
const NAME: TrialName = TrialName { id: TRIAL, file: FILE };

fn counting() -> [u8; 32] {
    core::array::from_fn(|i| i as u8)
}

fn plan(text: &str) -> Plan {
    Plan::parse(text).unwrap()
}

fn hello(state: State, restart: Option<Restart>) -> Hello<'static> {
    let (stored, custody, trial, image) = (None, None, None, None);
    Hello { version: "0.2.0", state, stored, custody, trial, restart, image }
}

/// The refusal of a line that is no request.
fn wrong(line: &[u8]) -> Refusal<'static> {
    Request::parse(line).unwrap_err().into()
}

/// Every request is written and read as these bytes.
#[test]
fn requests_are_these_bytes() {
    let small = plan("features=10 patients=20000 epsilon=1");
    for (request, bytes) in [
        (Request::Hello, "HELLO*49D6\n"),
        (Request::Status, "STATUS*2DAA\n"),
        (Request::Assign { patient: 1, feature: 0, tag: None }, "ASSIGN 1 0*A1CB\n"),
        (
            Request::Assign { patient: 4_294_967_295, feature: 63, tag: Some(Tag(0x00C0_FFEE)) },
            "ASSIGN 4294967295 63 00c0ffee*0DED\n",
        ),
        (Request::Outcome { patient: 12, y: 65_535 }, "OUTCOME 12 65535*B9C6\n"),
        (Request::Lost { patient: 12 }, "LOST 12*3303\n"),
        (Request::Replace { patient: 57, count: 3 }, "REPLACE 57 3*EC1A\n"),
        (Request::Report, "REPORT*F1F0\n"),
        (Request::Challenge, "AUTH*2261\n"),
        (
            Request::Key(counting()),
            "KEY 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*B1C5\n",
        ),
        (
            Request::Plan { plan: small, file: FileDigest::NONE },
            "PLAN design=interim features=10 patients=20000 scale=1 alpha=1/4 epsilon=1 beta=1/20 reports=0*E5B4\n",
        ),
        (
            Request::Plan { plan: small, file: FILE },
            "PLAN design=interim features=10 patients=20000 scale=1 alpha=1/4 epsilon=1 beta=1/20 reports=0 \
             file=0011223344556677*C6DA\n",
        ),
        (
            Request::Plan {
                plan: plan("design=uniform features=2 patients=100 epsilon=1 kits=110 close=auto"),
                file: FileDigest::NONE,
            },
            "PLAN design=uniform features=2 patients=100 scale=1 alpha=1/4 epsilon=1 beta=1/20 reports=0 close=auto \
             kits=110*7659\n",
        ),
        (Request::Close, "CLOSE*BD09\n"),
        (Request::Erase, "ERASE*D270\n"),
    ] {
        assert_eq!(core::str::from_utf8(request.to_line().unwrap().as_bytes()), Ok(bytes));
        let line = bytes.trim_end();
        assert_eq!(Request::parse(line.as_bytes()), Ok(request.clone()), "{line}");
        let bare = line.split('*').next().unwrap();
        assert_eq!(Request::parse(bare.as_bytes()), Ok(request), "{bare}");
    }
}

/// Custodian commands carry their proof as these bytes.
#[test]
fn commands_with_proof_are_these_bytes() {
    let small = plan("features=10 patients=20000 epsilon=1");
    for (request, bytes) in [
        (
            Request::Close,
            "CLOSE proof=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*C3DF\n",
        ),
        (
            Request::Erase,
            "ERASE proof=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*7BA6\n",
        ),
        (
            Request::Key([0x5A; 32]),
            "KEY 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a proof=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*82AD\n",
        ),
        (
            Request::Plan { plan: small, file: FILE },
            "PLAN design=interim features=10 patients=20000 scale=1 alpha=1/4 epsilon=1 beta=1/20 reports=0 \
             file=0011223344556677 proof=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*1E0C\n",
        ),
    ] {
        assert_eq!(
            core::str::from_utf8(request.to_proved_line(&counting()).unwrap().as_bytes()),
            Ok(bytes)
        );
        assert_eq!(Request::parse(bytes.trim_end().as_bytes()), Ok(request.clone()));
        let body = bytes.split('*').next().unwrap().as_bytes();
        assert_eq!(split_proof(body), (request.to_string().as_bytes(), Some(counting())));
    }
}

/// Every reply is written and read as these bytes.
#[test]
fn replies_are_these_bytes() {
    let custody = Some((true, Micro(99_000_000)));
    let (largest, most) = (10_000_000, 65_535);
    for (reply, bytes) in [
        (
            Reply::Hello(Hello {
                custody: Some((false, Micro(100_000_000))),
                ..hello(State::Blank, None)
            }),
            "HELLO equipoise 2 0.2.0 blank key=none left=100.000000*EA62\n",
        ),
        (
            Reply::Hello(Hello {
                custody,
                trial: Some(NAME),
                ..hello(State::Running, Some(Restart::Watchdog))
            }),
            "HELLO equipoise 2 0.2.0 running key=set left=99.000000 trial=0123456789abcdef file=0011223344556677 \
             restart=watchdog*F0E1\n",
        ),
        (
            Reply::Hello(Hello {
                custody,
                trial: Some(NAME),
                ..hello(State::Closed, Some(Restart::Reset))
            }),
            "HELLO equipoise 2 0.2.0 closed key=set left=99.000000 trial=0123456789abcdef file=0011223344556677 \
             restart=reset*CA35\n",
        ),
        (
            Reply::Hello(hello(State::Fault, Some(Restart::Fault))),
            "HELLO equipoise 2 0.2.0 fault restart=fault*D54B\n",
        ),
        (
            Reply::Hello(Hello {
                image: Some(ImageHash([0xF0, 1, 2, 3, 4, 5, 6, 7])),
                ..hello(State::Fault, Some(Restart::Fault))
            }),
            "HELLO equipoise 2 0.2.0 fault restart=fault image=f001020304050607*4C10\n",
        ),
        (
            Reply::Hello(Hello { stored: Some(Stored::State(1)), ..hello(State::Foreign, None) }),
            "HELLO equipoise 2 0.2.0 foreign stored=state-1*03B8\n",
        ),
        (
            Reply::Hello(Hello {
                stored: Some(Stored::Journal(2)),
                ..hello(State::Foreign, Some(Restart::Power))
            }),
            "HELLO equipoise 2 0.2.0 foreign stored=journal-2 restart=power*5AD1\n",
        ),
        (
            Reply::Status(Status {
                name: NAME,
                design: Design::Interim,
                patients: 20_000,
                assigned: 57,
                resolved: 54,
                waiting: 3,
                capacity: 128,
                phase: Phase::Explore,
                looks: 0,
                next_look: NextLook::After(1525),
                spent: Micro(1_000_000),
                left: Micro(99_000_000),
                kits: None,
            }),
            "STATUS trial=0123456789abcdef file=0011223344556677 design=interim n=20000 assigned=57 resolved=54 \
             waiting=3 capacity=128 phase=explore looks=0 next-look=1525 spent=1.000000 left=99.000000*58BB\n",
        ),
        (
            Reply::Status(Status {
                name: NAME,
                design: Design::DpConse,
                patients: largest,
                assigned: largest,
                resolved: largest - most,
                waiting: most,
                capacity: most,
                phase: Phase::Measure,
                looks: 255,
                next_look: NextLook::AtClose,
                spent: Micro(100_000_000),
                left: Micro(0),
                kits: None,
            }),
            "STATUS trial=0123456789abcdef file=0011223344556677 design=dp-conse n=10000000 assigned=10000000 \
             resolved=9934465 waiting=65535 capacity=65535 phase=measure looks=255 next-look=close spent=100.000000 \
             left=0.000000*E436\n",
        ),
        (
            Reply::Status(Status {
                name: TrialName { id: TRIAL, file: FileDigest::NONE },
                design: Design::Interim,
                patients: 20,
                assigned: 20,
                resolved: 20,
                waiting: 0,
                capacity: 128,
                phase: Phase::Closed,
                looks: 2,
                next_look: NextLook::None,
                spent: Micro(333_334),
                left: Micro(99_666_666),
                kits: None,
            }),
            "STATUS trial=0123456789abcdef file=0000000000000000 design=interim n=20 assigned=20 resolved=20 waiting=0 \
             capacity=128 phase=closed looks=2 next-look=none spent=0.333334 left=99.666666*8333\n",
        ),
        (
            Reply::Status(Status {
                name: NAME,
                design: Design::Interim,
                patients: 20,
                assigned: 7,
                resolved: 5,
                waiting: 2,
                capacity: 256,
                phase: Phase::Explore,
                looks: 0,
                next_look: NextLook::After(10),
                spent: Micro(1_000_000),
                left: Micro(99_000_000),
                kits: Some((30, 3)),
            }),
            "STATUS trial=0123456789abcdef file=0011223344556677 design=interim n=20 assigned=7 resolved=5 waiting=2 \
             capacity=256 phase=explore looks=0 next-look=10 spent=1.000000 left=99.000000 kits=30 replaced=3*69E9\n",
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
            }),
            "ROW 63 -2147.483648 2147.483647 -2147.483648 2147.483647 4294967295*F905\n",
        ),
        (
            Reply::End {
                rows: 64,
                assigned: 20_000,
                resolved: 19_997,
                trial: TRIAL,
                mac: counting(),
            },
            "END 64 assigned=20000 resolved=19997 trial=0123456789abcdef mac=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*830B\n",
        ),
        (Reply::Nonce([0xA5; 16]), "NONCE a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5*5E3B\n"),
    ] {
        assert!(bytes.len() <= LINE_LIMIT + 1, "{bytes}");
        assert_eq!(core::str::from_utf8(reply.to_line().as_bytes()), Ok(bytes));
        assert_eq!(Reply::parse(bytes.trim_end().as_bytes()), Ok(reply), "{bytes}");
        assert!(
            Reply::parse(bytes.split('*').next().unwrap().as_bytes()).is_err(),
            "a reply needs its checksum"
        );
    }
}

/// Lines of version 1 whose form has changed: they are refused, and the device that sent them is
/// told by its version.
#[test]
fn changed_lines_of_version_1_are_refused() {
    for bytes in [
        "HELLO equipoise 1 0.1.0 blank*FC08",
        "HELLO equipoise 1 0.1.0 running restart=power*70D8",
        "HELLO equipoise 1 0.1.0 closed restart=reset*8C91",
        "HELLO equipoise 1 0.1.0 running restart=watchdog*8181",
        "HELLO equipoise 1 0.1.0 fault restart=fault*45FC",
    ] {
        assert!(Reply::parse(bytes.as_bytes()).is_err(), "{bytes}");
        assert_eq!(protocol_of(bytes.as_bytes()), Some(1), "{bytes}");
    }
    for bytes in [
        "STATUS design=interim n=20000 assigned=57 unresolved=3 phase=explore looks=0 next-look=1525*7374",
        "STATUS design=interim n=10000000 assigned=10000000 unresolved=65535 phase=measure looks=255 next-look=close*1662",
        "STATUS design=dp-conse n=10000000 assigned=10000000 unresolved=65535 phase=closed looks=0 next-look=none*FAB8",
        "ROW 0 -0.123456 -1.000000 0.000001 0*3F1C",
        "ROW 63 -2147.483648 -2147.483648 2147.483647 4294967295*768E",
        "END 64 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 0123456789abcdef*29D7",
    ] {
        assert!(Reply::parse(bytes.as_bytes()).is_err(), "{bytes}");
        assert_eq!(protocol_of(bytes.as_bytes()), None);
    }
    let answer = "AUTH 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*321F";
    assert!(Request::parse(answer.as_bytes()).is_err());
}

/// Computed by another program from the header of `equipoise::wire`.
#[test]
fn proofs_and_report_macs_are_these_bytes() {
    let key = CustodianKey::new(counting());
    let close = b"868e9f5e39f316339c112ab7fafef7657b66b72c5e727b7649279f40334c28e0";
    assert_eq!(Some(key.proof(&[0xA5; 16], TRIAL, b"CLOSE")), unhex(close));
    let small = plan("features=10 patients=20000 epsilon=1");
    let begin = Request::Plan { plan: small, file: FILE }.to_string();
    let planned = b"4b67ede4b3363b9b2ce0c3aeee7b18f0a63af3c402ca2e7ff5aa7d0f10f9bfe7";
    assert_eq!(Some(key.proof(&[0xA5; 16], TrialId::NONE, begin.as_bytes())), unhex(planned));
    let mut mac = ReportMac::new(&key.report_key(), NAME, &small);
    let (estimate, error) = (Micro(-123_456), Micro(250_000));
    mac.row(&Row {
        feature: 0,
        estimate,
        error,
        low: Micro(-1_000_000),
        high: Micro(1),
        outcomes: 0,
    });
    let (estimate, error) = (Micro(500_000), Micro(127_551));
    mac.row(&Row {
        feature: 63,
        estimate,
        error,
        low: Micro(250_000),
        high: Micro(750_000),
        outcomes: 812,
    });
    let signed = b"f0abdd840719545dd518edfd08fdae6c8a825f10fa70e0dd95fc6266144df6e3";
    assert_eq!(Some(mac.finish(2, 20_000, 19_997)), unhex(signed));
}
