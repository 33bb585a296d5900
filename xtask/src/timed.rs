//! Steps of a command with their seconds, several of them at once.
//!
//! A step runs programs. Each of their lines is printed with the step's name in front, because
//! steps that run at once print in between each other. The table at the end has wall-clock and
//! processor seconds: the former depend on what else the machine does, the latter hardly.

use crate::{say, shown};
use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{fs, io};

/// How often it is asked whether a program has ended.
const POLL: Duration = Duration::from_millis(50);
/// Linux counts processor time in hundredths of a second wherever it shows it to programs.
const TICKS_PER_SECOND: f64 = 100.0;
/// How long the last lines of a program may take that has ended.
const LAST_LINES: Duration = Duration::from_secs(5);
/// End of the error of a step that another one's failure has kept from being begun.
const NOT_BEGUN: &str = " was not begun";

/// A step that was done.
struct Done {
    name: String,
    began: f64,
    seconds: f64,
    processor: f64,
}

/// Steps of a command. The table is printed when they are dropped, also after a failure.
pub struct Steps {
    command: &'static str,
    start: Instant,
    done: Mutex<Vec<Done>>,
    failed: AtomicBool,
}

thread_local! {
    /// Name and processor seconds of the step that this thread is doing.
    static CURRENT: RefCell<Option<(String, f64)>> = const { RefCell::new(None) };
}

impl Steps {
    pub fn of(command: &'static str) -> Self {
        let (done, failed) = (Mutex::default(), AtomicBool::new(false));
        Self { command, start: Instant::now(), done, failed }
    }

    /// Does a step and notes its time. After a failure of any step no other is begun.
    pub fn step<T>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        if self.failed.load(Ordering::Relaxed) {
            return Err(format!("{name}{NOT_BEGUN}"));
        }
        say(&format!("== {name}"));
        let began = self.start.elapsed().as_secs_f64();
        CURRENT.set(Some((name.to_owned(), 0.0)));
        let result = work();
        let processor = CURRENT.take().map_or(0.0, |(_, processor)| processor);
        let seconds = self.start.elapsed().as_secs_f64() - began;
        let name = if result.is_ok() { name.to_owned() } else { format!("{name} (failed)") };
        say(&format!("== {name}: {seconds:.0} s"));
        self.failed.fetch_or(result.is_err(), Ordering::Relaxed);
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.push(Done { name, began, seconds, processor });
        result
    }

    /// Does two things at once. The error is that of the step that failed first.
    pub fn both<T: Send>(
        &self,
        one: impl FnOnce() -> Result<T, String> + Send,
        other: impl FnOnce() -> Result<(), String>,
    ) -> Result<T, String> {
        let (one, other) = thread::scope(|scope| {
            let one = scope.spawn(one);
            let other = other();
            (one.join().unwrap_or_else(|_| Err("a step ended with a panic".into())), other)
        });
        match (one, other) {
            (Err(why), Err(first)) if why.ends_with(NOT_BEGUN) => Err(first),
            (one, other) => one.and_then(|one| other.map(|()| one)),
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        print!("{}", table(self.command, &done, self.start.elapsed().as_secs_f64()));
    }
}

/// The steps as a Markdown table, in the order in which they ended.
fn table(command: &str, done: &[Done], all: f64) -> String {
    let mut text = format!("\n| step of `cargo xtask {command}` ");
    text += "| begun at | seconds | processor seconds |\n|---|---|---|---|\n";
    for Done { name, began, seconds, processor } in done {
        text += &format!("| {name} | {began:.0} | {seconds:.0} | {processor:.0} |\n");
    }
    let processor: f64 = done.iter().map(|step| step.processor).sum();
    text + &format!("| all | | {all:.0} | {processor:.0} |\n")
}

