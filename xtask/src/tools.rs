//! The tools a firmware build and its tests need, and how to get them on a fresh Debian machine.
//!
//! The thumb targets come from the first of these that works: (1) installed for the rustc in use;
//! (2) `rustup target add`, given 30 seconds; (3) Debian's own rustc with its library sources, from
//! which cargo builds `core`.

use crate::board::BoardName;
use crate::{cargo, run, say};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUSTUP_LIMIT: Duration = Duration::from_secs(30);
const TOOLCHAIN_LIMIT: Duration = Duration::from_secs(120);
const DENY_VERSION: &str = "0.20.2";
/// The newest release that our oldest compiler builds.
const TYPOS_VERSION: &str = "1.42.3";
const FUZZ_VERSION: &str = "0.13.2";
const MUTANTS_VERSION: &str = "27.1.0";
const AXE_VERSION: &str = "4.14.0";
const UNICORN_VERSION: &str = "2.1.4";
const PANDAS_VERSION: &str = "3.0.0";
const DEBIAN_PACKAGES: [&str; 5] =
    ["rustc-web", "cargo-web", "rust-web-src", "rust-web-clippy", "lld-22"];
/// Makes step 2 and step 3 testable on a machine where step 1 would do.
const FORCE_DEBIAN: &str = "EQUIPOISE_DEBIAN_RUST";

/// A compiler that can build for the boards.
pub enum Compiler {
    /// The one that runs this, with its targets.
    Targets,
    /// Debian's, building `core` from source.
    Debian,
}

impl Compiler {
    /// `cargo build`, or another of its commands, for a target.
    pub fn cargo(&self, subcommand: &str, target: &str) -> Command {
        let mut command = match self {
            Self::Targets => cargo(),
            Self::Debian => {
                let mut command = Command::new("/usr/bin/cargo");
                command.env("RUSTC", "/usr/bin/rustc").env("RUSTDOC", "/usr/bin/rustdoc");
                // Building `core` is behind a nightly switch, which Debian's stable compiler takes
                // too.
                command.env("RUSTC_BOOTSTRAP", "1").env_remove("RUSTUP_TOOLCHAIN");
                let name = target.to_uppercase().replace(['-', '.'], "_");
                let linker = format!("CARGO_TARGET_{name}_LINKER");
                command.env(linker, "ld.lld-22");
                command
            }
        };
        command.arg(subcommand);
        if matches!(self, Self::Debian) {
            command.arg("-Zbuild-std=core");
        }
        command.args(["--target", target]);
        command
    }
}

/// A compiler with the boards' targets, from the first of the sources in the header that works.
pub fn compiler() -> Result<Compiler, String> {
    if std::env::var_os(FORCE_DEBIAN).is_none() {
        if targets_installed() {
            say("the thumb targets are installed");
            return Ok(Compiler::Targets);
        }
        say("the thumb targets are missing; trying rustup, for at most 30 seconds");
        let mut rustup = Command::new("rustup");
        rustup.args(["target", "add"]).args(BoardName::ALL.map(BoardName::target));
        if within(&mut rustup, RUSTUP_LIMIT) && targets_installed() {
            return Ok(Compiler::Targets);
        }
        let missing =
            BoardName::ALL.iter().map(|board| board.target()).filter(|name| !installed(name));
        let missing = missing.collect::<Vec<_>>().join(", ");
        say(&format!("rustup could not add {missing}; taking Debian's compiler instead"));
    }
    if !Path::new("/usr/bin/rustc").exists() || !Path::new("/usr/bin/ld.lld-22").exists() {
        apt_install(&DEBIAN_PACKAGES)?;
    }
    say("building `core` with Debian's compiler");
    Ok(Compiler::Debian)
}

