//! `cargo xtask test --windows`: the Windows program under wine, compared with the Linux one.
//!
//! Commands whose result depends on a seed must print the same bytes on both systems, and the page
//! of the browser and its server must answer the same. The demonstration, whose device draws its
//! own randomness, must print the same but for the numbers. The others (keys, a device with its
//! terminal, silent or not, and a flash file that changes) must end as they do on Linux.

use crate::{cargo, page, run, say, tools};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use std::{fs, str, thread};

const TARGET: &str = "x86_64-pc-windows-gnu";
/// How long a device may take to answer or to end; a silent terminal is left after 3 seconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// Debian's wine has no `bcryptprimitives.dll`, from which Rust's library takes its random bytes.
/// This replaces it, in these tests only.
const SHIM: &str = "\
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) {
    return RtlGenRandom(data, (ULONG)length);
}
";
/// Deterministic commands.
const SAME: [&[&str]; 5] = [
    &["--help"],
    &["simulate", "--runs", "40", "--patients", "400", "--features", "2", "--seed", "7"],
    &["simulate", "--design", "uniform,dp-conse", "--runs", "9", "--delay", "0..50", "--json", "-"],
    &["sample", "--law", "lap-plus", "--rate", "1/9", "--count", "50", "--seed", "3"],
    &["check", "trial.toml"],
];

/// The two programs, and a folder in which both run.
struct Programs {
    wine: PathBuf,
    windows: PathBuf,
    linux: PathBuf,
    folder: PathBuf,
}

pub fn test() -> Result<(), String> {
    let programs = Programs::build()?;
    for words in SAME {
        programs.same(words)?;
    }
    let refused = ["plan", "--nonsense"];
    let (here, there) = (programs.linux(&refused)?, programs.windows(&refused)?);
    check(&refused, here.status.code() == there.status.code() && !there.status.success(), &there)?;
    programs.trial()?;
    programs.line()?;
    programs.page()?;
    let demo = ["demo", "--patients", "400", "--seed", "1"];
    let (here, there) = (programs.linux(&demo)?, programs.windows(&demo)?);
    let same = words(&text(&here.stdout)) == words(&text(&there.stdout));
    check(&demo, same && here.status.success() && there.status.success(), &there)?;
    println!("the Windows program does what the Linux one does");
    Ok(())
}

impl Programs {
    /// Builds both, installs wine, and makes an empty folder with the example.
    fn build() -> Result<Self, String> {
        tools::mingw()?;
        tools::target(TARGET)?;
        let wine = tools::wine()?;
        let build = ["build", "--bin", "equipoise"];
        run(cargo().args(build))?;
        run(cargo().args(build).args(["--target", TARGET]))?;
        let built = std::path::absolute(tools::target_directory());
        let built = built.map_err(|error| format!("target directory: {error}"))?;
        let windows = built.join(TARGET).join("debug/equipoise.exe");
        let folder = built.join("windows");
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let made = fs::create_dir_all(&folder).and_then(|()| {
            fs::write(folder.join("shim.c"), SHIM)?;
            fs::copy("examples/trial.toml", folder.join("trial.toml"))
        });
        made.map_err(|error| format!("{}: {error}", folder.display()))?;
        let shim = windows.with_file_name("bcryptprimitives.dll");
        let mut compile = Command::new("x86_64-w64-mingw32-gcc");
        compile.args(["-shared", "-o"]).arg(shim).arg(folder.join("shim.c"));
        run(compile.arg("-ladvapi32"))?;
        Ok(Self { wine, windows, linux: built.join("debug/equipoise"), folder })
    }

    fn linux(&self, words: &[&str]) -> Result<Output, String> {
        output(Command::new(&self.linux).args(words).current_dir(&self.folder), words)
    }

    fn windows(&self, words: &[&str]) -> Result<Output, String> {
        output(self.under_wine().args(words), words)
    }

