//! The trace of one ASSIGN in CONTRIBUTING.md names functions that exist, each called by the one
//! under which it is indented.

use std::fs;
use std::path::Path;

/// Spaces that a call is indented under its caller.
const INDENT: usize = 2;
/// Most steps that a reader follows.
const STEPS: usize = 20;

/// A step of the trace: how deep it is, its file and its function.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    depth: usize,
    file: String,
    function: String,
}

/// The steps of the trace, in order.
fn steps(text: &str) -> Vec<Step> {
    let trace =
        text.split("## One ASSIGN").nth(1).expect("CONTRIBUTING.md has the trace of an ASSIGN");
    let trace = trace.split("\n## ").next().unwrap();
    let lines = trace.lines().filter_map(|line| line.strip_prefix("    "));
    let step = |line: &str| {
        let (file, function) = line.split_whitespace().next()?.split_once("::")?;
        let depth = (line.len() - line.trim_start().len()) / INDENT;
        Some(Step { depth, file: file.to_owned(), function: function.to_owned() })
    };
    lines.filter_map(step).collect()
}

/// Whether a source text defines a function of this name.
fn defines(source: &str, function: &str) -> bool {
    let start = format!("fn {function}");
    let mut starts = source.match_indices(&start).map(|(at, _)| at + start.len());
    starts.any(|end| source[end..].starts_with(['(', '<']))
}

/// Whether a source text calls a function of this name.
fn calls(source: &str, function: &str) -> bool {
    source.match_indices(function).any(|(at, _)| {
        let (before, behind) = (&source[..at], &source[at + function.len()..]);
        let longer = before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        !longer
            && !before.ends_with("fn ")
            && (behind.starts_with('(') || behind.starts_with("::<"))
    })
}

#[test]
fn trace_names_existing_functions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| {
        fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    };
    let steps = steps(&read("CONTRIBUTING.md"));
    assert!((12..=STEPS).contains(&steps.len()), "{} steps", steps.len());
    for (i, step) in steps.iter().enumerate() {
        let Step { depth, file, function } = step;
        assert!(defines(&read(file), function), "{file} has no function `{function}`");
        if *depth == 0 {
            continue;
        }
        let caller = steps[..i].iter().rev().find(|before| before.depth < *depth);
        let caller = caller.unwrap_or_else(|| panic!("{step:?} is indented under nothing"));
        assert_eq!(caller.depth + 1, *depth, "{step:?} is indented by more than one step");
        assert!(calls(&read(&caller.file), function), "{caller:?} does not call {step:?}");
    }
}

#[test]
fn definitions_are_whole_names() {
    assert!(defines("pub fn assign<const M: usize>(", "assign") && defines("fn open()", "open"));
    assert!(!defines("fn assigned(", "assign") && !defines("assign()", "assign"));
    assert!(calls("self.open(x)", "open") && calls("open(x)", "open"));
    assert!(calls("open::<X>(x)", "open") && !calls("open::x(y)", "open"));
    assert!(!calls("fn open(x)", "open") && !calls("reopen(x)", "open"));
}

#[test]
fn nesting_is_read_from_indentation() {
    let found =
        steps("## One ASSIGN\n\n    a.rs::f  one\n      b.rs::g  two\n\n## Next\n    c::h\n");
    let step = |depth, file: &str, function: &str| Step {
        depth,
        file: file.to_owned(),
        function: function.to_owned(),
    };
    assert_eq!(found, [step(0, "a.rs", "f"), step(1, "b.rs", "g")]);
}
