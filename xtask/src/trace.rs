//! `docs/requirements.md` against the tests, in both directions, and the matrix of both.
//!
//! A requirement is an item `* **D1** Sentence.` with its tests, each as `file::function` between
//! backticks. A test names its requirements at the end of its doc comment: `Requirement D1.` or
//! `Requirements D1, W2.`

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const DOCUMENT: &str = "docs/requirements.md";

/// A numbered sentence with its tests.
#[derive(Debug, PartialEq, Eq)]
pub struct Requirement {
    /// A letter for its part of the document, and its place there.
    pub number: String,
    /// The sentence, on one line.
    pub sentence: String,
    /// Each as `file::function`.
    pub tests: Vec<String>,
}

/// Requirements and tests of a tree, which agree.
#[derive(Debug)]
pub struct Trace(Vec<Requirement>);

impl Trace {
    /// Reads document and tests below a root and compares them. An error lists everything wrong.
    pub fn read(root: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(root.join(DOCUMENT));
        let requirements = requirements(&text.map_err(|error| format!("{DOCUMENT}: {error}"))?)?;
        let listed = Command::new("git").args(["ls-files", "*.rs"]).current_dir(root).output();
        let listed = listed.map_err(|error| format!("`git ls-files` did not start: {error}"))?;
        let mut tests = BTreeMap::new();
        for file in String::from_utf8_lossy(&listed.stdout).lines() {
            // A file that was deleted but not yet committed is still listed.
            let Ok(source) = std::fs::read_to_string(root.join(file)) else { continue };
            tests.extend(tests_of(&source).map(|(name, of)| (format!("{file}::{name}"), of)));
        }
        let faults = compare(&requirements, &tests);
        if faults.is_empty() { Ok(Self(requirements)) } else { Err(faults.join("\n")) }
    }

    /// The matrix as a Markdown table, with the counts below it.
    #[must_use]
    pub fn matrix(&self) -> String {
        let mut text = "| number | requirement | shown by |\n|---|---|---|\n".to_owned();
        for Requirement { number, sentence, tests } in &self.0 {
            text += &format!("| {number} | {sentence} | {} |\n", tests.join(", "));
        }
        let tests: BTreeSet<&String> = self.0.iter().flat_map(|one| &one.tests).collect();
        text + &format!("\n{} requirements, {} tests.\n", self.0.len(), tests.len())
    }
}

/// The requirements of the document, numbered from 1 in each of its parts.
fn requirements(text: &str) -> Result<Vec<Requirement>, String> {
    let mut found: Vec<Requirement> = Vec::new();
    for item in text.split("\n* **").skip(1) {
        let item = item.split("\n\n").next().unwrap_or(item);
        let wrong = || format!("{DOCUMENT}: {item:?} is no item `* **D1** Sentence.` with tests");
        let (number, rest) = item.split_once("** ").ok_or_else(wrong)?;
        let (sentence, tests) = rest.split_once("\n  `").ok_or_else(wrong)?;
        let letter = number.chars().next().filter(char::is_ascii_uppercase).ok_or_else(wrong)?;
        let same = found.iter().filter(|one| one.number.starts_with(letter)).count();
        if number != format!("{letter}{}", same + 1) {
            return Err(format!("{DOCUMENT}: {number} stands where {letter}{} should", same + 1));
        }
        let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        if !sentence.ends_with('.') {
            return Err(format!("{DOCUMENT}: {number} is no sentence: {sentence:?}"));
        }
        let tests = tests.split('`').step_by(2).map(str::to_owned).collect();
        found.push(Requirement { number: number.to_owned(), sentence, tests });
    }
    if found.is_empty() { Err(format!("{DOCUMENT} has no requirement")) } else { Ok(found) }
}

/// The tests of a source file, with the requirements that each names.
fn tests_of(source: &str) -> impl Iterator<Item = (String, Vec<String>)> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let marks: Vec<usize> = (0..lines.len()).filter(|at| lines[*at] == "#[test]").collect();
    marks.into_iter().filter_map(move |mark| {
        let name = lines[mark..].iter().find_map(|line| line.strip_prefix("fn "))?;
        let name = name.split('(').next()?.to_owned();
        let above = lines[..mark].iter().rev();
        let comment = above.take_while(|line| line.starts_with("///") || line.starts_with("#["));
        let words: Vec<&str> = comment.copied().collect();
        let words = words.iter().rev().map(|line| line.trim_start_matches('/').trim());
        Some((name, named(&words.collect::<Vec<_>>().join(" "))))
    })
}

