//! A key is compared with what the trial was begun with, wherever one is used.

use crate::common::ward::{ARMS, BLINDED, Done, Ward};

/// Roles whose key is another custodian's in these tests.
const ROLES: [&str; 3] = ["report", "presence", "code-break"];

/// Another custodian's key `other`, with the keys of its roles.
fn make_another(ward: &Ward) {
    assert_eq!(ward.run(&["keygen", "other"]).code, 0);
    for role in ROLES {
        let file = format!("other-{role}");
        assert_eq!(ward.run(&["keygen", &file, "--role", role, "--from", "other"]).code, 0);
    }
}

#[track_caller]
fn is_named(done: &Done, why: &str) {
    assert!(done.code != 0 && done.err.contains(why), "{done:?}");
    assert!(done.err.contains("its check value is") && done.out.is_empty(), "{done:?}");
}

/// Another custodian's key is refused by name at every command that asks the device, with nothing
/// sent: far more wrong keys than lock a device leave it open to the right one.
#[test]
fn a_wrong_key_is_named_and_not_sent() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[("[plan]\n", "[plan]\nresults = \"custodian\"\n")]);
    make_another(&ward);
    for _ in 0..2 {
        for (words, role) in [
            (&["close", "--yes", "--key-file", "other"][..], "custodian's"),
            (&["close", "--key-file", "other"], "custodian's"),
            (&["erase", "--yes", "--key-file", "other"], "custodian's"),
            (&["report", "--key-file", "other"], "custodian's"),
            (&["report", "--key-file", "other-report"], "report"),
            (&["report", "--verify", "--key-file", "other-report"], "report"),
            (&["key", "prove", "other"], "custodian's"),
            (&["key", "prove", "other-presence"], "presence"),
            (&["assign", "P-1", "0", "--presence-key", "other-presence"], "presence"),
        ] {
            let why = format!("this is not the {role} key of trial ");
            is_named(&ward.on_device(words), &why);
        }
    }
    // A log in which the provision stands is a witness on another machine.
    ward.forget_records("key-checks");
    let close = ["close", "--yes", "--log", "custodian.jsonl", "--key-file"];
    let with = |key| ward.on_device(&[&close[..], &[key]].concat());
    is_named(&with("other"), "that of line 1 of the log is");
    // Without any witness the device tells.
    let prove = ward.on_device(&["key", "prove", "other"]);
    assert!(prove.code == 1 && prove.err.contains("holds another key"), "{prove:?}");
    assert_eq!(with("key").code, 0);
}

/// A list of kits, its check and counts by arm are not made with another key than the trial was
/// begun with; the code-break key of the right custodian makes them.
#[test]
fn a_wrong_key_makes_no_list_of_kits() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&BLINDED);
    ward.good(&["assign", "P-1", "0", "--log", "ward.jsonl"]);
    make_another(&ward);
    ward.kit_list();
    assert_eq!(ward.run(&["keygen", "ours", "--role", "code-break", "--from", "key"]).code, 0);
    let lists = [
        &["kits", "list", "trial.toml", "--csv", "--key-file"][..],
        &["kits", "verify", "k.csv", "--key-file"],
        &["list", "--consort", "--log", "ward.jsonl", "--key-file"],
    ];
    for words in lists {
        let with = |key| ward.run(&[words, &[key]].concat());
        for key in ["other", "other-code-break"] {
            is_named(&with(key), "this is not the key of the trial");
            assert!(ARMS.iter().all(|arm| !with(key).out.contains(arm)));
        }
        assert_eq!(with("ours").code, 0, "{words:?}: {:?}", with("ours"));
    }
}
