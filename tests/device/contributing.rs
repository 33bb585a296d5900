//! The trace of one ASSIGN in CONTRIBUTING.md names functions that exist, in at most 12 steps.

use std::fs;
use std::path::Path;

/// The rows of the trace: file and function.
fn steps(text: &str) -> Vec<(String, String)> {
    let trace =
        text.split("## One ASSIGN").nth(1).expect("CONTRIBUTING.md has the trace of an ASSIGN");
    let trace = trace.split("\n## ").next().unwrap();
    let rows = trace.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    let cell = |row: &str, i| {
        row.split('|').nth(i).unwrap_or_default().trim().trim_matches('`').to_owned()
    };
    rows.map(|row| (cell(row, 2), cell(row, 3))).collect()
}

/// Whether a source text defines a function of this name.
fn defines(source: &str, function: &str) -> bool {
    let start = format!("fn {function}");
    let mut starts = source.match_indices(&start).map(|(at, _)| at + start.len());
    starts.any(|end| source[end..].starts_with(['(', '<']))
}

#[test]
fn trace_names_existing_functions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let steps = steps(&fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap());
    assert!((6..=12).contains(&steps.len()), "{} steps", steps.len());
    for (file, function) in steps {
        let source =
            fs::read_to_string(root.join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(defines(&source, &function), "{file} has no function `{function}`");
    }
}

#[test]
fn definitions_are_whole_names() {
    assert!(defines("pub fn assign<const M: usize>(", "assign") && defines("fn open()", "open"));
    assert!(!defines("fn assigned(", "assign") && !defines("assign()", "assign"));
}