    fn under_wine(&self) -> Command {
        let mut command = Command::new(&self.wine);
        command.arg(&self.windows).current_dir(&self.folder);
        // No messages of wine's own, and a Windows home that is empty at first.
        command.env("WINEDEBUG", "-all").env("WINEPREFIX", self.folder.join("wine"));
        command
    }

    /// Both systems print the same, but for the ends of lines and the program's name.
    fn same(&self, words: &[&str]) -> Result<(), String> {
        let (here, there) = (self.linux(words)?, self.windows(words)?);
        let same = text(&here.stdout) == text(&there.stdout).replace("equipoise.exe", "equipoise");
        let ends = here.status.code() == there.status.code();
        check(words, same && ends && here.status.success(), &there)
    }

    /// A key, a device, and a patient from enrolment to the report.
    fn trial(&self) -> Result<(), String> {
        let done = self.windows(&["keygen", "key"])?;
        check(&["keygen"], done.status.success(), &done)?;
        let again = self.windows(&["keygen", "key"])?;
        check(&["keygen", "again"], !again.status.success(), &again)?;
        let mut device = Device::start(self.under_wine().args(["device", "--flash", "flash"]))?;
        let port = device.port()?;
        let port = port.as_str();
        let key = ["--key-file", "key"];
        let log = ["--trial", "trial.toml", "--log", "log", "--operator", "nurse"];
        let ask = |words: &[&str], more: &[&str], expected: &str| {
            let words = [words, &["--port", port], more].concat();
            let done = self.windows(&words)?;
            let good = done.status.success() && text(&done.stdout).contains(expected);
            check(&words, good, &done)
        };
        ask(&["provision", "trial.toml"], &key, "has begun")?;
        ask(&["assign", "P-1", "0"], &log, "arm")?;
        ask(&["outcome", "P-1", "1"], &log, "recorded")?;
        ask(&["status"], &[], "1 of 4000")?;
        ask(&["close", "--yes"], &key, "closed")?;
        ask(&["report", "--trial", "trial.toml"], &key, "95 %")
    }

    /// A silent terminal makes way for the next; a flash file that was shortened ends the device,
    /// without an answer and with the reason.
    fn line(&self) -> Result<(), String> {
        let mut command = self.under_wine();
        command.args(["device", "--flash", "line.flash"]).stderr(Stdio::piped());
        let mut device = Device::start(&mut command)?;
        let port = device.port()?;
        let mut silent = connect(&port).map_err(|error| format!("{port}: {error}"))?;
        let asked = silent.write_all(b"HEL").and_then(|()| hello(&mut connect(&port)?));
        if !matches!(&asked, Ok(reply) if reply.starts_with("HELLO equipoise")) {
            return Err(format!("under wine a silent terminal holds the device: {asked:?}"));
        }
        if hello(&mut silent).is_ok_and(|reply| !reply.is_empty()) {
            return Err("under wine a terminal that had to make way is still served".into());
        }
        say("under wine: a silent terminal makes way for the next");

        let file = fs::OpenOptions::new().write(true).open(self.folder.join("line.flash"));
        file.and_then(|file| file.set_len(8192)).map_err(|error| format!("line.flash: {error}"))?;
        let reply = connect(&port).and_then(|mut line| hello(&mut line));
        let (status, message) = device.wait()?;
        let told = message.contains("the flash file has 8192 bytes");
        if reply.is_ok_and(|reply| !reply.is_empty()) || status.code() != Some(3) || !told {
            return Err(format!("under wine a shortened flash file: {status}, {message}"));
        }
        say("under wine: a shortened flash file ends the device, with the reason");
        Ok(())
    }

