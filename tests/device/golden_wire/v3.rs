//! Lines of protocol version 3. Added to, never edited: see the rules in the header of the parent.

pub mod refusals;
pub mod replies;

use super::{Request, Tag, assert_proved, assert_request, counting, plan, unhex};
use equipoise::device::auth::{CustodianKey, Role};
use equipoise::device::report::ReportMac;
use equipoise::wire::{
    Ending, FileDigest, LastLook, Micro, Row, RowArm, RowBasis, Stage, TrialId, TrialName,
};

pub const TRIAL: TrialId = TrialId([0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF]);
pub const FILE: FileDigest = FileDigest([0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]);
pub const NAME: TrialName = TrialName { id: TRIAL, file: FILE };

/// Every request is written and read as these bytes.
#[test]
fn requests_are_these_bytes() {
    let small = plan("features=10 patients=20000 better=high epsilon=1");
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
        (Request::Prove([0xA5; 16]), "PROVE a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5*7A91\n"),
        (Request::Challenge, "AUTH*2261\n"),
        (
            Request::Key(counting()),
            "KEY 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*B1C5\n",
        ),
        (
            Request::Plan { plan: small, file: FileDigest::NONE },
            "PLAN design=interim features=10 patients=20000 scale=1 better=high alpha=1/4 epsilon=1 beta=1/20 reports=0*2542\n",
        ),
        (
            Request::Plan { plan: small, file: FILE },
            "PLAN design=interim features=10 patients=20000 scale=1 better=high alpha=1/4 epsilon=1 beta=1/20 reports=0 \
             file=0011223344556677*DB8F\n",
        ),
        (
            Request::Plan {
                plan: plan(
                    "design=uniform features=2 patients=100 better=low epsilon=1 kits=110 close=auto results=open",
                ),
                file: FileDigest::NONE,
            },
            "PLAN design=uniform features=2 patients=100 scale=1 better=low alpha=1/4 epsilon=1 beta=1/20 reports=0 results=open close=auto \
             kits=110*98F3\n",
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
    let small = plan("features=10 patients=20000 better=high epsilon=1");
    for (request, bytes) in [
        (Request::Report, "REPORT proof=000102030405060708090a0b0c0d0e0f*E83A\n"),
        (Request::Close, "CLOSE proof=000102030405060708090a0b0c0d0e0f*A6A2\n"),
        (Request::Erase, "ERASE proof=000102030405060708090a0b0c0d0e0f*0555\n"),
        (
            Request::Key([0x5A; 32]),
            "KEY 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a proof=000102030405060708090a0b0c0d0e0f*855C\n",
        ),
        (
            Request::Plan { plan: small, file: FILE },
            "PLAN design=interim features=10 patients=20000 scale=1 better=high alpha=1/4 epsilon=1 beta=1/20 reports=0 \
             file=0011223344556677 proof=000102030405060708090a0b0c0d0e0f*B77E\n",
        ),
    ] {
        assert_proved(&request, bytes);
    }
}

/// Computed by another program from the header of `equipoise::wire`.
#[test]
fn proofs_and_report_macs_are_these_bytes() {
    let key = CustodianKey::new(counting());
    let close = b"868e9f5e39f316339c112ab7fafef765";
    assert_eq!(Some(key.proof(&[0xA5; 16], TRIAL, b"CLOSE")), unhex(close));
    let small = plan("features=10 patients=20000 better=high epsilon=1");
    let begin = Request::Plan { plan: small, file: FILE }.to_string();
    let planned = b"4cfae6b051cfec3d7e3ca34bbcab9c00";
    assert_eq!(Some(key.proof(&[0xA5; 16], TrialId::NONE, begin.as_bytes())), unhex(planned));
    let mut mac = ReportMac::new(&key.role(Role::Report), NAME, &small);
    let (estimate, error) = (Micro(-123_456), Micro(250_000));
    mac.row(&Row {
        feature: 0,
        estimate,
        error,
        low: Micro(-1_000_000),
        high: Micro(1),
        outcomes: 0,
        basis: None,
    });
    let (estimate, error) = (Micro(500_000), Micro(127_551));
    mac.row(&Row {
        feature: 63,
        estimate,
        error,
        low: Micro(250_000),
        high: Micro(750_000),
        outcomes: 812,
        basis: Some(basis()),
    });
    let signed = b"4640ca282c166a18cafef64ad4da136bb9aaf893f52bc28797d57156a2d373a1";
    let look = Some(LastLook { number: 5, of: 6, at: Some(15_000) });
    let (stage, assigned, resolved) = (Stage::Interim, 20_000, 19_997);
    let end = Ending { rows: 2, stage, look, assigned, resolved, counted: 812 };
    assert_eq!(Some(mac.finish(&end)), unhex(signed));
}

/// The noisy ledger of a row.
fn basis() -> RowBasis {
    let arm = |outcomes, mean| RowArm { outcomes, mean: Micro(mean) };
    RowBasis {
        spent: Micro(750_000),
        half: Micro(500_000),
        looks: 31,
        windows: 6,
        arms: [arm(402, 312_500), arm(410, 812_500)],
    }
}
