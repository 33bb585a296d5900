//! One copy of a request and its answer on an open line, and who is at the other end.

use std::io;
use std::time::{Duration, Instant};

use crate::line::client::Hello;
use crate::line::link::{Link, LinkError};
use equipoise::wire::{Framer, LINE_LIMIT, Reply, RequestName, Word, protocol_of};

/// Bytes of one read.
const CHUNK: usize = 256;
/// Fewer bytes than this are not judged as text.
const GARBAGE: usize = 8;
/// How much of what another device says is kept.
const HEARD: usize = 256;

/// An open line to a device.
pub(super) struct Open {
    pub name: String,
    link: Box<dyn Link>,
    framer: Framer,
    patience: Duration,
    unread: Vec<u8>,
    /// Bytes received before the device answered, to describe another device on the port.
    heard: Vec<u8>,
    /// A late answer to an earlier request may still come.
    pub stale: bool,
}

/// A taken answer, or a refusal with its detail.
pub(super) type Answer<T> = Result<T, (Word, String)>;

impl Open {
    /// Sends one more copy and waits for its answer; `None` if none came that could be read.
    pub fn attempt<T>(
        &mut self,
        line: &[u8],
        name: RequestName,
        copies: &mut u32,
        take: &mut impl FnMut(&Reply<'_>) -> Option<T>,
    ) -> io::Result<Option<Answer<T>>> {
        if self.stale && *copies == 0 {
            self.stale = self.greeting()?.is_none();
            if self.stale {
                return Ok(None);
            }
        }
        *copies += 1;
        if *copies > 1 {
            self.link.send(b"\n")?;
        }
        let answer = self.copy(line, name, take)?;
        self.stale |= answer.is_none();
        Ok(answer)
    }

    fn copy<T>(
        &mut self,
        line: &[u8],
        name: RequestName,
        take: &mut impl FnMut(&Reply<'_>) -> Option<T>,
    ) -> io::Result<Option<Answer<T>>> {
        self.link.send(line)?;
        let deadline = Instant::now() + self.patience;
        while let Some(line) = self.line(deadline)? {
            let Ok(reply) = Reply::parse(&line) else { continue };
            if let Some(answer) = take(&reply) {
                return Ok(Some(Ok(answer)));
            }
            if let Reply::Refused(refusal, of) = &reply {
                let word = refusal.word();
                let text = refusal.to_string();
                let detail = text.strip_prefix(word.name()).unwrap_or_default().trim();
                match word {
                    Word::Checksum | Word::Length | Word::Syntax => return Ok(None),
                    _ if *of == Some(name) => return Ok(Some(Err((word, detail.to_owned())))),
                    // The late answer to another request.
                    _ => {}
                }
            }
        }
        Ok(None)
    }

    /// The next line; `None` when the deadline passes.
    fn line(&mut self, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
        loop {
            let mut found = None;
            let mut used = 0;
            for byte in &self.unread {
                used += 1;
                if let Some(line) = self.framer.push(*byte) {
                    found = Some(line.to_vec());
                    break;
                }
            }
            self.unread.drain(..used);
            if found.is_some() {
                return Ok(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let mut chunk = [0; CHUNK];
            let count = self.link.receive(&mut chunk, left)?;
            self.unread.extend(chunk.iter().take(count));
            self.heard.extend(chunk.iter().take(count.min(HEARD.saturating_sub(self.heard.len()))));
        }
    }

    /// Sends `HELLO` and throws away everything that comes before its answer.
    fn greeting(&mut self) -> io::Result<Option<Hello>> {
        self.link.send(b"\nHELLO*49D6\n")?;
        let deadline = Instant::now() + self.patience;
        while let Some(line) = self.line(deadline)? {
            if let Some(hello) = Reply::parse(&line).ok().as_ref().and_then(hello) {
                self.heard.clear();
                return Ok(Some(hello));
            }
        }
        Ok(None)
    }
}

pub(super) fn hello(reply: &Reply<'_>) -> Option<Hello> {
    match reply {
        Reply::Hello(hello) => Some(Hello {
            version: hello.version.to_owned(),
            state: hello.state,
            stored: hello.stored,
            custody: hello.custody,
            trial: hello.trial,
            image: hello.image,
        }),
        _ => None,
    }
}

/// Makes sure that an equipoise device is at the other end, or says what else is.
pub(super) fn greet(
    name: String,
    link: Box<dyn Link>,
    patience: Duration,
) -> Result<(Open, Hello), LinkError> {
    let mut open = Open {
        name,
        link,
        framer: Framer::new(),
        patience,
        unread: Vec::new(),
        heard: Vec::new(),
        stale: false,
    };
    for _ in 0..2 {
        match open.greeting() {
            Ok(Some(hello)) => return Ok((open, hello)),
            Ok(None) => {}
            Err(error) => return Err(LinkError::Gone(open.name, error.to_string())),
        }
    }
    let heard = &open.heard;
    let plain = |b: &u8| b.is_ascii_graphic() || b.is_ascii_whitespace();
    let strange = heard.iter().filter(|b| !plain(b)).count();
    let mut lines = heard.split(|b| *b == b'\n').map(<[u8]>::trim_ascii_end);
    Err(if heard.is_empty() {
        LinkError::Silent(open.name)
    } else if let Some(protocol) = lines.find_map(protocol_of) {
        LinkError::Protocol(open.name, protocol)
    } else if strange * 4 > heard.len() || heard.len() < GARBAGE {
        LinkError::Garbage(open.name)
    } else {
        let text = String::from_utf8_lossy(heard).trim().chars().take(LINE_LIMIT / 2).collect();
        LinkError::WrongDevice(open.name, text)
    })
}
