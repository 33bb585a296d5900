//! README, CONTRIBUTING and docs agree with the tree: links lead somewhere, named files exist, and
//! the program accepts the commands that are shown.
//!
//! A command is given to the program with `--help` behind it: clap then reads every option before
//! it, refuses an unknown one, and runs nothing.

use crate::common::ward::{PROGRAM, ROOT};
use xtask::markdown;

use markdown::{FOREIGN, commands, inline_code, shown, split};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(ROOT)
}

/// Every Markdown file that ships, with its text.
fn documents() -> Vec<(PathBuf, String)> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for directory in [root().to_owned(), root().join("docs")] {
        let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
        paths.extend(files.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    paths.sort();
    assert!(paths.len() >= 5, "README and docs are found: {paths:?}");
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The targets of `[text](target)` and `![text](target)`.
fn links(prose: &str) -> Vec<&str> {
    let starts = prose.match_indices("](").map(|(at, found)| at + found.len());
    starts.filter_map(|start| prose[start..].split(')').next()).collect()
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept =
        heading.chars().filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-' || *c == '_');
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut checked = 0;
    let mut broken = Vec::new();
    for (path, text) in documents() {
        let prose = split(&text).1.join("\n");
        for link in links(&prose).into_iter().filter(|link| !link.contains("://")) {
            checked += 1;
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let found = target.exists()
                && (place.is_empty() || {
                    let text = fs::read_to_string(&target).unwrap_or_default();
                    let mut headings = text.lines().filter(|line| line.starts_with('#'));
                    headings.any(|line| anchor(line.trim_start_matches('#').trim()) == place)
                });
            if !found {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links without a target:\n{}", broken.join("\n"));
    assert!(checked > 10, "only {checked} links were found");
}

/// A path of this repository, written as code, exists. `*` and `..` stand for any name.
#[test]
fn named_files_exist() {
    let rooms =
        ["src/", "host/", "tests/", "docs/", "examples/", "benches/", "xtask/", "fuzz/", ".ci/"];
    let mut checked = 0;
    let mut missing = Vec::new();
    for (path, text) in documents() {
        for span in inline_code(&split(&text).1.join("\n")) {
            let plain = span.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
            if plain && !span.contains("..") && rooms.iter().any(|room| span.starts_with(room)) {
                checked += 1;
                if !root().join(&span).exists() {
                    missing.push(format!("{}: {span}", path.display()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "files that are named but not there:\n{}", missing.join("\n"));
    assert!(checked > 10, "only {checked} paths were found");
}

/// Fault of a command, if it has one.
fn problem(words: &[String], seen: &mut BTreeSet<String>) -> Option<String> {
    let rest = &words[1..];
    let refused = |program: &str, arguments: &[String]| {
        let mut command = Command::new(program);
        command.args(arguments).arg("--help").current_dir(root());
        let output = command.output().unwrap_or_else(|error| panic!("{program}: {error}"));
        let why = String::from_utf8_lossy(&output.stderr);
        // Documents write HASH where a reader puts a value of his own.
        let placeholder =
            why.strip_prefix("error: invalid value '").and_then(|rest| rest.split('\'').next());
        let shown = placeholder.is_some_and(|word| word.chars().all(|c| c.is_ascii_uppercase()));
        (!output.status.success() && !shown)
            .then(|| why.lines().take(3).collect::<Vec<_>>().join(" "))
    };
    let equipoise = |arguments: &[String]| refused(PROGRAM, arguments);
    seen.insert(words[0].clone());
    match words[0].as_str() {
        "equipoise" | "equipoise.exe" => equipoise(rest),
        "cargo" => cargo(rest, &equipoise),
        "python3" | "sh" | "bash" => missing_file(rest.first()),
        name if name.contains('/') => missing_file(words.first()).or_else(|| {
            // The options of the scripts in examples/ are those of `equipoise simulate`.
            let options = rest.iter().position(|word| word.starts_with("--"))?;
            let simulate =
                std::iter::once("simulate".to_owned()).chain(rest[options..].iter().cloned());
            equipoise(&simulate.collect::<Vec<_>>())
        }),
        name if FOREIGN.contains(&name) => None,
        name => Some(format!("`{name}` is not a program that this test knows")),
    }
}

fn missing_file(name: Option<&String>) -> Option<String> {
    let name = name?;
    (!root().join(name).exists()).then(|| format!("there is no file {name}"))
}

/// Folders of the test binaries, each named as its binary.
const TESTS: [&str; 7] = [
    "xtask/tests/commands",
    "tests/device",
    "tests/boards",
    "host/study/tests/study",
    "host/audit/tests/audit",
    "host/ward/tests/ward",
    "host/cli/tests/program",
];

/// Fault of `--test NAME` with the module that it is to run, if there is one.
fn missing_test(name: &str, filter: Option<&String>) -> Option<String> {
    let Some(folder) = TESTS.iter().find(|folder| folder.rsplit('/').next() == Some(name)) else {
        return Some(format!("there is no test {name}"));
    };
    let module = filter.and_then(|filter| filter.split("::").next())?;
    missing_file(Some(&format!("{folder}/{module}.rs")))
}

/// Checks the part of a cargo command that names something of this repository.
fn cargo(rest: &[String], equipoise: &dyn Fn(&[String]) -> Option<String>) -> Option<String> {
    let behind = rest.iter().position(|word| word == "--").map_or(rest.len(), |at| at + 1);
    let value = |flag| rest.iter().skip_while(|word| *word != flag).nth(1);
    match rest.first().map(String::as_str) {
        Some("xtask") => xtask(&rest[1..]),
        Some("run") if behind < rest.len() => equipoise(&rest[behind..]),
        Some("test" | "bench") => {
            let bench = value("--bench").map(|name| format!("{name}.rs"));
            let benches = ["benches", "host/study/benches", "host/ward/benches"];
            let found =
                |bench: &String| benches.iter().any(|f| root().join(f).join(bench).exists());
            match (value("--test"), bench) {
                (Some(name), _) => missing_test(name, rest.iter().find(|word| word.contains("::"))),
                (None, Some(bench)) if !found(&bench) => Some(format!("there is no bench {bench}")),
                _ => None,
            }
        }
        Some("install") => None,
        Some(
            "run" | "build" | "check" | "clippy" | "doc" | "fmt" | "fuzz" | "miri" | "mutants"
            | "bloat",
        ) => None,
        other => Some(format!("`cargo {}` is not known", other.unwrap_or_default())),
    }
}

/// `cargo xtask NAME --help` prints the options that the command takes.
fn xtask(rest: &[String]) -> Option<String> {
    let name = rest.first().filter(|name| *name != "--help")?;
    let mut command = Command::new(env!("CARGO"));
    command.args(["xtask", name, "--help"]).current_dir(root());
    let output = command.output().unwrap_or_else(|error| panic!("cargo xtask: {error}"));
    if !output.status.success() {
        return Some(format!("`cargo xtask {name}` is not known"));
    }
    let help = String::from_utf8_lossy(&output.stdout);
    let mut unknown =
        rest.iter().filter(|word| word.starts_with("--") && !help.contains(word.as_str()));
    unknown.next().map(|flag| format!("`cargo xtask {name}` has no option {flag}"))
}

#[test]
fn shown_commands_are_accepted() {
    let mut seen = BTreeSet::new();
    let mut results: BTreeMap<Vec<String>, Option<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (path, text) in documents() {
        for line in shown(&text) {
            for words in commands(&line) {
                let result =
                    results.entry(words.clone()).or_insert_with(|| problem(&words, &mut seen));
                if let Some(why) = result {
                    wrong.push(format!("{}: {line}\n    {why}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "commands that do not work:\n{}", wrong.join("\n"));
    assert!(results.len() > 40, "only {} commands were found", results.len());
    assert!(seen.contains("equipoise") && seen.contains("cargo"));
}

/// No document and no example puts a device's line, or any file, into a folder that others can
/// write to: another user could wait there in the device's place.
#[test]
fn shown_paths_are_not_open_to_others() {
    let examples = fs::read_dir(root().join("examples")).unwrap().map(|file| file.unwrap().path());
    let files = examples.filter(|path| path.is_file()).map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text.lines().map(str::to_owned).collect::<Vec<_>>())
    });
    let shown = documents().into_iter().map(|(path, text)| (path, shown(&text)));
    let mut lines = 0;
    for (path, text) in shown.chain(files) {
        for line in text {
            let open = ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().any(|open| line.contains(open));
            assert!(!open, "{}: {line}", path.display());
            lines += usize::from(line.contains("$XDG_RUNTIME_DIR/equipoise"));
        }
    }
    assert!(lines >= 4, "only {lines} commands with the path of a line were found");
}

#[test]
fn words_of_a_shell_line() {
    let line = "A=1 equipoise x 'P 17' --yes | socat - b # c | d";
    assert_eq!(commands(line), [vec!["equipoise", "x", "P 17", "--yes"], vec!["socat", "-", "b"]]);
    assert_eq!(commands("man x > y && cd z"), [vec!["man", "x"], vec!["cd", "z"]]);
    assert!(commands("# only a comment").is_empty());
}

/// The tests that the table of promises names stand in the files it names.
#[test]
fn promises_name_tests_that_exist() {
    let text = fs::read_to_string(root().join("docs/privacy.md")).unwrap();
    let (_, table) = text.split_once("| promise | test |").expect("the table of promises");
    let mut found = 0;
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let mut folder = PathBuf::new();
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap();
        for name in inline_code(cell) {
            if let Some(file) = name.strip_suffix(".rs") {
                let folders = TESTS.map(|tests| root().join(tests).join(file));
                let found = folders.into_iter().find(|path| path.with_extension("rs").exists());
                folder = found.unwrap_or_else(|| panic!("{name}: no such test file"));
                continue;
            }
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if name.contains('_') && name.chars().all(plain) {
                assert!(holds_test(&folder, &name), "{}: no test {name}", folder.display());
                found += 1;
            }
        }
    }
    assert!(found > 25, "only {found} tests are named");
}

/// Whether a test of this name stands in a test file or in the folder of its modules; also one
/// whose name begins so, where the document leaves out the end.
fn holds_test(file: &Path, name: &str) -> bool {
    let modules = fs::read_dir(file).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut sources = modules.chain([file.with_extension("rs")]);
    let (test, scenario) = (format!("fn {name}("), format!("    {name}:"));
    sources.any(|path| {
        let source = fs::read_to_string(path).unwrap_or_default();
        source.contains(&test) || source.lines().any(|line| line.starts_with(&scenario))
    })
}