    /// The page and the server's answers are the same on both systems.
    fn page(&self) -> Result<(), String> {
        let words = ["web", "--trial", "trial.toml", "--operator", "nurse", "--flash"];
        let mut linux = Command::new(&self.linux);
        let linux = linux.current_dir(&self.folder).args(words).arg("linux.flash");
        let here = page::visit(linux).map_err(|why| format!("on Linux: {why}"))?;
        let there = page::visit(self.under_wine().args(words).arg("windows.flash"))
            .map_err(|why| format!("under wine: {why}"))?;
        let there = there.replace("\r\n", "\n");
        if let Some((a, b)) = here.lines().zip(there.lines()).find(|(a, b)| a != b) {
            return Err(format!("`equipoise web` differs. On Linux:\n{a}\nunder wine:\n{b}"));
        }
        if here.lines().count() != there.lines().count() {
            return Err("`equipoise web` answers more on one system than on the other".into());
        }
        say("under wine: equipoise web, page and a patient: as on Linux");
        Ok(())
    }
}

/// A device under wine; stopped when the test ends, however it ends.
struct Device(Child);

impl Device {
    fn start(command: &mut Command) -> Result<Self, String> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        Ok(Self(child.map_err(|error| format!("the device did not start: {error}"))?))
    }

    /// The name of its port, which it prints first.
    fn port(&mut self) -> Result<String, String> {
        let output = self.0.stdout.take().ok_or("the device's output is taken")?;
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        read.map_err(|error| format!("the device's output: {error}"))?;
        let port = line.trim();
        if port.starts_with("tcp:") {
            Ok(port.to_owned())
        } else {
            Err(format!("the device printed `{port}`, not its port"))
        }
    }

    /// Waits until it has ended: how, and what it wrote to standard error.
    fn wait(&mut self) -> Result<(ExitStatus, String), String> {
        let failed = |error| format!("the device: {error}");
        let start = Instant::now();
        let status = loop {
            match self.0.try_wait().map_err(failed)? {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => return Err("the device does not end".into()),
                None => thread::sleep(Duration::from_millis(50)),
            }
        };
        let mut message = String::new();
        let mut output = self.0.stderr.take().ok_or("the device's errors are taken")?;
        output.read_to_string(&mut message).map_err(failed)?;
        Ok((status, message))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A terminal's line to a device at `tcp:PORT`.
fn connect(port: &str) -> io::Result<TcpStream> {
    let number = port.trim_start_matches("tcp:").parse().map_err(io::Error::other)?;
    let line = TcpStream::connect((Ipv4Addr::LOCALHOST, number))?;
    line.set_read_timeout(Some(PATIENCE))?;
    Ok(line)
}

/// The device's answer to `HELLO`; empty if it left.
fn hello(line: &mut TcpStream) -> io::Result<String> {
    line.write_all(b"HELLO\n")?;
    let mut reply = String::new();
    BufReader::new(line).read_line(&mut reply)?;
    Ok(reply)
}

fn output(command: &mut Command, words: &[&str]) -> Result<Output, String> {
    let output = command.stdin(Stdio::null()).output();
    output.map_err(|error| format!("`equipoise {}` did not start: {error}", words.join(" ")))
}

/// Text as Linux would have written it.
fn text(bytes: &[u8]) -> String {
    str::from_utf8(bytes).unwrap_or("not UTF-8").replace("\r\n", "\n")
}

/// The words of each line, without numbers and charts.
fn words(text: &str) -> Vec<Vec<&str>> {
    let is_word =
        |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii() && !c.is_ascii_digit());
    text.lines().map(|line| line.split_whitespace().filter(is_word).collect()).collect()
}

fn check(words: &[&str], good: bool, done: &Output) -> Result<(), String> {
    let line = words.join(" ");
    if good {
        say(&format!("under wine: equipoise {line}: as it should be"));
        return Ok(());
    }
    let (status, out, error) = (done.status, text(&done.stdout), text(&done.stderr));
    Err(format!("under wine `equipoise {line}` ended with {status}:\n{out}{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_charts_are_no_words() {
        let text = "Trial 33ad. x ok\nhome  ··├──x──●┤· +0.1\n";
        assert_eq!(words(text), [vec!["Trial", "ok"], vec!["home"]]);
    }

    #[test]
    fn line_ends_are_those_of_linux() {
        assert_eq!(text(b"a\r\nb\n"), "a\nb\n");
    }
}
