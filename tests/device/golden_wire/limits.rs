//! Values at the ends of their ranges, and the longest lines.

use super::v3::FILE;
use super::*;
use equipoise::plan::Key;
use equipoise::wire::{Field, Framer, Hello, Line, Status, open};

/// Numbers are read and written over their whole range.
#[test]
fn numbers_over_their_whole_range() {
    let tens = (0..10).map(|power| 10_u32.pow(power));
    let numbers =
        tens.flat_map(|ten| [ten - 1, ten, ten + 1, 9 * (ten / 10), 4 * ten.min(1_000_000_000)]);
    for number in numbers.chain([12_345, 987_654_321, u32::MAX - 1, u32::MAX]) {
        assert_eq!(Reply::Recorded { patient: number }.to_string(), format!("OK {number}"));
        let arm = Reply::Arm { patient: number, arm: Arm::One };
        assert_eq!(arm.to_string(), format!("ARM {number} 1"));
        for text in [format!("LOST {number}"), format!("  LOST   000{number} ")] {
            assert_eq!(
                Request::parse(text.as_bytes()),
                Ok(Request::Lost { patient: number }),
                "{text}"
            );
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
        "1:",
        "a1",
        "1.0",
        "",
    ] {
        let text = format!("LOST {wrong}");
        assert!(Request::parse(text.as_bytes()).is_err(), "{text}");
    }
}

/// A tag has eight hex digits of either case and nothing follows it.
#[test]
fn tags_have_eight_hex_digits() {
    let tagged = |tag| Request::Assign { patient: 1, feature: 2, tag };
    for (text, tag) in
        [("0aB9cDeF", Some(Tag(0x0ab9_cdef))), ("ffffffff", Some(Tag(u32::MAX))), ("", None)]
    {
        assert_eq!(Request::parse(format!("ASSIGN 1 2 {text}").as_bytes()), Ok(tagged(tag)));
    }
    for wrong in [
        "1",
        "1234567",
        "123456789",
        "1234567g",
        "1234 5678",
        "12345678 9",
        "12345678x",
        "+2345678",
    ] {
        assert!(Request::parse(format!("ASSIGN 1 2 {wrong}").as_bytes()).is_err(), "{wrong}");
    }
    // Two words of digits are not one.
    let end = |between: &str| {
        let text = format!(
            "END 1 stage=final assigned=1 resolved=1 counted=1 trial={}{between}mac={}",
            "1".repeat(16),
            "0".repeat(64)
        );
        Reply::parse(format!("{text}*{:04X}", checksum(text.as_bytes())).as_bytes()).is_ok()
    };
    assert!(end(" ") && !end(""));
}

/// The longest value of a plan's key, in a blinded trial or another.
fn longest(key: Key, blinded: bool) -> &'static str {
    match key {
        Key::Design => "dp-conse",
        Key::Features => "64",
        Key::Patients if blinded => "1048576",
        Key::Patients => "10000000",
        Key::Scale => "65535",
        Key::Better => "high",
        Key::Alpha | Key::Beta => "9999/10000",
        Key::Epsilon => "199999/10000",
        Key::Reports => "8",
        // `custodian` is left out.
        Key::Results => "close",
        Key::Close => "auto",
        Key::Kits if blinded => "1048576",
        Key::Kits => "0",
    }
}

/// The longest plan fits a line with its file and its proof, blinded or not.
#[test]
fn every_plan_fits_a_line() {
    for blinded in [false, true] {
        let words = Key::ALL.map(|key| format!("{}={}", key.name(), longest(key, blinded)));
        let plan = plan(&words.join(" "));
        let line = Request::Plan { plan, file: FILE }.to_proved_line(&half()).unwrap();
        println!("PLAN, blinded {blinded}: {} characters", line.as_bytes().len() - 1);
        assert!(line.as_bytes().len() <= LINE_LIMIT + 1);
    }
}

/// The longest value of a field of `HELLO` or `STATUS`.
fn longest_field(key: &str, blinded: bool) -> &'static str {
    match key {
        "stored" => "journal-255",
        "key" => "none",
        "left" => "100.000000",
        "trial" | "file" | "image" => "0123456789abcdef",
        "restart" => "watchdog",
        "flash" => "damaged",
        "design" => "dp-conse",
        "n" | "assigned" | "resolved" | "next-look" if blinded => "1048576",
        "n" | "assigned" | "resolved" | "next-look" => "10000000",
        "better" => "high",
        "results" => "custodian",
        "capacity" => "65535",
        "phase" => "explore",
        "looks" => "255",
        "kits" | "replaced" => "1048576",
        other => panic!("the longest value of {other} is not known here"),
    }
}

