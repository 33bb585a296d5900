//! Lines of version 2. Those whose form has changed are refused; the others are read as they were.
//! Added to, never edited.

use super::{Reply, Request, told};
use equipoise::wire::protocol_of;

/// Replies to `HELLO`.
const GREETINGS: [&str; 8] = [
    "HELLO equipoise 2 0.2.0 blank*1EE9",
    "HELLO equipoise 2 0.2.0 blank key=none left=100.000000*EA62",
    "HELLO equipoise 2 0.2.0 running key=set left=99.000000 trial=0123456789abcdef file=0011223344556677 restart=watchdog*F0E1",
    "HELLO equipoise 2 0.2.0 closed key=set left=99.000000 trial=0123456789abcdef file=0011223344556677 restart=reset*CA35",
    "HELLO equipoise 2 0.2.0 fault restart=fault*D54B",
    "HELLO equipoise 2 0.2.0 fault restart=fault image=f001020304050607*4C10",
    "HELLO equipoise 2 0.2.0 foreign stored=state-1*03B8",
    "HELLO equipoise 2 0.2.0 foreign stored=journal-2 restart=power*5AD1",
];

/// Replies whose form has changed.
const CHANGED_REPLIES: [&str; 6] = [
    "END 64 assigned=20000 resolved=19997 trial=0123456789abcdef mac=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*830B",
    "STATUS trial=0123456789abcdef file=0011223344556677 design=interim n=20000 assigned=57 resolved=54 waiting=3 capacity=128 phase=explore looks=0 next-look=1525 spent=1.000000 left=99.000000*58BB",
    "STATUS trial=0123456789abcdef file=0011223344556677 design=dp-conse n=10000000 assigned=10000000 resolved=9934465 waiting=65535 capacity=65535 phase=measure looks=255 next-look=close spent=100.000000 left=0.000000*E436",
    "STATUS trial=0123456789abcdef file=0000000000000000 design=interim n=20 assigned=20 resolved=20 waiting=0 capacity=128 phase=closed looks=2 next-look=none spent=0.333334 left=99.666666*8333",
    "STATUS trial=0123456789abcdef file=0011223344556677 design=interim n=20 assigned=7 resolved=5 waiting=2 capacity=256 phase=explore looks=0 next-look=10 spent=1.000000 left=99.000000 kits=30 replaced=3*69E9",
    "STATUS trial=0123456789abcdef file=0011223344556677 design=interim n=1048576 assigned=1048576 resolved=1044480 waiting=4096 capacity=4096 phase=measure looks=10 next-look=1048576 spent=100.000000 left=0.000000 kits=1048576 replaced=1048576*3703",
];

/// Replies whose form has not changed.
const SAME_REPLIES: [&str; 11] = [
    "KIT 57 1*69ED",
    "KIT 1048576 2097152*909A",
    "ARM 57 0*C682",
    "ARM 10000000 1*9E12",
    "OK 57*2F0C",
    "OK*F952",
    "OK trial=0123456789abcdef claim=pure*CC44",
    "OK trial=0123456789abcdef claim=unproven*7FFC",
    "ROW 0 -0.123456 0.250000 -1.000000 0.000001 0*6721",
    "ROW 63 -2147.483648 2147.483647 -2147.483648 2147.483647 4294967295*F905",
    "NONCE a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5*5E3B",
];

/// Requests whose form has changed: plans without a direction, and proofs of 64 digits.
const CHANGED_REQUESTS: [&str; 7] = [
    "PLAN design=interim features=10 patients=20000 scale=1 alpha=1/4 epsilon=1 beta=1/20 reports=0*E5B4",
    "PLAN design=interim features=10 patients=20000 scale=1 alpha=1/4 epsilon=1 beta=1/20 reports=0 file=0011223344556677*C6DA",
    "PLAN design=uniform features=2 patients=100 scale=1 alpha=1/4 epsilon=1 beta=1/20 reports=0 close=auto kits=110*7659",
    "CLOSE proof=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*C3DF",
    "ERASE proof=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*7BA6",
    "KEY 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a proof=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*82AD",
    "PLAN design=interim features=10 patients=20000 scale=1 alpha=1/4 epsilon=1 beta=1/20 reports=0 file=0011223344556677 proof=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*1E0C",
];

/// Requests whose form has not changed.
const SAME_REQUESTS: [&str; 12] = [
    "HELLO*49D6",
    "STATUS*2DAA",
    "ASSIGN 1 0*A1CB",
    "ASSIGN 4294967295 63 00c0ffee*0DED",
    "OUTCOME 12 65535*B9C6",
    "LOST 12*3303",
    "REPLACE 57 3*EC1A",
    "REPORT*F1F0",
    "AUTH*2261",
    "KEY 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f*B1C5",
    "CLOSE*BD09",
    "ERASE*D270",
];

