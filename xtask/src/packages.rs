//! `cargo xtask test --packages`: what `cargo xtask dist` makes, tried out.
//!
//! * SHA256SUMS names every file, and is right; its signature verifies, and not after a change.
//! * The SOUP list has every crate, and the bill of materials of a part has every crate of it.
//! * The Linux program runs in a root directory that holds nothing else.
//! * The Debian package is installed into an empty root, where the program works and its manual
//!   page, completions and udev rule are in place; removed, it leaves nothing behind.

use crate::dist::{self, OUT, SUMS};
use crate::sign::{self, ThrowAwayKey};
use crate::soup::{self, Soup};
use crate::{run, say, sbom};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// Files of the package: where they are, and a part of their text.
const FILES: [(&str, &str); 6] = [
    ("usr/share/man/man1/equipoise.1.gz", ".TH equipoise 1"),
    ("usr/share/bash-completion/completions/equipoise", "complete "),
    ("usr/share/zsh/vendor-completions/_equipoise", "#compdef equipoise"),
    ("usr/share/fish/vendor_completions.d/equipoise.fish", "complete -c equipoise"),
    ("usr/lib/udev/rules.d/60-equipoise.rules", "TAG+=\"uaccess\""),
    ("usr/share/doc/equipoise/copyright", "MIT"),
];

pub fn test() -> Result<(), String> {
    let version = dist::version()?;
    let keys = Root::new()?;
    let key = ThrowAwayKey::make(&keys.0)?;
    dist::dist(&["--key", &key.secret.display().to_string()])?;
    check_sums()?;
    check_signature(&key, &version)?;
    drop(keys);
    check_crates(&version)?;
    check_program(&version)?;
    check_package(&version)?;
    println!("the release files are in order");
    Ok(())
}

fn check_sums() -> Result<(), String> {
    run(Command::new("sha256sum").args(["--check", "--strict", SUMS]).current_dir(OUT))?;
    let sums = read(&Path::new(OUT).join(SUMS))?;
    let summed: BTreeSet<_> = sums.lines().filter_map(|line| line.split("  ").nth(1)).collect();
    let there = files(Path::new(OUT))?;
    let there: BTreeSet<_> = there
        .iter()
        .filter_map(|path| path.to_str())
        .filter(|name| !name.starts_with(SUMS))
        .collect();
    if summed == there {
        Ok(())
    } else {
        Err(format!("SHA256SUMS names {summed:?}, but there are {there:?}"))
    }
}

/// The signature of SHA256SUMS verifies here and with minisign itself; with one byte changed it
/// does not.
fn check_signature(key: &ThrowAwayKey, version: &str) -> Result<(), String> {
    let sums = Path::new(OUT).join(SUMS);
    sign::verify(&sums, &key.public, version)?;
    let mut minisign = Command::new("minisign");
    run(minisign.arg("-V").arg("-p").arg(&key.public).arg("-m").arg(&sums))?;
    let right = read(&sums)?;
    let other = if right.starts_with('0') { "1" } else { "0" };
    let written = fs::write(&sums, format!("{other}{}", &right[1..]));
    written.map_err(|error| format!("{}: {error}", sums.display()))?;
    let refused = sign::verify(&sums, &key.public, version);
    fs::write(&sums, right).map_err(|error| format!("{}: {error}", sums.display()))?;
    if refused.is_ok() {
        return Err(format!("{}: a changed byte was not noticed", sums.display()));
    }
    say("SHA256SUMS is signed, and a changed byte breaks the signature");
    Ok(())
}

/// The SOUP list is that of Cargo.lock; the bill of materials of each part has all its crates.
fn check_crates(version: &str) -> Result<(), String> {
    let soup = Soup::of_release(".")?;
    let list = read(&dist::soup_list(version))?;
    if list != soup.list(version)? {
        return Err("the SOUP list is not that of Cargo.lock".into());
    }
    for part in soup::parts() {
        let bill = sbom::components(&read(&sbom::file(&part, version))?)?;
        let of_part: Vec<_> = soup.crates_of(&part.name).collect();
        let is_missing = |(name, version): &&(&str, &str)| {
            !bill.iter().any(|known| (known.0.as_str(), known.1.as_str()) == (*name, *version))
        };
        if let Some((name, version)) = of_part.iter().find(is_missing) {
            return Err(format!("the bill of materials of {} lacks {name} {version}", part.name));
        }
        say(&format!("{}: {} crates, all in its bill of materials", part.name, of_part.len()));
    }
    Ok(())
}

