//! The walls of the house: who may know whom, how small the device is, how long a file may be.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Crates of the workspace, and the ones each may depend on; tests may use more.
const ARROWS: [(&str, &[&str]); 6] = [
    ("equipoise", &[]),
    ("equipoise-study", &["equipoise"]),
    ("equipoise-audit", &["equipoise", "equipoise-study"]),
    ("equipoise-ward", &["equipoise", "equipoise-study"]),
    ("equipoise-cli", &["equipoise", "equipoise-audit", "equipoise-study", "equipoise-ward"]),
    ("xtask", &[]),
];
/// Most crates that the device is built of, itself included.
const DEVICE_CRATES: usize = 30;
/// Most types, traits, functions and constants of the device, with every feature of a host.
const PUBLIC_ITEMS: usize = 200;
/// Most lines of a source file.
const LINES: usize = 400;

/// Output of cargo, called in the root of the workspace.
fn cargo(words: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO")).args(words).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Files under version control that end so, by their path from the root.
fn sources(ending: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let listed = Command::new("git").args(["ls-files", ending]).current_dir(&root).output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    listed.lines().filter(|file| root.join(file).is_file()).map(str::to_owned).collect()
}

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file)).unwrap()
}

/// Crates depend on each other as drawn, and no wall has a hole.
#[test]
fn crates_know_only_their_neighbours() {
    let text = cargo(&["metadata", "--no-deps", "--format-version", "1", "--offline"]);
    let metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert_eq!(packages.len(), ARROWS.len());
    for (name, allowed) in ARROWS {
        let package = packages.iter().find(|package| package["name"] == name).unwrap();
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let shipped = dependencies.filter(|dependency| dependency["kind"] != "dev");
        let ours: BTreeSet<&str> = shipped
            .filter_map(|dependency| dependency["name"].as_str())
            .filter(|name| ARROWS.iter().any(|(other, _)| other == name))
            .collect();
        assert_eq!(ours, allowed.iter().copied().collect(), "{name}");
    }
}

/// The device alone is a few crates, and brings no runtime of a chip along unless it is asked to.
#[test]
fn the_device_is_small() {
    let tree = |more: &[&str]| {
        let words = ["tree", "--offline", "-p", "equipoise", "-e", "normal", "--prefix", "none"];
        let text = cargo(&[&words[..], more].concat());
        text.lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
    };
    let here: BTreeSet<String> = tree(&[]);
    assert!(here.len() <= DEVICE_CRATES, "{} crates: {here:?}", here.len());
    let board: BTreeSet<String> = tree(&["--target", "thumbv7em-none-eabihf"]);
    assert!(!board.iter().any(|name| name.starts_with("cortex-m")), "{board:?}");
    let firmware: BTreeSet<String> =
        tree(&["--target", "thumbv7em-none-eabihf", "--features", "microbit-v2"]);
    assert!(firmware.contains("cortex-m-rt"), "{firmware:?}");
}

/// The device has no feature for the host, and the host's program none for tests.
#[test]
fn features_are_honest() {
    for file in sources("src/*.rs") {
        assert!(!read(&file).contains("feature = \"host\""), "{file}");
    }
    for file in sources("host/*/src/*.rs") {
        assert!(!read(&file).contains("equipoise::testkit"), "{file}: a test model in the product");
    }
}

/// A file can be read in one sitting, and test code is shared by modules.
#[test]
fn files_are_short_and_shared_by_modules() {
    let marks = [["#[pa", "th = "].concat(), ["allow(dead", "_code"].concat()];
    for file in sources("*.rs") {
        let text = read(&file);
        let lines = text.lines().count();
        assert!(lines <= LINES, "{file}: {lines} lines, at most {LINES}");
        let tests = file.contains("tests/");
        assert!(!tests || marks.iter().all(|mark| !text.contains(mark)), "{file}: {marks:?}");
    }
}

/// Words that once named several things are declared once each, in the whole workspace.
#[test]
fn words_have_one_meaning() {
    let words = ["Board", "Choice", "Design", "Part", "Row", "next_look", "turn"];
    let mut places = words.map(|word| (word, Vec::new()));
    for file in sources("*.rs") {
        for line in read(&file).lines().filter(|line| !line.trim_start().starts_with("//")) {
            let mut before = "";
            for name in line.split(|c: char| !c.is_alphanumeric() && c != '_') {
                let declares = ["enum", "fn", "struct", "trait", "type"].contains(&before);
                let mut known = places.iter_mut().filter(|(word, _)| declares && *word == name);
                known.by_ref().for_each(|(_, files)| files.push(file.clone()));
                before = name;
            }
        }
    }
    for (word, files) in places {
        assert_eq!(files.len(), 1, "`{word}` is declared in {files:?}");
    }
}

/// Each requirement names its tests, and each such test names the requirement.
#[test]
fn requirements_and_tests_agree() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let matrix =
        xtask::trace::Trace::read(&root).unwrap_or_else(|faults| panic!("{faults}")).matrix();
    assert!(matrix.lines().filter(|line| line.starts_with("| D")).count() > 20, "{matrix}");
}

/// docs/gcp.md names requirements that exist, and claims nothing about a regulation.
#[test]
fn gcp_points_are_requirements() {
    let (text, known) = (read("docs/gcp.md"), read("docs/requirements.md"));
    assert!(
        !text.to_lowercase().contains("complian"),
        "what meets a regulation is not ours to say"
    );
    let mut named = 0;
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        let is_number = word.len() > 1 && word[1..].bytes().all(|digit| digit.is_ascii_digit());
        if is_number && word.starts_with(['D', 'W', 'S']) {
            assert!(known.contains(&format!("* **{word}** ")), "{word} is no requirement");
            named += 1;
        }
    }
    assert!(named > 30, "only {named} requirements are named");
}

/// The library shows what its users need: rustdoc's list of all items is short.
#[test]
fn the_device_shows_few_items() {
    let words = ["doc", "--offline", "--quiet", "--no-deps", "-p", "equipoise", "--lib"];
    cargo(&[&words[..], &["--features", "testkit,wipe"]].concat());
    let text = cargo(&["metadata", "--no-deps", "--format-version", "1", "--offline"]);
    let metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
    let target = Path::new(metadata["target_directory"].as_str().unwrap());
    let list = std::fs::read_to_string(target.join("doc/equipoise/all.html")).unwrap();
    let items: Vec<&str> = list
        .split("<li><a href=\"")
        .skip(1)
        .filter(|item| !item.starts_with('#'))
        .filter_map(|item| item.split_once('>')?.1.split('<').next())
        .collect();
    assert!(items.contains(&"device::Device") && items.contains(&"wire::LINE_LIMIT"), "{items:?}");
    assert!(items.len() <= PUBLIC_ITEMS, "{} items: {items:?}", items.len());
    // Details of storage are for audit and tests alone.
    for item in ["trial::Dirty", "trial::Part", "journal::Region", "device::custodian::Custody"] {
        assert!(!items.contains(&item), "{item}");
    }
}