/// Runs a command to its end; an error names it. Within a step, its name stands before each line
/// that the command prints.
pub fn run(command: &mut Command) -> Result<(), String> {
    let line = shown(command);
    say(&line);
    let ended = match CURRENT.take() {
        None => command.status(),
        Some((name, before)) => {
            let watched = watch(&name, command);
            let processor = before + watched.as_ref().map_or(0.0, |(_, seconds)| *seconds);
            CURRENT.set(Some((name, processor)));
            watched.map(|(status, _)| status)
        }
    };
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}` ended with {status}")),
        Err(error) => Err(format!("`{line}` did not start: {error}")),
    }
}

/// Runs a command for a step: how it ended, and its processor seconds.
fn watch(name: &str, command: &mut Command) -> io::Result<(ExitStatus, f64)> {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn()?;
    let mut readers = Vec::new();
    if let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) {
        let (one, other) = (name.to_owned(), name.to_owned());
        readers.push(thread::spawn(move || pass_on(&one, output)));
        readers.push(thread::spawn(move || pass_on(&other, errors)));
    }
    let ended = ended(&mut child);
    // A program that was left running would keep the pipes open.
    let limit = Instant::now() + LAST_LINES;
    while Instant::now() < limit && !readers.iter().all(JoinHandle::is_finished) {
        thread::sleep(POLL);
    }
    ended
}

/// Prints each line of a program behind the name of its step.
fn pass_on(name: &str, output: impl Read) {
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        println!("{name}: {}", String::from_utf8_lossy(&line));
    }
}

/// Waits for the end of a program: how it ended, and the processor seconds of it and of all
/// programs that it started and waited for.
fn ended(child: &mut Child) -> io::Result<(ExitStatus, f64)> {
    // A program that has ended is listed, as `Z`, until its parent asks how.
    let listed = format!("/proc/{}/stat", child.id());
    let look = || read(&fs::read_to_string(&listed).ok()?);
    let mut processor = 0.0;
    while let Some((has_ended, seconds)) = look() {
        processor = seconds;
        if has_ended {
            break;
        }
        thread::sleep(POLL);
    }
    Ok((child.wait()?, processor))
}

/// Whether a program has ended, and its processor seconds, from `/proc/PID/stat`. The second field,
/// in parentheses, is a name that may hold anything; the third is the state, the 14th to the 17th
/// are times.
fn read(line: &str) -> Option<(bool, f64)> {
    let fields: Vec<&str> = line.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = fields.get(11..15)?.iter().map(|field| field.parse::<f64>());
    let ticks: f64 = ticks.sum::<Result<f64, _>>().ok()?;
    Some((*fields.first()? == "Z", ticks / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processor time of a program and of those that it started is counted, its waiting is not.
    #[test]
    fn processor_seconds_are_counted() {
        let steps = Steps::of("test");
        let script = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; sleep 0.3";
        steps.step("loop", || run(Command::new("sh").args(["-c", script]))).unwrap();
        let done = steps.done.lock().unwrap();
        let [Done { seconds, processor, .. }] = done.as_slice() else { panic!() };
        assert!(*processor > 0.01 && *processor < seconds - 0.25, "{processor} of {seconds}");
    }

    /// The error of two lanes is that of the step that failed, and no step is begun after it.
    #[test]
    fn failed_step_is_the_last_one() {
        let steps = Steps::of("test");
        let wait = || {
            while !steps.failed.load(Ordering::Relaxed) {
                thread::sleep(POLL);
            }
        };
        let fails = || steps.step("bad", || run(Command::new("sh").args(["-c", "exit 3"])));
        let never = || {
            wait();
            steps.step("late", || -> Result<(), String> { unreachable!() })
        };
        let why = steps.both(never, fails).unwrap_err();
        assert!(why.starts_with("`sh -c exit 3` ended with"), "{why}");
        let why = steps.both(|| Ok(()), never).unwrap_err();
        assert!(why.starts_with("late was not begun"), "{why}");
        let table = table("test", &steps.done.lock().unwrap(), 0.0);
        assert!(table.contains("| bad (failed) |") && !table.contains("late"), "{table}");
    }

    /// The name of a program may look like the fields behind it.
    #[test]
    fn odd_names_are_read() {
        let line = |state| format!("7 (a) Z (b)) {state} 1 7 7 0 -1 4 100 200 0 0 150 50 25 75 20");
        assert_eq!(read(&line("S")), Some((false, 3.0)));
        assert_eq!(read(&line("Z")), Some((true, 3.0)));
    }
}
