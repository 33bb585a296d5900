//! A line between terminal and device that records what passes, and can lose answers or
//! send earlier ones again.
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use equipoise_ward::line::link;
use equipoise_ward::line::link::Link;

/// Fate of the requests that begin with a word.
#[derive(Clone)]
pub enum Fate {
    /// They reach the device; from then on nobody hears what it says.
    Lose(&'static str),
    /// They get the answer to the first such request, and never reach the device.
    Replay(&'static str),
}

impl Fate {
    fn meets(&self, request: &[u8]) -> bool {
        let (Self::Lose(word) | Self::Replay(word)) = self;
        request.trim_ascii_start().starts_with(word.as_bytes())
    }
}

#[derive(Default)]
struct State {
    /// Every request with the bytes of its answer, in order.
    passed: Vec<(Vec<u8>, Vec<u8>)>,
    fate: Option<Fate>,
    carries: bool,
    end: bool,
}

/// The line; it ends with this value.
pub struct Relay {
    path: PathBuf,
    state: Arc<Mutex<State>>,
    lost: Receiver<()>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.lock().unwrap().end = true;
        let _ = std::fs::remove_file(&self.path);
        // The device's line is free again when the last terminal's bytes are no longer carried.
        while self.state.lock().unwrap().carries {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Relay {
    /// Terminals open the socket `path`; each is joined to the device at `port`.
    pub fn between(path: &Path, port: &str, fate: Option<Fate>) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let state = State { fate, ..State::default() };
        let (state, port) = (Arc::new(Mutex::new(state)), PathBuf::from(port));
        let (shared, (tell, lost)) = (Arc::clone(&state), channel());
        std::thread::spawn(move || {
            for terminal in listener.incoming() {
                if let Ok(device) = link::open(&port) {
                    shared.lock().unwrap().carries = true;
                    carry(terminal.unwrap(), device, &shared, &tell);
                    shared.lock().unwrap().carries = false;
                }
                if shared.lock().unwrap().end {
                    return;
                }
            }
        });
        Self { path: path.to_owned(), state, lost }
    }

    /// Another fate from now on.
    pub fn change(&self, fate: Option<Fate>) {
        self.state.lock().unwrap().fate = fate;
    }

    /// Waits until the device has given an answer that nobody heard.
    #[track_caller]
    pub fn wait_for_loss(&self) {
        self.lost.recv_timeout(Duration::from_secs(60)).expect("the device answers");
    }
}

impl State {
    /// Immediate answer to the terminal, if the request is not for the device.
    fn answer(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        match self.fate.clone().filter(|fate| fate.meets(request))? {
            Fate::Lose(_) => None,
            fate @ Fate::Replay(_) => {
                let first = self.passed.iter().find(|(line, _)| fate.meets(line));
                first.map(|(_, answer)| answer.clone())
            }
        }
    }
}

/// Carries bytes both ways until one side is gone.
fn carry(
    mut terminal: UnixStream,
    mut device: Box<dyn Link>,
    state: &Mutex<State>,
    tell: &Sender<()>,
) {
    let (mut bytes, mut deaf, pause) = ([0; 512], false, Duration::from_millis(5));
    loop {
        let Ok(count) = Link::receive(&mut terminal, &mut bytes, pause) else { return };
        if count > 0 {
            let mut state = state.lock().unwrap();
            if let Some(answer) = state.answer(&bytes[..count]) {
                let Ok(()) = Link::send(&mut terminal, &answer) else { return };
                continue;
            }
            let loses = |fate: &Fate| matches!(fate, Fate::Lose(_)) && fate.meets(&bytes[..count]);
            deaf |= state.fate.as_ref().is_some_and(loses);
            state.passed.push((bytes[..count].to_vec(), Vec::new()));
        }
        let Ok(()) = device.send(&bytes[..count]) else { return };
        let Ok(count) = device.receive(&mut bytes, pause) else { return };
        let mut state = state.lock().unwrap();
        if state.end {
            return;
        }
        if deaf && count > 0 {
            let _ = tell.send(());
            continue;
        }
        if let Some((_, answer)) = state.passed.last_mut() {
            answer.extend_from_slice(&bytes[..count]);
        }
        let Ok(()) = Link::send(&mut terminal, &bytes[..count]) else { return };
    }
}
