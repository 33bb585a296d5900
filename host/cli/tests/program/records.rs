//! `equipoise records`: log and trial file have a second copy, or nobody is enrolled.

use crate::common::ward::Ward;

/// The copy has the enrolment before the arm is shown; a difference is named by its line; without
/// the folder nobody is enrolled, or with a warning where that is set. Requirement W25.
#[test]
fn records_are_on_both_disks() {
    let ward = Ward::new();
    let _device = ward.device();
    std::fs::create_dir(ward.file("stick")).unwrap();
    let none = ward.run(&["records", "verify", "--trial", "trial.toml"]);
    assert!(none.code == 2 && none.err.contains("keeps no second copy"), "{none:?}");
    let missing = ward.run(&["records", "copy-to", "away"]);
    assert!(missing.code == 2 && missing.err.contains("away"), "{missing:?}");
    let set = ward.run(&["records", "copy-to", "stick"]);
    assert!(set.code == 0 && set.out.contains("nobody is enrolled"), "{set:?}");
    ward.provision(&[]);
    let log = ["--log", "ward.jsonl"];
    ward.good(&[&["assign", "P-1", "0"][..], &log].concat());
    ward.good(&[&["outcome", "P-1", "yes"][..], &log].concat());
    let (ours, copy) = (ward.file("ward.jsonl"), ward.file("stick/ward.jsonl"));
    let text = std::fs::read_to_string(&ours).unwrap();
    assert_eq!(text, std::fs::read_to_string(&copy).unwrap());
    assert!(
        text.contains("\"event\":\"asked\",\"code\":\"P-1\",\"patient\":1,\"looks\":0}"),
        "{text}"
    );
    let verify = || ward.run(&[&["records", "verify"][..], &log].concat());
    let same = verify();
    let lines = format!("{} lines, and the same in", text.lines().count());
    assert!(same.code == 0 && same.out.contains(&lines), "{same:?}");
    // Copies are for their owner alone.
    #[cfg(unix)]
    for entry in std::fs::read_dir(ward.file("stick")).unwrap() {
        use std::os::unix::fs::PermissionsExt as _;
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
    }
    let changed = text.replace("\"arm_name\":\"", "\"arm_name\":\"x");
    let line = 1 + text.lines().position(|line| line.contains("\"arm_name\"")).unwrap();
    std::fs::write(&copy, changed).unwrap();
    let differs = verify();
    let what = format!("line {line} of the log is another one in its copy");
    assert!(differs.code == 1 && differs.err.contains(&what), "{differs:?}");
    std::fs::write(&copy, &text).unwrap();
    // Another trial file under the name of the copy.
    let mut kept =
        std::fs::read_dir(ward.file("stick")).unwrap().map(|entry| entry.unwrap().path());
    let kept = kept.find(|path| path.extension().is_some_and(|end| end == "toml")).unwrap();
    let trial = std::fs::read_to_string(&kept).unwrap();
    std::fs::write(&kept, trial.replace("Early walking", "Late walking")).unwrap();
    let differs = verify();
    assert!(differs.code == 1 && differs.err.contains("of the trial file differs"), "{differs:?}");
    std::fs::write(&kept, trial).unwrap();
    std::fs::rename(ward.file("stick"), ward.file("away")).unwrap();
    let refused = ward.on_device(&[&["assign", "P-2", "0"][..], &log].concat());
    assert!(refused.code == 2 && refused.err.contains("stick is not there"), "{refused:?}");
    assert!(ward.good(&["status", "--json"]).contains("\"assigned\":1,"), "nobody was enrolled");
    assert_eq!(verify().code, 1);
    std::fs::rename(ward.file("away"), ward.file("stick")).unwrap();
    assert_eq!(ward.run(&["records", "copy-to", "stick", "--without", "warn"]).code, 0);
    std::fs::rename(ward.file("stick"), ward.file("away")).unwrap();
    let warned = ward.on_device(&[&["assign", "P-2", "0"][..], &log].concat());
    assert!(warned.code == 0 && warned.err.contains("on this disk alone"), "{warned:?}");
    std::fs::rename(ward.file("away"), ward.file("stick")).unwrap();
    ward.good(&[&["assign", "P-3", "0"][..], &log].concat());
    assert_eq!(verify().code, 0, "the copy has every line again");
}

/// Without the folder for copies no custodian's act is done whose line could not be kept. A trial
/// that begins without a log keeps its trial file and its staff on this machine all the same, and
/// says that the second copy is missing.
#[test]
fn an_act_without_its_copy_is_not_begun() {
    let ward = Ward::new();
    let _device = ward.device();
    std::fs::create_dir(ward.file("stick")).unwrap();
    assert_eq!(ward.run(&["records", "copy-to", "stick"]).code, 0);
    std::fs::remove_dir_all(ward.file("stick")).unwrap();
    std::fs::write(ward.file("trial.toml"), equipoise_ward::records::trial_file::EXAMPLE).unwrap();
    assert_eq!(ward.run(&["keygen", "key"]).code, 0);
    let add = ["staff", "add", "jo", "Jo", "--role", "enrol,coordinate", "--trial", "trial.toml"];
    let added = ward.run_with(&add, "735194\n735194\n");
    assert_eq!(added.code, 0, "{added:?}");
    let log = ["--log", "ward.jsonl"];
    let begin = ["provision", "trial.toml", "--key-file", "key"];
    let refused = ward.on_device(&[&begin[..], &log].concat());
    assert!(refused.code == 2 && refused.err.contains("nothing was sent"), "{refused:?}");
    let begun = ward.on_device(&begin);
    assert!(begun.code == 0 && begun.err.contains("has no second copy yet"), "{begun:?}");
    assert!(!begun.err.contains("no copy of the trial file"), "{begun:?}");
    let kept = std::fs::read_dir(ward.file("data/equipoise/trials")).unwrap();
    let kept: Vec<_> = kept.map(|entry| entry.unwrap().file_name()).collect();
    assert!(kept.iter().any(|name| name.to_string_lossy().contains("staff")), "{kept:?}");
    let close = ["close", "--yes", "--key-file", "key"];
    let refused = ward.on_device(&[&close[..], &log].concat());
    assert!(refused.code == 2 && refused.err.contains("nothing was sent"), "{refused:?}");
    assert!(!ward.good(&["status", "--json"]).contains("\"closed\""), "the trial goes on");
}
