//! A line between terminal and device that records what passes, and can send an earlier answer
//! again.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use equipoise::host::terminal::link::{self, Link};

#[derive(Default)]
struct State {
    /// Every request with the bytes of its answer, in order.
    passed: Vec<(Vec<u8>, Vec<u8>)>,
    /// Requests that begin with this get the first answer that passed.
    replayed: Option<&'static str>,
    end: bool,
}

/// The line; it ends with this value.
pub struct Relay {
    path: PathBuf,
    state: Arc<Mutex<State>>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.lock().unwrap().end = true;
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Relay {
    /// Terminals open the socket `path`; each is joined to the device at `port`.
    pub fn between(path: &Path, port: &str) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let (state, port) = (Arc::new(Mutex::new(State::default())), PathBuf::from(port));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for terminal in listener.incoming() {
                if let Ok(device) = link::open(&port) {
                    carry(terminal.unwrap(), device, &shared);
                }
            }
        });
        Self { path: path.to_owned(), state }
    }

    /// From now on requests that begin with this word get the answer to the first such request.
    pub fn replay(&self, word: &'static str) {
        self.state.lock().unwrap().replayed = Some(word);
    }

    /// From now on everything passes.
    pub fn pass(&self) {
        self.state.lock().unwrap().replayed = None;
    }
}

/// Carries bytes both ways until one side is gone.
fn carry(mut terminal: UnixStream, mut device: Box<dyn Link>, state: &Mutex<State>) {
    let (mut bytes, turn) = ([0; 512], Duration::from_millis(5));
    loop {
        let Ok(count) = Link::receive(&mut terminal, &mut bytes, turn) else { return };
        let answer = {
            let mut state = state.lock().unwrap();
            if state.end {
                return;
            }
            let request = &bytes[..count];
            let begins =
                |line: &[u8]| state.replayed.is_some_and(|word| line.starts_with(word.as_bytes()));
            let old = state.passed.iter().find(|(line, _)| begins(line));
            let answer = old.filter(|_| begins(request)).map(|(_, answer)| answer.clone());
            if answer.is_none() && count > 0 {
                state.passed.push((request.to_vec(), Vec::new()));
            }
            answer
        };
        if let Some(answer) = answer {
            let Ok(()) = Link::send(&mut terminal, &answer) else { return };
            continue;
        }
        let Ok(()) = device.send(&bytes[..count]) else { return };
        let Ok(count) = device.receive(&mut bytes, turn) else { return };
        if let Some((_, answer)) = state.lock().unwrap().passed.last_mut() {
            answer.extend_from_slice(&bytes[..count]);
        }
        let Ok(()) = Link::send(&mut terminal, &bytes[..count]) else { return };
    }
}
