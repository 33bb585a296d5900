//! One request, one answer, over a line that may lose, garble or delay either.
//!
//! **Retry.** A request without a readable answer is sent again, the same line byte for byte; the
//! protocol makes that safe. An empty line goes before a repeat and ends any partial line that
//! noise left behind. When the line broke, it is opened again first, so unplugging the device and
//! plugging it in again only causes a delay.
//!
//! **Whose answer?** Answers come in the order of the requests. One that names a patient must name
//! the right one, and a refusal must name the request. After a request had to be repeated, a late
//! second answer to it may still be on its way; then the next request waits for the answer to a
//! `HELLO`, and everything before that is thrown away.
//!
//! **Certainty.** [`AskError::Refused`] says whether the refusal answers the only copy that was
//! sent. If not, an earlier copy may have been accepted.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::line::exchange::{Open, greet, hello};
use crate::line::link::{self, Link, LinkError, Port};
use equipoise::wire::{
    Ending, ImageHash, Line, MAC_BYTES, Micro, NONCE_BYTES, Proof, Reply, Request, RequestName,
    Row, State, Status, Stored, TrialId, TrialName, Word,
};

/// How long one copy of a request waits for its answer. A look takes up to 1.5 seconds on a
/// micro:bit, 2.4 on a Pico 2.
const PATIENCE: Duration = Duration::from_millis(2500);
/// How often a request is sent before the device counts as silent.
const TRIES: u32 = 4;
/// The same for a custodian's command: eight copies outlast an `ERASE` of every page, 14 seconds
/// on the Pico 2.
const PROVED_TRIES: u32 = 8;

/// Where the line comes from.
pub enum Source {
    /// A port of this machine.
    Port(Port),
    /// Something else, with its name: a board inside this process.
    Other(String, Box<dyn FnMut() -> io::Result<Box<dyn Link>> + Send>),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskError {
    /// No device.
    Link(LinkError),
    /// The device said no.
    Refused {
        /// Its word.
        word: Word,
        /// Its detail.
        detail: String,
        /// Whether only one copy of the request was sent.
        certain: bool,
    },
}

impl From<LinkError> for AskError {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

/// Who answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Version of the device's program.
    pub version: String,
    /// Its state.
    pub state: State,
    /// The version on flash, if the state is `foreign`.
    pub stored: Option<Stored>,
    /// Whether a custodian's key is set, and the lifetime budget left.
    pub custody: Option<(bool, Micro)>,
    /// The trial it holds.
    pub trial: Option<TrialName>,
    /// The firmware image it runs; a virtual device has none.
    pub image: Option<ImageHash>,
}

impl Hello {
    /// Whether a virtual device answered: it runs no firmware image.
    #[must_use]
    pub const fn is_virtual(&self) -> bool {
        self.image.is_none()
    }
}

/// A report as the device sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// One row a feature that has an estimate.
    pub rows: Vec<Row>,
    /// The facts at its end.
    pub end: Ending,
    /// The id of the trial.
    pub trial: TrialId,
    /// The MAC over trial, plan, rows and counts.
    pub mac: [u8; MAC_BYTES],
}

/// A line to a device, opened when needed.
pub struct Client {
    source: Source,
    open: Option<Open>,
    hello: Option<Hello>,
    patience: Duration,
}

impl Client {
    /// A client that has not opened its line yet.
    #[must_use]
    pub const fn new(source: Source) -> Self {
        Self { source, open: None, hello: None, patience: PATIENCE }
    }

    /// The same with another patience for each copy of a request.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// A client on a port.
    #[must_use]
    pub const fn on(port: Port) -> Self {
        Self::new(Source::Port(port))
    }

    /// The port in use, if the line is open.
    #[must_use]
    pub fn port(&self) -> Option<&str> {
        self.open.as_ref().map(|open| open.name.as_str())
    }

    /// Opens the line if it is not, and makes sure that a device answers.
    ///
    /// # Errors
    /// Why there is no device.
    pub fn connect(&mut self) -> Result<Hello, LinkError> {
        match (&self.open, &self.hello) {
            (Some(_), Some(hello)) => Ok(hello.clone()),
            _ => self.reconnect(),
        }
    }

