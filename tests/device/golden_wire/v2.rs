//! Lines of protocol version 2. Added to, never edited: see the rules in the header of the parent.

pub mod refusals;
pub mod replies;

use super::{Request, Tag, assert_proved, assert_request, counting, plan, unhex};
use equipoise::device::auth::CustodianKey;
use equipoise::device::report::ReportMac;
use equipoise::wire::{FileDigest, Micro, Row, TrialId, TrialName};

pub const TRIAL: TrialId = TrialId([0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF]);
pub const FILE: FileDigest = FileDigest([0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]);
pub const NAME: TrialName = TrialName { id: TRIAL, file: FILE };

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
        assert_request(&request, bytes);
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
        assert_proved(&request, bytes);
    }
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
