//! The exact bytes of every request and reply of protocol version 1. Lines are added, never edited: a device in a
//! hospital and a terminal of another year must understand each other. The checksums were computed by another
//! program (CRC-16 with polynomial 0x1021 and start 0xFFFF).

use equipoise::design::Arm;
use equipoise::device::custody::{Key, ReportMac};
use equipoise::plan::{Design, Plan, Ratio};
use equipoise::trial::Phase;
use equipoise::wire::{
    Claim, LINE_LIMIT, Lock, Micro, NextLook, Refusal, Reply, Request, Restart, Row, State, Status, Stored,
    Tag, TrialId, Word, checksum, unhex,
};

const TRIAL: TrialId = TrialId([0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF]);

fn counting() -> [u8; 32] {
    core::array::from_fn(|i| i as u8)
}

fn plan(text: &str) -> Plan {
    Plan::parse(text).unwrap()
}

fn status(
    design: Design,
    patients: u32,
    assigned: u32,
    unresolved: u32,
    phase: Phase,
    looks: u32,
    next_look: NextLook,
) -> Reply<'static> {
    Reply::Status(Status { design, patients, assigned, unresolved, phase, looks, next_look })
}

/// The refusal of a line that is no request.
fn wrong(line: &[u8]) -> Refusal<'static> {
    Request::parse(line).unwrap_err().into()
}