/// The compiler that builds the images, as it names itself: another one gives another image.
pub fn rustc_version() -> Result<String, String> {
    let program = if std::env::var_os(FORCE_DEBIAN).is_some() || !targets_installed() {
        "/usr/bin/rustc"
    } else {
        "rustc"
    };
    let output = Command::new(program).arg("--version").output();
    let output = output.map_err(|error| format!("`{program} --version` did not start: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn targets_installed() -> bool {
    BoardName::ALL.iter().all(|board| installed(board.target()))
}

/// Whether the rustc in use has the library of a target.
fn installed(target: &str) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let asked = Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output();
    let Ok(output) = asked else { return false };
    let directory = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let Ok(files) = std::fs::read_dir(directory) else { return false };
    files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libcore-"))
}

/// Sees to it that the compiler can build for a target of the host programs.
pub fn target(name: &str) -> Result<(), String> {
    if installed(name) {
        return Ok(());
    }
    say(&format!("the target {name} is missing; asking rustup for it"));
    if within(Command::new("rustup").args(["target", "add", name]), TOOLCHAIN_LIMIT)
        && installed(name)
    {
        Ok(())
    } else {
        Err(format!("the target {name} could not be had from rustup"))
    }
}

/// Sees to it that programs for Windows can be linked.
pub fn mingw() -> Result<(), String> {
    if answers("x86_64-w64-mingw32-gcc") {
        return Ok(());
    }
    say("the linker for Windows is missing");
    apt_install(&["gcc-mingw-w64-x86-64"])
}

/// A wine that runs 64-bit programs: its path.
pub fn wine() -> Result<PathBuf, String> {
    let found = || {
        let known = ["/usr/lib/wine/wine64", "/usr/bin/wine64", "/usr/bin/wine"];
        known.into_iter().map(PathBuf::from).find(|path| path.exists())
    };
    if found().is_none() {
        say("wine is missing");
        apt_install(&["wine", "wine64"])?;
    }
    found().ok_or_else(|| "wine was installed but is not where Debian has it".into())
}

/// Where cargo leaves what it builds.
pub fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// Runs a command, killing it when it takes too long; true if it ended well.
fn within(command: &mut Command, limit: Duration) -> bool {
    let Ok(mut child) = command.stdin(Stdio::null()).spawn() else { return false };
    let start = Instant::now();
    while start.elapsed() < limit {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(100)),
            Err(_) => break,
        }
    }
    say("that took too long");
    let _ = child.kill();
    let _ = child.wait();
    false
}

/// Sees to it that `qemu-system-arm` is there.
pub fn qemu() -> Result<(), String> {
    if !answers("qemu-system-arm") {
        say("qemu-system-arm is missing");
        apt_install(&["qemu-system-arm"])?;
    }
    if answers("qemu-system-arm") {
        Ok(())
    } else {
        Err("qemu-system-arm was installed but does not run".into())
    }
}

