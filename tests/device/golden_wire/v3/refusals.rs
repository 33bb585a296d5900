//! The bytes of refusals.

use super::super::{
    LINE_LIMIT, Lock, Micro, NoKit, Ratio, Refusal, Reply, Stored, WireError, Word, named, told,
    wrong,
};

/// Every refusal is written as these bytes and read as word and detail.
#[test]
fn refusals_are_these_bytes() {
    let mut words = Vec::new();
    for (refusal, bytes) in [
        (
            WireError::Checksum { got: Some(0x00FF), expected: 0x49D6 }.into(),
            "ERR checksum got=00FF expected=49D6*ADD4\n",
        ),
        (
            WireError::Checksum { got: None, expected: 0x49D6 }.into(),
            "ERR checksum got=none expected=49D6*EF24\n",
        ),
        (
            wrong(b"HELO"),
            "ERR syntax got=HELO allowed HELLO STATUS ASSIGN REPLACE OUTCOME LOST REPORT PROVE AUTH KEY PLAN CLOSE ERASE*0B13\n",
        ),
        (wrong(b"REPORT now"), "ERR syntax got=now allowed a verb alone*46B1\n"),
        (
            wrong(b"CLOSE now"),
            "ERR syntax got=now allowed CLOSE or ERASE with proof=<32 hex digits>*01F4\n",
        ),
        (
            wrong(b"ASSIGN 1 x\x00\xFF"),
            "ERR syntax got=x?? allowed ASSIGN <k> <feature> [tag of 8 hex digits]*3AAD\n",
        ),
        (wrong(b"OUTCOME 1"), "ERR syntax got=nothing allowed OUTCOME <k> <y>*9996\n"),
        (wrong(b"PROVE"), "ERR syntax got=nothing allowed PROVE <32 hex digits>*F13A\n"),
        (wrong(b"REPLACE 1"), "ERR syntax got=nothing allowed REPLACE <k> <r>*A3DA\n"),
        (wrong(b"LOST 4294967296"), "ERR syntax got=4294967296 allowed LOST <k>*1EBD\n"),
        (
            wrong(b"AUTH 00"),
            "ERR syntax got=00 allowed AUTH alone: since protocol 2 the proof is the last word of the command*0823\n",
        ),
        (
            wrong(b"KEY"),
            "ERR syntax got=nothing allowed KEY <64 hex digits> [proof=<32 hex digits>]*700E\n",
        ),
        (
            wrong(b"PLAN colour=red"),
            "ERR syntax got=colour allowed PLAN <key=value>.. [file=<16 hex digits>] proof=<32 hex digits>*4F73\n",
        ),
        (wrong(b"PLAN features=1"), "ERR syntax patients missing allowed 2..=10000000*49B6\n"),
        (wrong(b"PLAN features=1 features=2"), "ERR syntax features given twice*73EB\n"),
        (
            wrong(b"LOST 1 proof=000102030405060708090a0b0c0d0e0f"),
            "ERR syntax got=proof allowed REPORT KEY PLAN CLOSE ERASE*E871\n",
        ),
        (WireError::Length.into(), "ERR length allowed 250*E271\n"),
        (Refusal::Order { expected: 58 }, "ERR order re=ASSIGN:57 expected=58*0060\n"),
        (
            Refusal::Feature { got: 10, features: 10 },
            "ERR feature re=ASSIGN:57 got=10 allowed 0..10*66B6\n",
        ),
        (Refusal::Outcome { got: 2, scale: 1 }, "ERR range re=OUTCOME:57 y=2 allowed 0..=1*6CCD\n"),
        (
            wrong(b"PLAN features=65 patients=2 better=high epsilon=1"),
            "ERR range re=PLAN features=65 allowed 1..=64*018F\n",
        ),
        (
            Refusal::Capacity { got: 64, features: 16 },
            "ERR range re=PLAN features=64 allowed 1..=16 on this device*5580\n",
        ),
        (
            Refusal::NotPrivate,
            "ERR range re=PLAN design=conse allowed dp-conse interim uniform on a device*AC3A\n",
        ),
        (
            Refusal::Unknown { patient: 58, assigned: 57 },
            "ERR unknown re=OUTCOME:58 patient=58 allowed 1..=57*AE2F\n",
        ),
        (Refusal::Full { patients: 20_000 }, "ERR full re=ASSIGN:58 patients=20000*EF86\n"),
        (
            Refusal::Waiting { capacity: 128 },
            "ERR full re=ASSIGN:58 waiting=128 send OUTCOME or LOST first*C401\n",
        ),
        (
            wrong(b"PLAN features=1 patients=20 better=high epsilon=1 kits=19"),
            "ERR range re=PLAN kits=19 patients=20 allowed kits=0, or 20..=1048576*00DB\n",
        ),
        (
            wrong(b"PLAN features=1 patients=20 better=high epsilon=1 kits=1048577"),
            "ERR range re=PLAN kits=1048577 allowed 0, or patients..=1048576*3893\n",
        ),
        (
            Refusal::Kits(NoKit::Open, 0),
            "ERR kits re=REPLACE:57 kits=0 the trial is not blinded*FDF9\n",
        ),
        (
            Refusal::Kits(NoKit::Resolved, 57),
            "ERR kits re=REPLACE:57 patient=57 is resolved*0A72\n",
        ),
        (
            Refusal::Kits(NoKit::Most, 57),
            "ERR kits re=REPLACE:57 patient=57 has had 3 replacements, the most allowed*A1B0\n",
        ),
        (
            Refusal::Kits(NoKit::Reserve, 10),
            "ERR kits re=REPLACE:57 replaced=10 the kits left are for patients to come*DF95\n",
        ),
        (Refusal::Early, "ERR early re=REPORT no estimate yet*3856\n"),
        (Refusal::Closed, "ERR closed re=ASSIGN:58*B7ED\n"),
        (Refusal::Blank, "ERR blank re=STATUS*E265\n"),
        (
            Refusal::Locked(Lock::WrongProofs),
            "ERR locked re=AUTH wrong proofs until=power-up*90F5\n",
        ),
        (Refusal::Locked(Lock::Trial), "ERR locked re=PLAN trial until=ERASE*CDBA\n"),
        (
            Refusal::Locked(Lock::UsedFile),
            "ERR locked re=PLAN file ran blinded here before, raise its use*1791\n",
        ),
        (Refusal::Auth("send AUTH first"), "ERR auth re=CLOSE send AUTH first*CBE2\n"),
        (
            Refusal::Budget { epsilon: Ratio::new(1, 3).unwrap(), left: Micro(250_000) },
            "ERR budget re=PLAN epsilon=1/3 left=0.250000*F615\n",
        ),
        (Refusal::Storage, "ERR storage re=STATUS until=power-up*236E\n"),
        (
            Refusal::Foreign(Stored::State(1)),
            "ERR foreign re=STATUS stored=state-1 use the firmware that wrote it*9A59\n",
        ),
        (Refusal::Entropy, "ERR entropy re=ASSIGN:1 health test failed*FDCB\n"),
    ] {
        assert!(bytes.len() <= LINE_LIMIT + 1, "{bytes}");
        let word = refusal.word();
        let line = Reply::Refused(refusal, named(bytes)).to_line();
        assert!(!line.is_cut());
        assert_eq!(core::str::from_utf8(line.as_bytes()), Ok(bytes));
        assert_eq!(told(bytes), word);
        words.push(word);
    }
    assert!(Word::ALL.iter().all(|word| words.contains(word)), "a word has no line here");
}
