//! Values at the ends of their ranges, and the longest lines.

use super::*;

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
            "END 1 assigned=1 resolved=1 trial={}{between}mac={}",
            "1".repeat(16),
            "0".repeat(64)
        );
        Reply::parse(format!("{text}*{:04X}", checksum(text.as_bytes())).as_bytes()).is_ok()
    };
    assert!(end(" ") && !end(""));
}

/// The longest plan fits a line with its file and its proof.
#[test]
fn every_plan_fits_a_line() {
    let plan = plan(
        "design=dp-conse features=64 patients=10000000 scale=65535 epsilon=19999983/1000000 alpha=999983/1000000 \
         beta=999983/1000000 reports=8 close=auto",
    );
    let line = Request::Plan { plan, file: FILE }.to_proved_line(&counting()).unwrap();
    assert!(line.as_bytes().len() <= LINE_LIMIT + 1, "{}", line.as_bytes().len());
}
