//! `cargo xtask dist` and `cargo xtask reproduce`: what is released, and that it can be built
//! again.
//!
//! `dist` leaves in `target/dist`: a static Linux program, a Windows program, a Debian package, the
//! firmware images of all boards with a list of their hashes, the list of all crates (SOUP), bills
//! of materials (SBOM), and SHA256SUMS over them with its signature.

use crate::board::{BoardName, Build, Profile};
use crate::soup::Soup;
use crate::{cargo, run, say, sbom, sign, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const OUT: &str = "target/dist";
/// Digests of all files of a release.
pub const SUMS: &str = "SHA256SUMS";
pub const LINUX: &str = "x86_64-unknown-linux-musl";
pub const WINDOWS: &str = "x86_64-pc-windows-gnu";
/// Access for the person who is logged in, without root and without a group: the interface chips of
/// the micro:bit and Raspberry Pi's debug probe, by their USB identity. A Pico 2 on another adapter
/// has that adapter's identity.
const UDEV: &str = "\
# Boards of equipoise: readable and writable for the user at the console.
SUBSYSTEM==\"tty\", ATTRS{idVendor}==\"0d28\", ATTRS{idProduct}==\"0204\", TAG+=\"uaccess\"
SUBSYSTEM==\"usb\", ATTRS{idVendor}==\"0d28\", ATTRS{idProduct}==\"0204\", TAG+=\"uaccess\"
SUBSYSTEM==\"tty\", ATTRS{idVendor}==\"2e8a\", ATTRS{idProduct}==\"000c\", TAG+=\"uaccess\"
SUBSYSTEM==\"usb\", ATTRS{idVendor}==\"2e8a\", ATTRS{idProduct}==\"000c\", TAG+=\"uaccess\"
";

/// Makes the files of a release; `words` say by which key SHA256SUMS is signed.
pub fn dist(words: &[&str]) -> Result<(), String> {
    let key = match words {
        ["--key", file] if Path::new(file).is_file() => Some(PathBuf::from(file)),
        ["--key", file] => return Err(format!("{file} is no file with a minisign secret key")),
        ["--unsigned"] => None,
        other => {
            return Err(format!(
                "`{}`: allowed is --key FILE, with a minisign secret key, or --unsigned",
                other.join(" ")
            ));
        }
    };
    let version = version()?;
    let soup = Soup::of_release(".")?;
    // Errors in the list come before the long builds.
    let crates = soup.list(&version)?;
    if Path::new(OUT).exists() {
        fs::remove_dir_all(OUT).map_err(|error| format!("{OUT}: {error}"))?;
    }
    make_directory(Path::new(OUT))?;
    let compiler = tools::compiler()?;
    let mut images = String::new();
    for board in BoardName::ALL {
        let build = Build::make(&compiler, board, Profile::Release)?;
        build.write_images()?;
        build.sizes()?;
        images += &format!("{}  {board}\n", build.digest()?);
        let kind = board.drive_image();
        let to = format!("{OUT}/equipoise-{version}-{board}.{kind}");
        copy(&build.elf.with_extension(kind), &to)?;
    }
    // `equipoise qualify --images` compares a device with it.
    let list = Path::new(OUT).join(format!("equipoise-{version}-images.txt"));
    write(&list, images.as_bytes())?;
    let linux = program(LINUX, "equipoise")?;
    copy(&linux, &format!("{OUT}/equipoise-{version}-linux-x86_64"))?;
    package(&linux, &version)?;
    tools::mingw()?;
    let windows = program(WINDOWS, "equipoise.exe")?;
    copy(&windows, &format!("{OUT}/equipoise-{version}-windows-x86_64.exe"))?;
    write(&soup_list(&version), crates.as_bytes())?;
    sbom::write_all(&version)?;
    sums()?;
    match key {
        Some(key) => sign::sign(&Path::new(OUT).join(SUMS), &key, &version),
        None => {
            say("SHA256SUMS is not signed, so this is no release: a release takes --key FILE");
            Ok(())
        }
    }
}

/// The list of all crates of a release.
pub fn soup_list(version: &str) -> PathBuf {
    Path::new(OUT).join(format!("equipoise-{version}-soup.md"))
}

/// Builds the program for a target and gives its path.
fn program(target: &str, name: &str) -> Result<PathBuf, String> {
    tools::target(target)?;
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "--bin", "equipoise", "--target", target]);
    run(build.args(["--config", "profile.release.strip=true"]))?;
    Ok(tools::target_directory().join(target).join("release").join(name))
}