/// The program alone in a root: no library, no device, no folder for temporary files.
fn check_program(version: &str) -> Result<(), String> {
    let root = Root::new()?;
    let program = Path::new(OUT).join(format!("equipoise-{version}-linux-x86_64"));
    copy(&program, &root.0.join("equipoise"))?;
    run(Command::new("chmod").arg("755").arg(root.0.join("equipoise")))?;
    root.expect("/equipoise", &["--version"], version)?;
    let simulate = ["simulate", "--runs", "40", "--patients", "400", "--seed", "7"];
    let outside = Command::new(std::path::absolute(&program).map_err(|error| error.to_string())?)
        .args(simulate)
        .output();
    let outside = outside.map_err(|error| format!("{}: {error}", program.display()))?;
    root.expect("/equipoise", &simulate, &String::from_utf8_lossy(&outside.stdout))?;
    root.expect("/equipoise", &["keygen", "key"], "")?;
    root.expect("/equipoise", &["demo", "--patients", "400", "--seed", "1"], "95 %")?;
    say("the Linux program runs in an empty root");
    Ok(())
}

fn check_package(version: &str) -> Result<(), String> {
    let root = Root::new()?;
    let database = root.0.join("var/lib/dpkg");
    for folder in ["updates", "info"] {
        let made = fs::create_dir_all(database.join(folder));
        made.map_err(|error| format!("{}: {error}", database.display()))?;
    }
    fs::write(database.join("status"), "").map_err(|error| error.to_string())?;
    let package = format!("{OUT}/equipoise_{version}_amd64.deb");
    run(root.dpkg().args(["--install", &package]))?;
    root.expect("/usr/bin/equipoise", &["--version"], version)?;
    root.expect("/usr/bin/equipoise", &["demo", "--patients", "400", "--seed", "1"], "95 %")?;
    for (file, part) in FILES {
        let path = root.0.join(file);
        let mut print = Command::new(if file.ends_with(".gz") { "zcat" } else { "cat" });
        let text = succeed(print.arg(&path))?;
        if !text.contains(part) {
            return Err(format!("{} has no `{part}`", path.display()));
        }
    }
    let completions = root.0.join(FILES[1].0);
    let ask = format!(". {} && complete -p equipoise", completions.display());
    succeed(Command::new("bash").args(["-c", &ask]))?;
    run(root.dpkg().args(["--purge", "equipoise"]))?;
    let left = files(&root.0)?;
    let left: Vec<_> = left.iter().filter(|path| !path.starts_with("var/lib/dpkg")).collect();
    if !left.is_empty() || root.0.join("usr").exists() {
        return Err(format!("the package left files or folders behind: {left:?}"));
    }
    say("the Debian package installs, works, and leaves nothing behind when it is removed");
    Ok(())
}

/// A root directory of its own; removed at the end.
struct Root(PathBuf);

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Root {
    fn new() -> Result<Self, String> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("equipoise-root-{}-{number}", std::process::id());
        let root = std::env::temp_dir().join(name);
        if root.exists() {
            fs::remove_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        }
        fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        Ok(Self(root))
    }

    /// Runs a program inside, without the variables of the outside; its output must hold a text.
    fn expect(&self, program: &str, words: &[&str], part: &str) -> Result<(), String> {
        let mut command = as_root("chroot");
        command.arg(&self.0).arg(program).args(words).current_dir(&self.0);
        // The path is for chroot itself. There is no /tmp inside, where the demonstration would
        // have its files.
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("TMPDIR", "/");
        let text = succeed(&mut command)?;
        if text.contains(part) {
            return Ok(());
        }
        Err(format!("in {}: `{program} {}` said:\n{text}", self.0.display(), words.join(" ")))
    }

    fn dpkg(&self) -> Command {
        let mut command = as_root("dpkg");
        command.arg("--root").arg(&self.0).arg("--log").arg(self.0.join("var/lib/dpkg/log"));
        command
    }
}

/// A program as root: as it is for root, else in a user namespace.
fn as_root(program: &str) -> Command {
    let id = Command::new("id").arg("-u").output();
    if id.is_ok_and(|output| output.stdout.trim_ascii() == b"0") {
        return Command::new(program);
    }
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", program]);
    command
}

fn succeed(command: &mut Command) -> Result<String, String> {
    let line = crate::shown(command);
    say(&line);
    let output = command.output().map_err(|error| format!("`{line}` did not start: {error}"))?;
    let Output { status, stdout, stderr } = output;
    let text = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        return Ok(text);
    }
    Err(format!("`{line}` ended with {status}:\n{text}{}", String::from_utf8_lossy(&stderr)))
}

/// Every file below a folder, named from there.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        let entries =
            fs::read_dir(&next).map_err(|error| format!("{}: {error}", next.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                found.extend(path.strip_prefix(folder).map(Path::to_owned));
            }
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}