/// The numbers behind the word `Requirement` at the end of a comment.
fn named(comment: &str) -> Vec<String> {
    let behind = comment
        .rsplit_once("Requirements ")
        .or_else(|| comment.rsplit_once("Requirement "))
        .map_or("", |(_, rest)| rest);
    let is_number = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(|letter| letter.is_ascii_uppercase())
            && word.len() > 1
            && letters.all(|digit| digit.is_ascii_digit())
    };
    let words = behind.trim_end_matches('.').split(", ").map(str::trim);
    words.take_while(|word| is_number(word)).map(str::to_owned).collect()
}

/// Everything in which requirements and tests do not agree.
fn compare(requirements: &[Requirement], tests: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut faults = Vec::new();
    for Requirement { number, tests: of, .. } in requirements {
        for test in of {
            match tests.get(test) {
                None => faults.push(format!("{number} names the test {test}, which is not there")),
                Some(numbers) if !numbers.contains(number) => {
                    faults.push(format!(
                        "{number} names the test {test}, whose comment does not name it"
                    ));
                }
                Some(_) => {}
            }
        }
    }
    for (test, number) in tests.iter().flat_map(|(test, of)| of.iter().map(move |n| (test, n))) {
        match requirements.iter().find(|one| one.number == *number) {
            None => faults.push(format!("{test} names {number}, which {DOCUMENT} does not have")),
            Some(one) if !one.tests.contains(test) => {
                faults.push(format!("{test} names {number}, which does not name the test"));
            }
            Some(_) => {}
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# R\n\n## Device\n\n* **D1** One thing.\n  `a.rs::one`\n  `b.rs::two`\n\
                        * **D2** Another, in\n  two lines.\n  `a.rs::one`\n\n## Ward\n\n* **W1** Third.\n  `a.rs::three`\n";

    fn tests(entries: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        let entry = |(name, of): &(&str, &[&str])| {
            ((*name).to_owned(), of.iter().map(|number| (*number).to_owned()).collect())
        };
        entries.iter().map(entry).collect()
    }

    /// Items are read with sentence and tests; the matrix counts each test once.
    #[test]
    fn items_are_read() {
        let read = requirements(TEXT).unwrap();
        assert_eq!(read[1].sentence, "Another, in two lines.");
        assert_eq!(read[0].tests, ["a.rs::one", "b.rs::two"]);
        assert!(Trace(read).matrix().ends_with("3 requirements, 3 tests.\n"));
        for (from, to) in
            [("**D2**", "**D3**"), (" One thing.", " One thing"), ("  `a.rs::three`\n", "")]
        {
            assert!(requirements(&TEXT.replacen(from, to, 1)).is_err(), "{to}");
        }
    }

    /// The requirements of a test stand at the end of its comment.
    #[test]
    fn comments_are_read() {
        let source = "/// It works. Requirements D1,\n/// W12.\n#[test]\n#[cfg(unix)]\nfn one() {\n}\n\
                      fn helper() {}\n/// Requirement D2.\n#[test]\nfn two() {}\n/// None.\n#[test]\nfn three() {}\n";
        let read: Vec<_> = tests_of(source).collect();
        let names: Vec<(&str, Vec<&str>)> = read
            .iter()
            .map(|(name, of)| (name.as_str(), of.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(names, [("one", vec!["D1", "W12"]), ("two", vec!["D2"]), ("three", vec![])]);
    }

    /// A missing test, and a name on one side alone, is a fault in either direction.
    #[test]
    fn both_directions_are_compared() {
        let read = requirements(TEXT).unwrap();
        let right = tests(&[
            ("a.rs::one", &["D1", "D2"]),
            ("b.rs::two", &["D1"]),
            ("a.rs::three", &["W1"]),
            ("c.rs::other", &[]),
        ]);
        assert!(compare(&read, &right).is_empty());
        let changed = |name: &str, of: Option<&[&str]>| {
            let mut tests = right.clone();
            match of {
                Some(of) => {
                    tests.insert(name.into(), of.iter().map(|n| (*n).to_owned()).collect());
                }
                None => drop(tests.remove(name)),
            }
            compare(&read, &tests).join("\n")
        };
        assert!(changed("b.rs::two", None).contains("b.rs::two, which is not there"));
        assert!(changed("b.rs::two", Some(&[])).contains("whose comment does not name it"));
        assert!(changed("c.rs::other", Some(&["D1"])).contains("D1, which does not name the test"));
        assert!(
            changed("c.rs::other", Some(&["D9"]))
                .contains("which docs/requirements.md does not have")
        );
    }
}