/// The longest `HELLO` and `STATUS`, with every field at its longest, fit a line and are read.
#[test]
fn every_field_fits_a_line() {
    let line = |start: &str, fields: &[Field], without: &[&str], blinded: bool| {
        let fields = fields.iter().filter(|field| !without.contains(&field.key));
        let words =
            fields.map(|field| format!("{}={}", field.key, longest_field(field.key, blinded)));
        let body = [start.to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ");
        let line = format!("{body}*{:04X}", checksum(body.as_bytes()));
        println!("{} characters: {line}", line.len());
        assert!(line.len() <= LINE_LIMIT, "{line}");
        assert!(Reply::parse(line.as_bytes()).is_ok(), "{line}");
    };
    line("STATUS", Status::FIELDS, &["kits", "replaced"], false);
    line("STATUS", Status::FIELDS, &[], true);
    for (state, without) in [
        ("running", &["stored", "flash"][..]),
        ("fault", &["stored", "key", "left", "trial", "file"]),
        ("foreign", &["key", "left", "trial", "file", "flash"]),
    ] {
        line(&format!("HELLO equipoise 3 10.10.10-rc.10 {state}"), Hello::FIELDS, without, false);
    }
}

/// A near miss of a number, a row of hex digits or a greeting is refused.
#[test]
fn near_misses_are_not_read() {
    assert_eq!(Micro::parse(b"-12.000345"), Some(Micro(-12_000_345)));
    for wrong in [".000001", "1.5", "1.0000001", "1,000000", "1.00000x", "-", "3000.000000"] {
        assert_eq!(Micro::parse(wrong.as_bytes()), None, "{wrong}");
    }
    assert_eq!(unhex::<2>(b"0aF9"), Some([0x0a, 0xf9]));
    assert_eq!([unhex::<2>(b"0a"), unhex::<2>(b"0aF"), unhex::<2>(b"0aF9b")], [None; 3]);
    let reads = |body: &str| {
        let line = format!("{body}*{:04X}", checksum(body.as_bytes()));
        Reply::parse(line.as_bytes()).is_ok()
    };
    assert!(reads("HELLO equipoise 3 0.3.0 blank"));
    for wrong in
        ["HELLO equipoise 3 0.3\x7f blank", "HELLO equipoise 3", "HELLO equipoise 2 1 blank"]
    {
        assert!(!reads(wrong), "{wrong:?}");
    }
}

/// Text that is not of the line, or that leaves no room for the checksum, is cut, and a line says
/// so.
#[test]
fn lines_say_when_they_are_cut() {
    use std::fmt::Write as _;
    for (text, length, cut) in [
        ("a".repeat(245), 245, false),
        ("a".repeat(246), 245, true),
        ("a*b".to_owned(), 2, true),
        ("a\tb".to_owned(), 2, true),
    ] {
        let mut line = Line::new();
        let _ = line.write_str(&text);
        assert_eq!((line.as_bytes().len(), line.is_cut()), (length, cut), "{text:?}");
    }
}

/// A line of 250 characters is read, one of 251 is too long, with CR and without, and the line
/// behind it is read again.
#[test]
fn framer_keeps_the_longest_line() {
    for (length, end) in [(250, "\n"), (250, "\r\n"), (251, "\n"), (251, "\r\n"), (400, "\n")] {
        let mut framer = Framer::default();
        let sent = format!("{}{end}STATUS\n", "a".repeat(length));
        let mut lines = Vec::new();
        for byte in sent.bytes() {
            if let Some(line) = framer.push(byte) {
                lines.push(line.to_vec());
            }
        }
        assert_eq!(lines.len(), 2, "{length}");
        assert_eq!(lines[0].len(), length.min(251));
        assert_eq!(open(&lines[0]).is_err(), length > 250);
        assert_eq!(lines[1], b"STATUS");
    }
}

/// Every error message says what happened, in characters of the line.
#[test]
fn errors_name_what_was_wrong() {
    let wrong = |got| WireError::Checksum { got, expected: 0xBEEF }.to_string();
    assert!(WireError::Length.to_string().contains("250"));
    assert!(wrong(Some(0x12)).contains("0012") && wrong(Some(0x12)).contains("BEEF"));
    assert!(wrong(None).contains("BEEF") && wrong(None) != wrong(Some(0)));
    let syntax = Request::parse(b"LOST x").unwrap_err().to_string();
    assert!(syntax.contains("\"x\""), "{syntax}");
    let plan = Plan::parse("a~*\u{e9}\u{7f}=1").unwrap_err().to_string();
    assert!(plan.starts_with("a~???? is"), "{plan}");
    let plan = Plan::from_pairs([("features", "two or more, as the ward needs")]).unwrap_err();
    assert!(plan.to_string().starts_with("features=two or more, as the ward allowed"), "{plan}");
}

/// A refusal names a long word by its beginning.
#[test]
fn the_longest_refusals_still_fit_a_line() {
    let long = [b'x'; 100];
    for line in [
        &long[..],
        &[b"ASSIGN 1 ", &long[..]].concat(),
        &[b"PLAN design=", &long[..]].concat(),
        &[b"PLAN ", &long[..]].concat(),
        b"PLAN features=1 patients=2 better=high epsilon=4294967295/1000000",
        b"PLAN features=1 patients=2 better=high epsilon=1 alpha=4294967291/1000000",
    ] {
        let line = Reply::Refused(
            wrong(line),
            Some(Request::Assign { patient: u32::MAX, feature: 0, tag: None }.name()),
        )
        .to_line();
        assert!(!line.is_cut(), "{}", String::from_utf8_lossy(line.as_bytes()));
    }
}
