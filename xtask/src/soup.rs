//! The list of software of unknown provenance (SOUP) that a release holds: every crate of the
//! program and of the boards' images, with version, licence, reason and known anomalies.
//!
//! Crates and licences come from `cargo tree`, so from Cargo.lock. The reason for a crate that we
//! name ourselves is in `[workspace.metadata.soup]` of Cargo.toml; any other crate is there because
//! a crate of the list needs it. Known anomalies are the advisories in SECURITY.md, which
//! `cargo xtask lint` compares with Cargo.lock.

use crate::board::BoardName;
use crate::{cargo, dist, security, shown};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const REASONS: &str = "[workspace.metadata.soup]";
/// Crates of this workspace, which are not of unknown provenance.
const OURS: &str = "equipoise";
/// The package of the program.
const PROGRAM: &str = "equipoise-cli";

/// A crate of the list.
#[derive(Default)]
struct Entry {
    licence: String,
    /// Parts of the release that hold it.
    parts: BTreeSet<String>,
    /// Crates that depend on it.
    users: BTreeSet<String>,
}

/// Crates by name and version.
pub struct Soup(BTreeMap<(String, String), Entry>);

impl Soup {
    /// The crates of everything that `cargo xtask dist` builds from the sources in a folder.
    pub fn of_release(root: &str) -> Result<Self, String> {
        let mut soup = Self(BTreeMap::new());
        for ReleasePart { name, folder, target, feature } in parts() {
            let mut command = cargo();
            command.args(["tree", "--locked", "--edges", "normal,build", "--prefix", "depth"]);
            command.args(["--format", "|{p}|{l}|", "--target", target]);
            // Without the package's name, that of the root would bring all members along.
            command.arg("--manifest-path").arg(format!("{root}/{folder}/Cargo.toml"));
            command.args(["--package", if feature.is_some() { OURS } else { PROGRAM }]);
            command.args(feature.into_iter().flat_map(|feature| ["--features", feature]));
            let line = shown(&command);
            let output = command.output().map_err(|error| format!("`{line}`: {error}"))?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(format!("`{line}` ended with {}:\n{said}", output.status));
            }
            soup.add(&name, &String::from_utf8_lossy(&output.stdout))?;
        }
        Ok(soup)
    }

    /// Adds the crates of a tree as `cargo tree --prefix depth` prints it.
    fn add(&mut self, part: &str, tree: &str) -> Result<(), String> {
        let mut path: Vec<String> = Vec::new();
        for line in tree.lines().filter(|line| !line.is_empty()) {
            let wrong =
                || format!("cargo tree: {line:?} is no line `depth|name vVERSION|licence|`");
            let mut fields = line.split('|');
            let depth = fields.next().and_then(|depth| depth.parse().ok()).ok_or_else(wrong)?;
            let package = fields.next().ok_or_else(wrong)?;
            let licence = fields.next().ok_or_else(wrong)?;
            let mut words = package.split(' ');
            let name = words.next().ok_or_else(wrong)?;
            let version = words.next().and_then(|word| word.strip_prefix('v'));
            path.truncate(depth);
            path.push(name.to_owned());
            if is_ours(name) {
                continue;
            }
            let key = (name.to_owned(), version.ok_or_else(wrong)?.to_owned());
            let entry = self.0.entry(key).or_default();
            entry.licence = licence.replace('/', " OR ");
            entry.parts.insert(part.to_owned());
            let user = depth.checked_sub(1).and_then(|above| path.get(above));
            entry.users.insert(user.ok_or_else(wrong)?.clone());
        }
        Ok(())
    }

    /// Names and versions of the crates of a part.
    pub fn crates_of(&self, part: &str) -> impl Iterator<Item = (&str, &str)> {
        let of_part = self.0.iter().filter(move |(_, entry)| entry.parts.contains(part));
        of_part.map(|((name, version), _)| (name.as_str(), version.as_str()))
    }

    /// The list as a Markdown file. An error names a crate without a reason, a reason without a
    /// crate, or a crate without a licence.
    pub fn list(&self, version: &str) -> Result<String, String> {
        self.list_with(version, &reasons(&read("Cargo.toml")?)?, &read("SECURITY.md")?)
    }

    fn list_with(
        &self,
        version: &str,
        reasons: &BTreeMap<String, String>,
        notes: &str,
    ) -> Result<String, String> {
        let anomalies = security::advisories(notes)?;
        let mut text = format!(
            "# Software of unknown provenance in equipoise {version}\n\n\
             Made from Cargo.lock by `cargo xtask dist`. {} crates. Known anomalies are the \
             advisories that SECURITY.md names.\n`cargo deny check advisories` compares \
             Cargo.lock with the present RustSec database.\n\n\
             | crate | version | licence | part of | why | known anomalies |\n\
             |---|---|---|---|---|---|\n",
            self.0.len()
        );
        let mut unused: BTreeSet<&String> = reasons.keys().collect();
        for ((name, version), entry) in &self.0 {
            if entry.licence.is_empty() {
                return Err(format!("{name} {version} states no licence"));
            }
            let why = if entry.users.iter().any(|user| is_ours(user)) {
                unused.remove(name);
                reasons.get(name).cloned().ok_or_else(|| {
                    format!("Cargo.toml: {REASONS} has no reason for the crate {name}")
                })?
            } else {
                let users: Vec<&str> = entry.users.iter().map(String::as_str).collect();
                format!("needed by {}", users.join(", "))
            };
            let of_crate = |(noted, _): &&(String, String)| noted == name;
            let anomalies: Vec<&str> =
                anomalies.iter().filter(of_crate).map(|(_, id)| id.as_str()).collect();
            let anomalies =
                if anomalies.is_empty() { "none noted".into() } else { anomalies.join(", ") };
            let parts: Vec<&str> = entry.parts.iter().map(String::as_str).collect();
            text += &format!(
                "| {name} | {version} | {} | {} | {why} | {anomalies} |\n",
                entry.licence,
                parts.join(", ")
            );
        }
        match unused.first() {
            None => Ok(text),
            Some(name) => Err(format!(
                "Cargo.toml: {REASONS} gives a reason for {name}, which no part of the release \
                 names: remove it"
            )),
        }
    }
}

