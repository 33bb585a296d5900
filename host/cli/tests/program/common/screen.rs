//! A terminal of 80 columns and 24 rows in tmux, with keys sent and its text read.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::ward::{PROGRAM, Ward};

pub const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal of 80 columns and 24 rows with a program in it.
pub struct Screen {
    server: String,
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

impl Screen {
    pub fn run(ward: &Ward, words: &[&str], variables: &[(&str, &str)]) -> Self {
        // A server of its own each time: one that is being killed takes no new session.
        static SERVERS: AtomicUsize = AtomicUsize::new(0);
        let server =
            format!("equipoise-{}-{}", std::process::id(), SERVERS.fetch_add(1, Ordering::SeqCst));
        let screen = Self { server };
        let mut line = format!(
            "cd '{}' && env USER=tester XDG_DATA_HOME='{}' ",
            ward.path().display(),
            ward.file("data").display()
        );
        variables.iter().for_each(|(name, value)| line += &format!("{name}={value} "));
        line += PROGRAM;
        words.iter().for_each(|word| line += &format!(" '{word}'"));
        line += "; echo \"left with $?\"; sleep 600";
        let started =
            screen.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", &line]);
        assert!(started.status.success(), "tmux: {}", String::from_utf8_lossy(&started.stderr));
        screen
    }

    pub fn tmux(&self, words: &[&str]) -> Output {
        let output = Command::new("tmux").args(["-L", &self.server]).args(words).output();
        output.unwrap_or_else(|error| panic!("tmux is needed (apt-get install tmux): {error}"))
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p"]).stdout).unwrap()
    }

    #[track_caller]
    pub fn shows(&self, text: &str) -> String {
        let start = Instant::now();
        loop {
            let screen = self.text();
            if screen.contains(text) {
                return screen;
            }
            assert!(start.elapsed() < PATIENCE, "{text:?} did not appear:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn keys(&self, keys: &[&str]) {
        let sent = self.tmux(&[&["send-keys"], keys].concat());
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    }

    /// Confirms an enrolment.
    pub fn confirm(&self) {
        self.keys(&["e"]);
    }

    /// Enrols a patient up to the last question.
    pub fn enrol(&self, code: &str) {
        self.keys(&["e"]);
        self.shows("Patient code:");
        self.keys(&["-l", code]);
        self.shows(&format!("{code}_"));
        self.keys(&["Enter"]);
        self.shows(&format!("Patient {code} is"));
        self.keys(&["3", "Enter"]);
        self.shows(&format!("Enrol patient {code}, 65 or over, home?"));
    }
}