#[test]
fn every_request_is_written_and_read_as_these_bytes() {
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
        (Request::Report, "REPORT*F1F0\n"),
        (Request::Challenge, "AUTH*2261\n"),
        (
            Request::Answer(counting()),
            "AUTH 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*321F\n",
        ),
        (
            Request::Key(counting()),
            "KEY 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*B1C5\n",
        ),
        (
            Request::Plan(plan("features=10 patients=20000 epsilon=1")),
            "PLAN design=interim features=10 patients=20000 scale=1 alpha=1/4 epsilon=1 beta=1/20 reports=0*E5B4\n",
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

#[test]
fn every_reply_is_written_and_read_as_these_bytes() {
    for (reply, bytes) in [
        (
            Reply::Hello { version: "0.1.0", state: State::Blank, stored: None, restart: None },
            "HELLO equipoise 1 0.1.0 blank*FC08\n",
        ),
        (
            Reply::Hello {
                version: "0.1.0",
                state: State::Running,
                stored: None,
                restart: Some(Restart::Power),
            },
            "HELLO equipoise 1 0.1.0 running restart=power*70D8\n",
        ),
        (
            Reply::Hello {
                version: "0.1.0",
                state: State::Closed,
                stored: None,
                restart: Some(Restart::Reset),
            },
            "HELLO equipoise 1 0.1.0 closed restart=reset*8C91\n",
        ),
        (
            Reply::Hello {
                version: "0.1.0",
                state: State::Running,
                stored: None,
                restart: Some(Restart::Watchdog),
            },
            "HELLO equipoise 1 0.1.0 running restart=watchdog*8181\n",
        ),
        (
            Reply::Hello {
                version: "0.1.0",
                state: State::Fault,
                stored: None,
                restart: Some(Restart::Fault),
            },
            "HELLO equipoise 1 0.1.0 fault restart=fault*45FC\n",
        ),
        (
            Reply::Hello {
                version: "0.1.0",
                state: State::Foreign,
                stored: Some(Stored::State(1)),
                restart: None,
            },
            "HELLO equipoise 1 0.1.0 foreign stored=state-1*FC1B\n",
        ),
        (
            Reply::Hello {
                version: "0.1.0",
                state: State::Foreign,
                stored: Some(Stored::Journal(2)),
                restart: Some(Restart::Power),
            },
            "HELLO equipoise 1 0.1.0 foreign stored=journal-2 restart=power*E8AF\n",
        ),
        (
            status(Design::Interim, 20_000, 57, 3, Phase::Explore, 0, NextLook::After(1525)),
            "STATUS design=interim n=20000 assigned=57 unresolved=3 phase=explore looks=0 next-look=1525*7374\n",
        ),
        (
            status(Design::Interim, 10_000_000, 10_000_000, 65_535, Phase::Measure, 255, NextLook::AtClose),
            "STATUS design=interim n=10000000 assigned=10000000 unresolved=65535 phase=measure looks=255 next-look=close*1662\n",
        ),
        (
            status(Design::DpConse, 10_000_000, 10_000_000, 65_535, Phase::Closed, 0, NextLook::None),
            "STATUS design=dp-conse n=10000000 assigned=10000000 unresolved=65535 phase=closed looks=0 next-look=none*FAB8\n",
        ),
        (Reply::Arm { patient: 57, arm: Arm::Zero }, "ARM 57 0*C682\n"),
        (Reply::Arm { patient: 10_000_000, arm: Arm::One }, "ARM 10000000 1*9E12\n"),
        (Reply::Recorded { patient: 57 }, "OK 57*2F0C\n"),
        (Reply::Done, "OK*F952\n"),
        (Reply::Planned { trial: TRIAL, claim: Claim::Pure }, "OK trial=0123456789abcdef claim=pure*CC44\n"),
        (
            Reply::Planned { trial: TRIAL, claim: Claim::Unproven },
            "OK trial=0123456789abcdef claim=unproven*7FFC\n",
        ),
        (
            Reply::Row(Row {
                feature: 0,
                estimate: Micro(-123_456),
                low: Micro(-1_000_000),
                high: Micro(1),
                patients: 0,
            }),
            "ROW 0 -0.123456 -1.000000 0.000001 0*3F1C\n",
        ),
        (
            Reply::Row(Row {
                feature: 63,
                estimate: Micro(i32::MIN),
                low: Micro(i32::MIN),
                high: Micro(i32::MAX),
                patients: u32::MAX,
            }),
            "ROW 63 -2147.483648 -2147.483648 2147.483647 4294967295*768E\n",
        ),
        (
            Reply::End { rows: 64, mac: counting(), trial: TRIAL },
            "END 64 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 0123456789abcdef*29D7\n",
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

#[test]
fn every_refusal_is_written_as_these_bytes_and_read_as_word_and_detail() {
    let mut words = Vec::new();
    for (refusal, bytes) in [
        (
            Refusal::Checksum { got: Some(0x00FF), expected: 0x49D6 },
            "ERR checksum got=00FF expected=49D6*ADD4\n",
        ),
        (Refusal::Checksum { got: None, expected: 0x49D6 }, "ERR checksum got=none expected=49D6*EF24\n"),
        (
            wrong(b"HELO"),
            "ERR syntax got=HELO allowed HELLO STATUS ASSIGN OUTCOME LOST REPORT AUTH KEY PLAN CLOSE ERASE*B85C\n",
        ),
        (wrong(b"CLOSE now"), "ERR syntax got=now allowed a verb alone*46B1\n"),
        (
            wrong(b"ASSIGN 1 x\x00\xFF"),
            "ERR syntax got=x?? allowed ASSIGN <k> <feature> [tag of 8 hex digits]*3AAD\n",
        ),
        (wrong(b"OUTCOME 1"), "ERR syntax got=nothing allowed OUTCOME <k> <y>*9996\n"),
        (wrong(b"LOST 4294967296"), "ERR syntax got=4294967296 allowed LOST <k>*1EBD\n"),
        (wrong(b"AUTH 00"), "ERR syntax got=00 allowed AUTH [64 hex digits]*1FF8\n"),
        (wrong(b"KEY"), "ERR syntax got=nothing allowed KEY <64 hex digits>*1D08\n"),
        (wrong(b"PLAN colour=red"), "ERR syntax got=colour allowed PLAN <key=value>..*3AB6\n"),
        (wrong(b"PLAN features=1"), "ERR syntax patients missing allowed 2..=10000000*49B6\n"),
        (wrong(b"PLAN features=1 features=2"), "ERR syntax features given twice*73EB\n"),
        (Refusal::Length, "ERR length allowed 120*22B6\n"),
        (Refusal::Order { expected: 58 }, "ERR order expected=58*DDB1\n"),
        (Refusal::Feature { got: 10, features: 10 }, "ERR feature got=10 allowed 0..10*556E\n"),
        (Refusal::Outcome { got: 2, scale: 1 }, "ERR range y=2 allowed 0..=1*8DA4\n"),
        (wrong(b"PLAN features=65 patients=2 epsilon=1"), "ERR range features=65 allowed 1..=64*28A7\n"),
        (
            Refusal::Capacity { got: 64, features: 16 },
            "ERR range features=64 allowed 1..=16 on this device*3789\n",
        ),
        (Refusal::NotPrivate, "ERR range design=conse allowed dp-conse interim on a device*818A\n"),
        (Refusal::Unknown { patient: 58, assigned: 57 }, "ERR unknown patient=58 allowed 1..=57*A509\n"),
        (Refusal::Full { patients: 20_000 }, "ERR full patients=20000*1F3D\n"),
        (Refusal::Waiting { capacity: 128 }, "ERR full waiting=128 send OUTCOME or LOST first*436E\n"),
        (Refusal::Early, "ERR early no estimate yet*E58C\n"),
        (Refusal::Closed, "ERR closed*66B1\n"),
        (Refusal::Blank, "ERR blank*D9D5\n"),
        (Refusal::Locked(Lock::WrongAnswers), "ERR locked wrong answers until=power-up*1D89\n"),
        (Refusal::Locked(Lock::Trial), "ERR locked trial until=ERASE*B754\n"),
        (Refusal::Auth("send AUTH first"), "ERR auth send AUTH first*FF0E\n"),
        (
            Refusal::Budget { epsilon: Ratio::new(1, 3).unwrap(), left: Micro(250_000) },
            "ERR budget epsilon=1/3 left=0.250000*2CA1\n",
        ),
        (Refusal::Storage, "ERR storage until=power-up*7DCC\n"),
        (
            Refusal::Foreign(Stored::State(1)),
            "ERR foreign stored=state-1 use the firmware that wrote it*AFBE\n",
        ),
        (Refusal::Entropy, "ERR entropy health test failed*1F79\n"),
    ] {
        assert!(bytes.len() <= LINE_LIMIT + 1, "{bytes}");
        let word = refusal.word();
        let line = Reply::Refused(refusal).to_line();
        assert!(!line.is_cut());
        assert_eq!(core::str::from_utf8(line.as_bytes()), Ok(bytes));
        let told = bytes.split('*').next().unwrap().strip_prefix("ERR ").unwrap();
        let detail = told.strip_prefix(word.name()).unwrap().trim_start();
        assert_eq!(
            Reply::parse(bytes.trim_end().as_bytes()),
            Ok(Reply::Refused(Refusal::Told(word, detail)))
        );
        words.push(word);
    }
    assert!(Word::ALL.iter().all(|word| words.contains(word)), "a word has no line here");
}

#[test]
fn numbers_are_read_and_written_over_their_whole_range() {
    let tens = (0..10).map(|power| 10_u32.pow(power));
    let numbers = tens.flat_map(|ten| [ten - 1, ten, ten + 1, 9 * (ten / 10), 4 * ten.min(1_000_000_000)]);
    for number in numbers.chain([12_345, 987_654_321, u32::MAX - 1, u32::MAX]) {
        assert_eq!(Reply::Recorded { patient: number }.to_string(), format!("OK {number}"));
        let arm = Reply::Arm { patient: number, arm: Arm::One };
        assert_eq!(arm.to_string(), format!("ARM {number} 1"));
        for text in [format!("LOST {number}"), format!("  LOST   000{number} ")] {
            assert_eq!(Request::parse(text.as_bytes()), Ok(Request::Lost { patient: number }), "{text}");
        }
    }
    for wrong in [
        "4294967296",
        "4294967300",
        "5000000000",
        "9999999999",
        "42949672950",
        "-1",
        "+1",
        "1a",
        "a1",
        "1.0",
        "",
    ] {
        let text = format!("LOST {wrong}");
        assert!(Request::parse(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn a_tag_has_eight_hex_digits_of_either_case_and_nothing_follows_it() {
    let tagged = |tag| Request::Assign { patient: 1, feature: 2, tag };
    for (text, tag) in [("0aB9cDeF", Some(Tag(0x0ab9_cdef))), ("ffffffff", Some(Tag(u32::MAX))), ("", None)] {
        assert_eq!(Request::parse(format!("ASSIGN 1 2 {text}").as_bytes()), Ok(tagged(tag)));
    }
    for wrong in ["1", "1234567", "123456789", "1234567g", "1234 5678", "12345678 9", "12345678x", "+2345678"]
    {
        assert!(Request::parse(format!("ASSIGN 1 2 {wrong}").as_bytes()).is_err(), "{wrong}");
    }
    // Two words of digits are not one.
    let end = |between: &str| {
        let text = format!("END 1 {}{between}{}", "0".repeat(64), "1".repeat(16));
        Reply::parse(format!("{text}*{:04X}", checksum(text.as_bytes())).as_bytes()).is_ok()
    };
    assert!(end(" ") && !end(""));
}

#[test]
fn the_longest_refusals_still_fit_a_line() {
    let long = [b'x'; 100];
    for line in [
        &long[..],
        &[b"ASSIGN 1 ", &long[..]].concat(),
        &[b"PLAN design=", &long[..]].concat(),
        &[b"PLAN ", &long[..]].concat(),
        b"PLAN features=1 patients=2 epsilon=4294967295/1000000",
        b"PLAN features=1 patients=2 epsilon=1 alpha=4294967291/1000000",
    ] {
        let line = Reply::Refused(wrong(line)).to_line();
        assert!(!line.is_cut(), "{}", String::from_utf8_lossy(line.as_bytes()));
    }
}

#[test]
fn a_plan_too_long_for_a_line_is_not_sent_at_all() {
    let long =
        plan("features=64 patients=10000000 epsilon=999983/1000000 alpha=999983/1000000 beta=999983/1000000");
    assert_eq!(Request::Plan(long).to_line(), None);
}

/// Computed by another program from the header of `equipoise::wire`.
#[test]
fn the_custodians_answer_and_the_mac_of_a_report_are_these_bytes() {
    let key = Key::new(counting());
    let answer = b"4871c0db4f34ab1db21de735a102d5ce9fe6e0ab1afb9f034340e5d5f638605f";
    assert_eq!(Some(key.answer(&[0xA5; 16])), unhex(answer));
    let mut mac = ReportMac::new(&key.report_key(), TRIAL, &plan("features=10 patients=20000 epsilon=1"));
    let (low, high) = (Micro(-1_000_000), Micro(1));
    mac.row(&Row { feature: 0, estimate: Micro(-123_456), low, high, patients: 0 });
    let (low, high) = (Micro(250_000), Micro(750_000));
    mac.row(&Row { feature: 63, estimate: Micro(500_000), low, high, patients: 812 });
    let signed = b"b9b897125b7deba0170cc74476b5d6d078fb4562705b70493517d2c29ebf864c";
    assert_eq!(Some(mac.finish(2)), unhex(signed));
}
