//! Lines that only version 1 writes. Added to, never edited.

use super::{Reply, Request, Word, told};
use equipoise::wire::protocol_of;

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

/// Refusals that only version 1 writes are still read.
#[test]
fn refusals_of_version_1_are_read() {
    for (word, bytes) in [
        (Word::Syntax, "ERR syntax got=00 allowed AUTH [64 hex digits]*1FF8\n"),
        (Word::Syntax, "ERR syntax got=nothing allowed KEY <64 hex digits>*1D08\n"),
        (Word::Syntax, "ERR syntax got=colour allowed PLAN <key=value>..*3AB6\n"),
        (Word::Range, "ERR range design=conse allowed dp-conse interim on a device*818A\n"),
        (Word::Length, "ERR length allowed 120*22B6\n"),
        (Word::Locked, "ERR locked wrong answers until=power-up*1D89\n"),
    ] {
        assert_eq!(told(bytes), word);
    }
}