/// A part of a release with its own set of crates.
pub struct ReleasePart {
    /// Its name in the list.
    pub name: String,
    /// The folder of its package.
    pub folder: &'static str,
    /// Target it is compiled for.
    pub target: &'static str,
    /// Feature of its package, for a board.
    pub feature: Option<&'static str>,
}

/// All parts of a release.
pub fn parts() -> Vec<ReleasePart> {
    let program = |system: &str, target| ReleasePart {
        name: format!("{system}-x86_64"),
        folder: "host/cli",
        target,
        feature: None,
    };
    let image = |board: BoardName| ReleasePart {
        name: board.to_string(),
        folder: ".",
        target: board.target(),
        feature: Some(board.feature()),
    };
    let programs = [program("linux", dist::LINUX), program("windows", dist::WINDOWS)];
    programs.into_iter().chain(BoardName::ALL.map(image)).collect()
}

fn is_ours(name: &str) -> bool {
    name == OURS || name.strip_prefix(OURS).is_some_and(|rest| rest.starts_with('-'))
}

/// Reasons by crate, from the text of Cargo.toml.
fn reasons(text: &str) -> Result<BTreeMap<String, String>, String> {
    let section = text.split_once(REASONS).map(|(_, rest)| rest);
    let section = section.ok_or_else(|| format!("Cargo.toml has no section {REASONS}"))?;
    let lines = section.lines().skip(1).take_while(|line| !line.starts_with('['));
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, why) = line.split_once(" = ").ok_or_else(|| {
                format!("Cargo.toml: {line:?} under {REASONS} is no line `crate = \"reason\"`")
            })?;
            Ok((name.to_owned(), why.trim_matches('"').to_owned()))
        })
        .collect()
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "\
        0|equipoise-cli v0.3.0 (/there)|MIT|\n\
        1|clap v4.6.7|MIT OR Apache-2.0|\n\
        2|clap_derive v4.6.7 (proc-macro)|MIT/Apache-2.0|\n\
        1|equipoise-ward v0.3.0 (/there)|MIT|\n\
        2|bare-metal v0.2.5|MIT| (*)\n";
    const NOTES: &str = include_str!("../../SECURITY.md");

    fn soup() -> Soup {
        let mut soup = Soup(BTreeMap::new());
        soup.add("program", TREE).unwrap();
        soup
    }

    fn given(names: &[&str]) -> BTreeMap<String, String> {
        names.iter().map(|name| ((*name).to_owned(), format!("for {name}"))).collect()
    }

    /// A row has name, version, licence, part, reason and advisory; our crates have none.
    #[test]
    fn rows_hold_what_a_reviewer_asks() {
        let list = soup().list_with("0.3.0", &given(&["clap", "bare-metal"]), NOTES).unwrap();
        let rows: Vec<&str> = list.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        assert_eq!(
            rows,
            [
                "| bare-metal | 0.2.5 | MIT | program | for bare-metal | RUSTSEC-2026-0110 |",
                "| clap | 4.6.7 | MIT OR Apache-2.0 | program | for clap | none noted |",
                "| clap_derive | 4.6.7 | MIT OR Apache-2.0 | program | needed by clap | none noted |",
            ]
        );
    }

    /// A crate without a reason, a reason without a crate and an unreadable tree are errors.
    #[test]
    fn a_missing_or_old_reason_is_found() {
        let error = soup().list_with("0", &given(&["clap"]), NOTES).unwrap_err();
        assert!(error.contains("no reason for the crate bare-metal"), "{error}");
        let all = given(&["clap", "bare-metal", "gone"]);
        let error = soup().list_with("0", &all, NOTES).unwrap_err();
        assert!(error.contains("gives a reason for gone"), "{error}");
        assert!(Soup(BTreeMap::new()).add("program", "clap v4.6.7").is_err());
    }

    /// Every crate that the release holds has a reason in Cargo.toml, and no reason is left over.
    #[test]
    fn the_release_is_accounted_for() {
        let reasons = reasons(include_str!("../../Cargo.toml")).unwrap();
        let list = Soup::of_release("..").unwrap().list_with("0.3.0", &reasons, NOTES).unwrap();
        for row in ["| ratatui |", "| nrf51-pac |", "| cortex-m |", "| serial2 |"] {
            assert!(list.contains(row), "{row}\n{list}");
        }
        assert!(!list.contains("| criterion |"), "a crate of tests\n{list}");
        let screen = list.lines().find(|row| row.starts_with("| ratatui |")).unwrap();
        assert!(screen.contains("| linux-x86_64, windows-x86_64 |"), "not on a board: {screen}");
    }
}
