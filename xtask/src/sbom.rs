//! Bills of materials (SBOM) in the format CycloneDX, one for each part of a release, by
//! `cargo-cyclonedx`.
//!
//! It resolves features for the whole workspace, tests included. So a bill may name more crates
//! than its part holds, never fewer; the SOUP list names those that it holds.
//! It writes beside each Cargo.toml, so it works on a copy of the sources. The copy's path is
//! replaced in the result, which is then the same from every folder.

use crate::dist::{self, OUT};
use crate::run;
use crate::soup::{ReleasePart, parts};
use crate::tools::crate_tool;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TOOL: (&str, &str) = ("cargo-cyclonedx", "0.5.9");
const FORMAT: &str = "1.5";
/// Name of the file that the tool writes, without its ending.
const WRITTEN: &str = "equipoise-sbom";
/// Stands for the folder of the sources.
const ROOT: &str = "/equipoise";

/// The bill of a part.
pub fn file(part: &ReleasePart, version: &str) -> PathBuf {
    Path::new(OUT).join(format!("equipoise-{version}-{}.cdx.json", part.name))
}

/// Writes the bills of all parts.
pub fn write_all(version: &str) -> Result<(), String> {
    let (package, tool_version) = TOOL;
    let tool = std::path::absolute(crate_tool(package, tool_version, package)?)
        .map_err(|error| format!("{package}: {error}"))?;
    let copy = std::env::temp_dir().join(format!("equipoise-sbom-{}", std::process::id()));
    let written = dist::copy_sources(&copy)
        .and_then(|()| parts().iter().try_for_each(|part| write(&tool, &copy, part, version)));
    let _ = fs::remove_dir_all(&copy);
    written
}

fn write(tool: &Path, sources: &Path, part: &ReleasePart, version: &str) -> Result<(), String> {
    let folder = sources.join(part.folder);
    let mut command = Command::new(tool);
    command.args(["cyclonedx", "--format", "json", "--spec-version", FORMAT]);
    command.args(["--target", part.target, "--override-filename", WRITTEN]);
    command.args(part.feature.into_iter().flat_map(|feature| ["--features", feature]));
    command.arg("--manifest-path").arg(folder.join("Cargo.toml")).current_dir(sources);
    // Without a serial number and the time, so that the same sources give the same bill.
    run(command.env("SOURCE_DATE_EPOCH", "0"))?;
    let from = folder.join(format!("{WRITTEN}.json"));
    let text = fs::read_to_string(&from).map_err(|error| format!("{}: {error}", from.display()))?;
    let text = text.replace(&sources.display().to_string(), ROOT);
    components(&text).map_err(|why| format!("{}: {why}", part.name))?;
    dist::write(&file(part, version), text.as_bytes())
}

/// Names and versions of the crates in a bill.
pub fn components(text: &str) -> Result<Vec<(String, String)>, String> {
    let bill: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
    if bill["bomFormat"] != "CycloneDX" || bill["specVersion"] != FORMAT {
        return Err(format!("no bill of materials of CycloneDX {FORMAT}"));
    }
    let list = bill["components"].as_array().filter(|list| !list.is_empty());
    let list = list.ok_or("a bill of materials without components")?;
    list.iter()
        .map(|component| {
            let of = |key: &str| component[key].as_str().map(str::to_owned);
            of("name").zip(of("version")).ok_or_else(|| format!("a nameless crate: {component}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other JSON, an empty list and a crate without a version are no bill of materials.
    #[test]
    fn only_bills_are_read() {
        let bill = |components: &str| {
            format!(r#"{{"bomFormat":"CycloneDX","specVersion":"1.5","components":{components}}}"#)
        };
        let one = r#"[{"name":"clap","version":"4.6.7"}]"#;
        let clap = ("clap".to_owned(), "4.6.7".to_owned());
        assert_eq!(components(&bill(one)), Ok(vec![clap]));
        assert!(components(&bill("[]")).is_err());
        assert!(components(&bill(r#"[{"name":"clap"}]"#)).is_err());
        assert!(components(&bill(one).replace("1.5", "1.4")).is_err());
        assert!(components("{}").is_err() && components("").is_err());
    }
}