/// Refusals.
const REFUSALS: [&str; 41] = [
    "ERR checksum got=00FF expected=49D6*ADD4",
    "ERR checksum got=none expected=49D6*EF24",
    "ERR syntax got=HELO allowed HELLO STATUS ASSIGN REPLACE OUTCOME LOST REPORT AUTH KEY PLAN CLOSE ERASE*49CB",
    "ERR syntax got=now allowed a verb alone*46B1",
    "ERR syntax got=now allowed CLOSE or ERASE with proof=<64 hex digits>*085B",
    "ERR syntax got=x?? allowed ASSIGN <k> <feature> [tag of 8 hex digits]*3AAD",
    "ERR syntax got=nothing allowed OUTCOME <k> <y>*9996",
    "ERR syntax got=nothing allowed REPLACE <k> <r>*A3DA",
    "ERR syntax got=4294967296 allowed LOST <k>*1EBD",
    "ERR syntax got=00 allowed AUTH alone: since protocol 2 the proof is the last word of the command*0823",
    "ERR syntax got=nothing allowed KEY <64 hex digits> [proof=<64 hex digits>]*4E27",
    "ERR syntax got=colour allowed PLAN <key=value>.. [file=<16 hex digits>] proof=<64 hex digits>*46DC",
    "ERR syntax patients missing allowed 2..=10000000*49B6",
    "ERR syntax features given twice*73EB",
    "ERR syntax got=proof allowed KEY PLAN CLOSE ERASE*E0E3",
    "ERR length allowed 250*E271",
    "ERR order expected=58*DDB1",
    "ERR feature got=10 allowed 0..10*556E",
    "ERR range y=2 allowed 0..=1*8DA4",
    "ERR range features=65 allowed 1..=64*28A7",
    "ERR range features=64 allowed 1..=16 on this device*3789",
    "ERR range design=conse allowed dp-conse interim uniform on a device*AFD6",
    "ERR unknown patient=58 allowed 1..=57*A509",
    "ERR full patients=20000*1F3D",
    "ERR full waiting=128 send OUTCOME or LOST first*436E",
    "ERR range kits=19 patients=20 allowed kits=0, or 20..=1048576*579A",
    "ERR range kits=1048577 allowed 0, or patients..=1048576*12B8",
    "ERR kits kits=0 the trial is not blinded*5AB9",
    "ERR kits patient=57 is resolved*1866",
    "ERR kits patient=57 has had 3 replacements, the most allowed*5480",
    "ERR kits replaced=10 the kits left are for patients to come*EC66",
    "ERR early no estimate yet*E58C",
    "ERR closed*66B1",
    "ERR blank*D9D5",
    "ERR locked wrong proofs until=power-up*102E",
    "ERR locked trial until=ERASE*B754",
    "ERR auth send AUTH first*FF0E",
    "ERR budget epsilon=1/3 left=0.250000*2CA1",
    "ERR storage until=power-up*7DCC",
    "ERR foreign stored=state-1 use the firmware that wrote it*AFBE",
    "ERR entropy health test failed*1F79",
];

/// A device of version 2 is told by its version, and what it says otherwise is no reply where the
/// form has changed.
#[test]
fn changed_replies_of_version_2_are_refused() {
    for line in GREETINGS {
        assert!(Reply::parse(line.as_bytes()).is_err(), "{line}");
        assert_eq!(protocol_of(line.as_bytes()), Some(2), "{line}");
    }
    for line in CHANGED_REPLIES {
        assert!(Reply::parse(line.as_bytes()).is_err(), "{line}");
        assert_eq!(protocol_of(line.as_bytes()), None);
    }
    for line in SAME_REPLIES {
        assert!(Reply::parse(line.as_bytes()).is_ok(), "{line}");
    }
}

/// Plans and proofs of a terminal of version 2 are no requests; what a ward sends is.
#[test]
fn changed_requests_of_version_2_are_refused() {
    for line in CHANGED_REQUESTS {
        assert!(Request::parse(line.as_bytes()).is_err(), "{line}");
    }
    for line in SAME_REQUESTS {
        assert!(Request::parse(line.as_bytes()).is_ok(), "{line}");
    }
}

/// Refusals of version 2 are still read, each as its word.
#[test]
fn refusals_of_version_2_are_read() {
    for line in REFUSALS {
        let word = told(&format!("{line}\n"));
        assert_eq!(Some(word.name()), line.split([' ', '*']).nth(1), "{line}");
    }
}
