//! The table of unmaintained crates in SECURITY.md, held against the lock file.

use std::fs;
use std::path::Path;

/// The lock file of everything that ships. (That of the fuzz targets has no board's crates.)
const LOCK: &str = "Cargo.lock";
const TITLE: &str = "## Unmaintained crates";

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
struct Noted {
    name: String,
    version: String,
    advisory: String,
    /// Crates that depend on it.
    through: Vec<String>,
}

/// Compares the table of SECURITY.md with the lock file.
pub fn unmaintained() -> Result<(), String> {
    let read = |path: &str| {
        fs::read_to_string(Path::new(path)).map_err(|error| format!("{path}: {error}"))
    };
    let noted = table(&read("SECURITY.md")?)?;
    compare(&noted, &read(LOCK)?).map_err(|why| format!("{LOCK}: {why}"))?;
    crate::say(&format!("SECURITY.md: {} unmaintained crates, locked as it says", noted.len()));
    Ok(())
}

/// Crates with a known advisory, and its id, from the text of SECURITY.md.
pub fn advisories(text: &str) -> Result<Vec<(String, String)>, String> {
    Ok(table(text)?.into_iter().map(|noted| (noted.name, noted.advisory)).collect())
}

/// The rows of the table of unmaintained crates.
fn table(text: &str) -> Result<Vec<Noted>, String> {
    let section =
        text.split_once(TITLE).map(|(_, rest)| rest.split("\n## ").next().unwrap_or(rest));
    let section = section.ok_or_else(|| format!("SECURITY.md has no section `{TITLE}`"))?;
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    if rows.is_empty() {
        return Err(format!(
            "SECURITY.md: the table under `{TITLE}` has no row: if no crate is left, remove the \
             section and this check"
        ));
    }
    rows.into_iter().map(row).collect()
}

fn row(line: &str) -> Result<Noted, String> {
    let fields: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [name, version, advisory, through] = fields.as_slice() else {
        return Err(format!("SECURITY.md: {line:?} is no row of 4 fields"));
    };
    if !advisory.starts_with("RUSTSEC-") {
        return Err(format!("SECURITY.md: {advisory:?} is no advisory, allowed RUSTSEC-.."));
    }
    let plain = |text: &str| text.trim().trim_matches('`').to_owned();
    Ok(Noted {
        name: plain(name),
        version: (*version).to_owned(),
        advisory: (*advisory).to_owned(),
        through: through.split(',').map(plain).collect(),
    })
}

/// A package of a lock file: name, version, and the names it depends on.
type Package = (String, String, Vec<String>);

fn packages(lock: &str) -> Vec<Package> {
    let quoted = |line: &str| line.split('"').nth(1).unwrap_or_default().to_owned();
    let package = |text: &str| {
        let field = |key: &str| text.lines().find(|line| line.starts_with(key)).map(quoted);
        // A dependency of which there are several versions is written with its version.
        let depends = text.lines().filter(|line| line.starts_with(" \"")).map(quoted);
        let depends = depends.map(|name| name.split(' ').next().unwrap_or_default().to_owned());
        Some((field("name = ")?, field("version = ")?, depends.collect()))
    };
    lock.split("[[package]]").filter_map(package).collect()
}

fn compare(noted: &[Noted], lock: &str) -> Result<(), String> {
    let packages = packages(lock);
    for Noted { name, version, advisory, through } in noted {
        let locked: Vec<&str> =
            packages.iter().filter(|(one, ..)| one == name).map(|(_, v, _)| v.as_str()).collect();
        if locked.is_empty() {
            return Err(format!(
                "{name} is not locked any more: remove its row ({advisory}) and its note from SECURITY.md"
            ));
        }
        if locked != [version.as_str()] {
            return Err(format!(
                "{name} is locked as {}, SECURITY.md says {version}: read {advisory} again, then \
                 correct the row and its note",
                locked.join(" and ")
            ));
        }
        let mut users: Vec<&String> =
            packages.iter().filter(|(.., uses)| uses.contains(name)).map(|(one, ..)| one).collect();
        users.dedup();
        if !users.iter().copied().eq(through) {
            return Err(format!(
                "{name} is reached through {users:?}, SECURITY.md says {through:?}: look at what \
                 it is used for now, then correct the row and its note"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECURITY: &str = include_str!("../../SECURITY.md");
    const REAL: &str = include_str!("../../Cargo.lock");

    /// SECURITY.md's note on unmaintained crates agrees with the lock file.
    #[test]
    fn the_note_agrees_with_the_locks() {
        let noted = table(SECURITY).unwrap();
        assert!(noted.iter().any(|one| one.name == "bare-metal"), "{noted:?}");
        assert_eq!(compare(&noted, REAL), Ok(()));
    }

    /// A crate that is gone, changed or reached by another way makes the note old.
    #[test]
    fn an_old_note_is_found() {
        let noted = table(SECURITY).unwrap();
        for (from, to, why) in [
            ("name = \"bare-metal\"", "name = \"other\"", "is not locked any more"),
            (
                "name = \"bare-metal\"\nversion = \"0.2.5\"",
                "name = \"bare-metal\"\nversion = \"0.2.6\"",
                "is locked as 0.2.6, SECURITY.md says 0.2.5",
            ),
            (" \"bare-metal\",\n", "", "is reached through []"),
            (
                "[[package]]\nname = \"equipoise\"",
                "[[package]]\nname = \"new\"\nversion = \"1.0.0\"\ndependencies = [\n \"bare-metal 0.2.5\",\n]\n\n\
                 [[package]]\nname = \"equipoise\"",
                "is reached through [\"cortex-m\", \"new\"]",
            ),
            (
                "[[package]]\nname = \"equipoise\"",
                "[[package]]\nname = \"bare-metal\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"equipoise\"",
                "is locked as 0.2.5 and 1.0.0",
            ),
        ] {
            assert!(REAL.contains(from), "{from}");
            let error = compare(&noted, &REAL.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn a_table_that_cannot_be_read_is_refused() {
        for (from, to) in [
            (TITLE, "## Old crates"),
            ("| `bare-metal` |", "| bare-metal |"),
            ("RUSTSEC-2026-0110 |", "none |"),
            ("| 0.2.5 |", "| 0.2.5 | more |"),
        ] {
            assert!(SECURITY.contains(from), "{from}");
            assert!(table(&SECURITY.replacen(from, to, 1)).is_err(), "{to}");
        }
    }
}