    fn reconnect(&mut self) -> Result<Hello, LinkError> {
        (self.open, self.hello) = (None, None);
        let patience = self.patience;
        let (open, hello) = match &mut self.source {
            Source::Other(name, make) => {
                let link =
                    make().map_err(|error| LinkError::Gone(name.clone(), error.to_string()))?;
                greet(name.clone(), link, patience)?
            }
            Source::Port(port) => {
                let mut errors = Vec::new();
                let attempt =
                    |path: &Path| greet(path.display().to_string(), link::open(path)?, patience);
                let candidates = port.candidates();
                let found =
                    candidates.iter().find_map(|p| attempt(p).map_err(|e| errors.push(e)).ok());
                match (found, errors.pop()) {
                    (Some(found), _) => found,
                    (None, None) => return Err(LinkError::NoneFound),
                    (None, Some(error)) if *port != Port::Auto => return Err(error),
                    (None, Some(error)) => {
                        errors.push(error);
                        return Err(LinkError::NoneFits(errors));
                    }
                }
            }
        };
        self.open = Some(open);
        self.hello = Some(hello.clone());
        Ok(hello)
    }

    /// Asks `request` until `take` finds its answer among the replies.
    ///
    /// # Errors
    /// The device refused, or none answered.
    pub fn ask<T>(
        &mut self,
        request: &Request,
        take: impl FnMut(&Reply<'_>) -> Option<T>,
    ) -> Result<T, AskError> {
        self.ask_line(request.to_line(), request.name(), TRIES, take)
    }

    /// The same for a custodian command with its proof. A refusal that is not certain may be that
    /// of a second copy, because the first one used the nonce up.
    ///
    /// # Errors
    /// The device refused, or none answered.
    pub fn ask_with_proof<T>(
        &mut self,
        request: &Request,
        proof: &Proof,
        take: impl FnMut(&Reply<'_>) -> Option<T>,
    ) -> Result<T, AskError> {
        self.ask_line(request.to_proved_line(proof), request.name(), PROVED_TRIES, take)
    }

    fn ask_line<T>(
        &mut self,
        line: Option<Line>,
        name: RequestName,
        tries: u32,
        mut take: impl FnMut(&Reply<'_>) -> Option<T>,
    ) -> Result<T, AskError> {
        let line = line.ok_or_else(|| AskError::Refused {
            word: Word::Length,
            detail: "the request does not fit one line".to_owned(),
            certain: true,
        })?;
        let (mut copies, mut broken) = (0, None);
        for _ in 0..tries {
            self.connect()?;
            let Some(open) = &mut self.open else { continue };
            match open.attempt(line.as_bytes(), name, &mut copies, &mut take) {
                Ok(Some(Ok(answer))) => return Ok(answer),
                Ok(Some(Err((word, detail)))) => {
                    return Err(AskError::Refused { word, detail, certain: copies == 1 });
                }
                Ok(None) => {}
                Err(error) => {
                    broken = Some(LinkError::Gone(open.name.clone(), error.to_string()));
                    self.open = None;
                }
            }
        }
        let name = self.port().unwrap_or_default().to_owned();
        self.open = None;
        Err(broken.unwrap_or(LinkError::Silent(name)).into())
    }

    /// Who is there, asked anew.
    ///
    /// # Errors
    /// The device refused, or none answered.
    pub fn hello(&mut self) -> Result<Hello, AskError> {
        let hello = self.ask(&Request::Hello, hello)?;
        self.hello = Some(hello.clone());
        Ok(hello)
    }

    /// The public facts of the trial.
    ///
    /// # Errors
    /// The device refused, or none answered.
    pub fn status(&mut self) -> Result<Status, AskError> {
        self.ask(&Request::Status, |reply| match reply {
            Reply::Status(status) => Some(*status),
            _ => None,
        })
    }

    /// A nonce for the next custodian command. It is the answer to the only copy of its request, or
    /// the proof made of it might be wrong, which the device counts.
    ///
    /// # Errors
    /// The device refused, or none answered.
    pub fn challenge(&mut self) -> Result<[u8; NONCE_BYTES], AskError> {
        for _ in 0..TRIES {
            let nonce = self.ask(&Request::Challenge, |reply| match reply {
                Reply::Nonce(nonce) => Some(*nonce),
                _ => None,
            })?;
            if self.open.as_ref().is_some_and(|open| !open.stale) {
                return Ok(nonce);
            }
        }
        Err(LinkError::Silent(self.port().unwrap_or_default().to_owned()).into())
    }

    /// Distrusts what may still come: the next request waits for the answer to a `HELLO`.
    pub(super) fn distrust(&mut self) {
        if let Some(open) = &mut self.open {
            open.stale = true;
        }
    }
}