/// Sees to it that the terminal's tests have tmux, and python3 with pyserial.
pub fn terminal() -> Result<(), String> {
    let serial = |python: &str| {
        let mut command = Command::new(python);
        command.args(["-c", "import serial"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let tmux = Command::new("tmux").arg("-V").output().is_ok();
    if tmux && (serial("python3") || serial("/usr/bin/python3")) {
        return Ok(());
    }
    say("tmux or python3 with pyserial is missing");
    apt_install(&["tmux", "python3", "python3-serial"])
}

/// Sees to it that the page's tests have a browser and its driver.
pub fn browser() -> Result<(), String> {
    if !answers("chromium") || !answers("chromedriver") {
        say("chromium or chromedriver is missing");
        apt_install(&["chromium", "chromium-driver"])?;
    }
    if answers("chromium") && answers("chromedriver") {
        Ok(())
    } else {
        Err("chromium and chromedriver were installed but do not run".into())
    }
}

/// The checker of accessibility, from npm: the path of its script.
pub fn axe() -> Result<PathBuf, String> {
    let root = target_directory().join("tools").join(format!("axe-core-{AXE_VERSION}"));
    let script = root.join("node_modules/axe-core/axe.min.js");
    if !script.exists() {
        say("axe-core is missing");
        if !answers("npm") {
            apt_install(&["npm"])?;
        }
        std::fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        let package = format!("axe-core@{AXE_VERSION}");
        let options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"];
        run(Command::new("npm").arg("install").args(options).arg(&root).arg(package))?;
    }
    if script.exists() { Ok(script) } else { Err(format!("npm left no {}", script.display())) }
}

/// A Python with the Unicorn engine, on which the v2 and the Pico 2 are emulated, and with pandas,
/// which reads the tables of simulations: the path of its interpreter, in an environment of its
/// own.
pub fn python() -> Result<PathBuf, String> {
    let root = target_directory().join("python");
    let python = root.join("bin/python");
    let works = || {
        let mut command = Command::new(&python);
        command.args(["-c", "import unicorn, pandas"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !works() {
        say("the Unicorn engine or pandas is missing");
        let venv = || run(Command::new("python3").args(["-m", "venv"]).arg(&root));
        venv().or_else(|_| apt_install(&["python3", "python3-venv"]).and_then(|()| venv()))?;
        let packages = [format!("unicorn=={UNICORN_VERSION}"), format!("pandas=={PANDAS_VERSION}")];
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(&packages))?;
    }
    if works() {
        Ok(python)
    } else {
        Err("the Unicorn engine or pandas was installed but does not load".into())
    }
}

/// Sees to it that rustfmt and clippy are there.
pub fn lints() -> Result<(), String> {
    if answers("cargo-clippy") && answers("cargo-fmt") {
        return Ok(());
    }
    say("rustfmt or clippy is missing; asking rustup for them");
    if within(Command::new("rustup").args(["component", "add", "rustfmt", "clippy"]), RUSTUP_LIMIT)
    {
        Ok(())
    } else {
        Err("rustfmt and clippy could not be had from rustup".into())
    }
}

/// Sees to it that a compiler of an exact version is there. (Without a version rustup would replace
/// the stable compiler by a newer one, for which the thumb targets may be missing.)
pub fn toolchain(version: &str) -> Result<(), String> {
    let there = || {
        let mut command = Command::new("rustup");
        command.args(["run", version, "cargo", "--version"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if there() {
        return Ok(());
    }
    say(&format!("Rust {version} is missing; asking rustup for it"));
    let mut rustup = Command::new("rustup");
    rustup.args(["toolchain", "install", version, "--profile", "minimal", "--no-self-update"]);
    if within(&mut rustup, TOOLCHAIN_LIMIT) && there() {
        Ok(())
    } else {
        Err(format!("Rust {version} could not be had from rustup, so the promise was not checked"))
    }
}

/// The targets of the boards for another toolchain.
pub fn targets_of(version: &str) -> Result<(), String> {
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", "--toolchain", version]);
    rustup.args(BoardName::ALL.map(BoardName::target));
    if within(&mut rustup, TOOLCHAIN_LIMIT) {
        Ok(())
    } else {
        Err(format!("the boards' targets of Rust {version} could not be had from rustup"))
    }
}

/// The spelling checker, from crates.io; its settings are in Cargo.toml.
pub fn typos() -> Result<PathBuf, String> {
    crate_tool("typos-cli", TYPOS_VERSION, "typos")
}

/// The checker of licences, bans and sources, from crates.io; its settings are in deny.toml.
pub fn cargo_deny() -> Result<PathBuf, String> {
    crate_tool("cargo-deny", DENY_VERSION, "cargo-deny")
}

/// The fuzzing front end, from crates.io.
pub fn cargo_fuzz() -> Result<PathBuf, String> {
    crate_tool("cargo-fuzz", FUZZ_VERSION, "cargo-fuzz")
}

/// The mutation tester, from crates.io.
pub fn cargo_mutants() -> Result<PathBuf, String> {
    crate_tool("cargo-mutants", MUTANTS_VERSION, "cargo-mutants")
}

/// Sees to it that a nightly compiler with miri is there. (Nightly is a channel of its own:
/// fetching it leaves the stable compiler alone.)
pub fn miri() -> Result<(), String> {
    let there = || {
        let mut command = Command::new("rustup");
        command.args(["run", "nightly", "cargo", "miri", "--version"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if there() {
        return Ok(());
    }
    say("a nightly compiler with miri is missing; asking rustup for it");
    let parts = ["--component", "miri", "--component", "rust-src"];
    let has_nightly =
        Command::new("rustup").args(["run", "nightly", "rustc", "--version"]).output();
    let mut rustup = Command::new("rustup");
    if has_nightly.is_ok_and(|output| output.status.success()) {
        rustup.args(["component", "add", "--toolchain", "nightly", "miri", "rust-src"]);
    } else {
        rustup.args(["toolchain", "install", "nightly", "--profile", "minimal"]).args(parts);
    }
    if within(&mut rustup, TOOLCHAIN_LIMIT) && there() {
        Ok(())
    } else {
        Err("a nightly compiler with miri could not be had from rustup".into())
    }
}

/// Installs a program from crates.io into `target/tools`, where later runs find it. Built without
/// optimisation: these tools run for seconds.
pub fn crate_tool(package: &str, version: &str, program: &str) -> Result<PathBuf, String> {
    let root = Path::new("target/tools").join(format!("{package}-{version}"));
    let path = root.join("bin").join(program);
    if !path.exists() {
        say(&format!("building {package} {version}; once, about two minutes"));
        let mut command = cargo();
        command.args(["install", package, "--version", version, "--locked", "--debug", "--quiet"]);
        run(command.arg("--root").arg(&root).arg("--target-dir").arg("target/tools/build"))?;
    }
    Ok(path)
}

pub fn answers(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Installs Debian packages, as root or through sudo.
pub fn apt_install(packages: &[&str]) -> Result<(), String> {
    let by_hand = format!("apt-get install --no-install-recommends {}", packages.join(" "));
    if !answers("apt-get") {
        return Err(format!("there is no apt-get here; on Debian this would be needed: {by_hand}"));
    }
    let root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !root && !answers("sudo") {
        return Err(format!("installing needs root, and there is no sudo; as root run: {by_hand}"));
    }
    let apt = || {
        let mut command = Command::new(if root { "apt-get" } else { "sudo" });
        if !root {
            command.arg("apt-get");
        }
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    let install = || run(apt().args(["install", "-y", "--no-install-recommends"]).args(packages));
    // A fresh machine has no package lists yet.
    install().or_else(|_| run(apt().arg("update")).and_then(|()| install()))
}