/// The Debian package: program, manual page, completions, udev rule.
fn package(program: &Path, version: &str) -> Result<(), String> {
    let root = tools::target_directory().join("deb");
    if root.exists() {
        fs::remove_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    }
    let installed = root.join("usr/bin/equipoise");
    write(
        &installed,
        &fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?,
    )?;
    run(Command::new("chmod").arg("755").arg(&installed))?;
    let printed = |arguments: &[&str]| {
        let output = Command::new(&installed).args(arguments).output();
        let output = output.map_err(|error| format!("{}: {error}", installed.display()))?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(format!("`equipoise {}` ended with {}", arguments.join(" "), output.status))
        }
    };
    let page = root.join("usr/share/man/man1/equipoise.1");
    write(&page, &printed(&["man"])?)?;
    // Without name and time, so that the same program gives the same package.
    run(Command::new("gzip").args(["-9", "-n"]).arg(&page))?;
    for (shell, path) in [
        ("bash", "usr/share/bash-completion/completions/equipoise"),
        ("zsh", "usr/share/zsh/vendor-completions/_equipoise"),
        ("fish", "usr/share/fish/vendor_completions.d/equipoise.fish"),
    ] {
        write(&root.join(path), &printed(&["completions", shell])?)?;
    }
    write(&root.join("usr/lib/udev/rules.d/60-equipoise.rules"), UDEV.as_bytes())?;
    let licence = fs::read("LICENSE").map_err(|error| format!("LICENSE: {error}"))?;
    write(&root.join("usr/share/doc/equipoise/copyright"), &licence)?;
    write(&root.join("DEBIAN/control"), control(version).as_bytes())?;
    run(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&root))?;
    let name = format!("{OUT}/equipoise_{version}_amd64.deb");
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "--build"]).arg(&root).arg(name);
    run(build.env("SOURCE_DATE_EPOCH", "0"))
}

fn control(version: &str) -> String {
    format!(
        "Package: equipoise\n\
         Version: {version}\n\
         Architecture: amd64\n\
         Maintainer: The equipoise authors <equipoise@localhost>\n\
         Section: science\n\
         Priority: optional\n\
         Description: bedside randomizer for clinical trials\n \
         Terminal, simulator, planner and privacy audit for trials whose arms are given\n \
         by a small board or by a virtual device.\n"
    )
}

/// SHA256SUMS over everything in the directory, by name, as `sha256sum --check` reads it.
fn sums() -> Result<(), String> {
    let files = fs::read_dir(OUT).map_err(|error| format!("{OUT}: {error}"))?;
    let mut names: Vec<_> = files.flatten().map(|file| file.file_name()).collect();
    names.sort();
    let output = Command::new("sha256sum").args(names).current_dir(OUT).output();
    let output = output.map_err(|error| format!("`sha256sum` did not start: {error}"))?;
    write(&Path::new(OUT).join(SUMS), &output.stdout)?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

/// Builds every image once more, from a copy of the sources in another directory: the same bytes.
pub fn reproduce() -> Result<(), String> {
    let copy = std::env::temp_dir().join(format!("equipoise-elsewhere-{}", std::process::id()));
    let result = compare_images(&copy);
    let _ = fs::remove_dir_all(&copy);
    result
}

/// Copies every file under version control to a folder.
pub fn copy_sources(elsewhere: &Path) -> Result<(), String> {
    make_directory(elsewhere)?;
    let listed = Command::new("git").arg("ls-files").output();
    let listed = listed.map_err(|error| format!("`git ls-files` did not start: {error}"))?;
    for file in String::from_utf8_lossy(&listed.stdout).lines() {
        // A file that was deleted but not yet committed is still listed.
        if let Ok(bytes) = fs::read(file) {
            write(&elsewhere.join(file), &bytes)?;
        }
    }
    Ok(())
}

fn compare_images(elsewhere: &Path) -> Result<(), String> {
    copy_sources(elsewhere)?;
    let compiler = tools::compiler()?;
    for board in BoardName::ALL {
        let here = Build::make(&compiler, board, Profile::Release)?;
        let target = elsewhere.join("target");
        let mut command = compiler.cargo("build", board.target());
        command.args(board.firmware(Profile::Release)).arg("--target-dir").arg(&target);
        run(command.current_dir(elsewhere))?;
        let there = Build::at(board, target.join(board.target()).join("firmware/firmware"));
        let (here, there) = (here.digest()?, there.digest()?);
        if here != there {
            return Err(format!("{board}: built here {here}, built elsewhere {there}"));
        }
        say(&format!("{board}: the image is the same from two directories: {here}"));
    }
    Ok(())
}

/// The version of the program, which Cargo.toml alone holds.
pub fn version() -> Result<String, String> {
    let text = fs::read_to_string("Cargo.toml").map_err(|error| format!("Cargo.toml: {error}"))?;
    let found = text.lines().find_map(|line| line.strip_prefix("version = \""));
    let version = found.and_then(|rest| rest.split('"').next());
    Ok(version.ok_or("Cargo.toml has no line `version = \"..\"`")?.to_owned())
}

fn make_directory(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))
}

pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    path.parent().map_or(Ok(()), make_directory)?;
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

fn copy(from: &Path, to: &str) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{} to {to}: {error}", from.display()))
}
