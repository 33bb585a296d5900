//! Every command of docs/recovery.md, run in the order of the page on one trial.

use crate::common::ward::{ROOT, Ward};
use xtask::markdown;

/// Each command that the page shows does what the page says, from the key to the erased board.
/// Requirement W26.
#[test]
#[cfg(unix)]
fn each_command_of_the_page_works() {
    let page = std::fs::read_to_string(format!("{ROOT}/docs/recovery.md")).unwrap();
    let ward = Ward::new();
    let _device = ward.device();
    let (stick, port) = (ward.file("stick").display().to_string(), ward.port());
    std::fs::create_dir(&stick).unwrap();
    let trial = equipoise_ward::records::trial_file::EXAMPLE;
    std::fs::write(ward.file("trial.toml"), trial).unwrap();
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("    ")).collect();
    assert!(lines.len() > 20, "the page shows its commands: {lines:?}");
    let mut run = 0;
    for line in lines {
        let digest = digest(&ward);
        let line = line.trim().replace("/media/stick/ward-3", &stick);
        let line = line.replace("/dev/ttyACM0", &port).replace("DIGEST", &digest);
        let commands = markdown::commands(&line);
        let [words] = commands.as_slice() else { panic!("one command a line: {line}") };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["equipoise", rest @ ..] => {
                let done = ward.run_with(rest, "yes\n");
                assert_eq!(done.code, 0, "{line}: {done:?}");
            }
            ["cp", rest @ ..] => {
                let mut copy = std::process::Command::new("cp");
                assert!(copy.args(rest).current_dir(ward.path()).status().unwrap().success());
            }
            other => panic!("the test does not know how to run {other:?}"),
        }
        run += 1;
    }
    // The page's claims: no patient got lost, the report is there, the board is blank.
    let list = std::fs::read_to_string(ward.file("enrolled.csv")).unwrap();
    assert!(list.contains("P-001") && list.contains("P-002"), "{list}");
    let report = std::fs::read_to_string(ward.file("report.json")).unwrap();
    assert!(report.contains("\"enrolled\":3") || report.contains("\"assigned\":3"), "{report}");
    assert!(ward.good(&["status", "--json"]).contains("\"state\":\"blank\""));
    assert!(run > 20);
}

/// The digest of the provisioned trial file, by the name of its second copy.
fn digest(ward: &Ward) -> String {
    let files = std::fs::read_dir(ward.file("stick")).unwrap().map(|file| file.unwrap().path());
    let mut trials = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let name = trials.next().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    name.unwrap_or_else(|| "DIGEST".to_owned())
}
