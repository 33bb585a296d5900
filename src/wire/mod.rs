//! The serial line, protocol version 1: what a terminal and the device say to each other.
//!
//! This header is the normative grammar. The module moves no bytes itself: [`Framer`] makes lines out of
//! bytes, [`Request`] and [`Reply`] read and write lines, and the caller owns the port (115200 baud, 8N1).
//!
//! # Lines
//! A line is at most [`LINE_LIMIT`] printable ASCII characters, its checksum included, and ends with LF; one
//! CR right before the LF is dropped. A longer line is thrown away up to its LF and answered `ERR length`.
//! A line without characters is no request and gets no answer: a terminal sends one to put an end to
//! whatever noise came before. After any garbage both sides are in step again at the next LF.
//!
//! One request line has one reply line; only `REPORT` has several, the last of which is `END` or `ERR`.
//! Words are separated by blanks. Verbs are upper case. Numbers are decimal digits; hex digits may be of
//! either case and are written in lower case (checksums in upper case).
//!
//! # Checksum
//! `*` and four hex digits at the end of a line: the CRC-16/CCITT-FALSE of every character before the `*`.
//! `*` may stand nowhere else, so a cut checksum is a wrong one and not a missing one. Replies always carry
//! it. A person typing may leave it out, and says `HELLO` first: once a line with a right checksum has been seen,
//! and after power-up while the last patient was assigned with a tag, a program holds the line and every request
//! must carry it, until a `HELLO` comes without one. Without this rule noise could turn a blank into LF and so cut
//! `ASSIGN 7 2 1b2c3d4e*..` to a well-formed `ASSIGN 7 2` that nobody sent. The detail of `ERR checksum` says what was
//! expected.
//!
//! What a checksum cannot do: a corrupted line passes with probability 2^-16 (never with one, two or three
//! flipped bits, nor with flips inside 16 consecutive bits). It then still has to be a well-formed request; for
//! `ASSIGN` the patient's number must be the next one, and a changed tag or number is refused.
//!
//! # Requests
//! ```text
//! HELLO
//! STATUS
//! ASSIGN <k> <feature> [tag]      tag: 8 hex digits, drawn at random by the terminal for this patient
//! OUTCOME <k> <y>
//! LOST <k>
//! REPORT
//! AUTH [answer]                   answer: 64 hex digits, HMAC-SHA256 of the nonce's 16 bytes under the key
//! KEY <key>                       key: 64 hex digits
//! PLAN <key=value>..              the words of `crate::plan`
//! CLOSE
//! ERASE
//! ```
//! # Replies
//! ```text
//! HELLO equipoise 1 <version> <state> [stored=<version>] [restart=power|reset|watchdog|fault]
//!     state: blank running closed fault foreign. `stored` comes with `foreign`: the flash was written by a firmware
//!     of another version, `state-<number>` or `journal-<number>`, and is left as it is. `restart` says why the device last started, where the board knows;
//!     `fault` there is a panic or a processor fault.
//! STATUS design=.. n=.. assigned=.. unresolved=.. phase=.. looks=.. next-look=..
//!     phase: explore measure closed. `next-look` is the patient after whom the next look falls, or `close`,
//!     or `none` where looks are no public event (`dp-conse`, a closed trial).
//! ARM <k> <0|1>
//! OK <k>                          an outcome or a loss is on record (now, or since an earlier request)
//! OK                              KEY, AUTH with an answer, CLOSE, ERASE
//! OK trial=<16 hex> claim=<claim> PLAN. trial: drawn at random for this trial, signs its reports.
//!     claim: `pure` (the design is epsilon-private by proof) or `unproven` (`dp-conse`: the published bound does
//!     not survive an exact audit).
//! ROW <feature> <estimate> <low> <high> <patients>
//!     estimate, low, high: decimals with six places. patients: noisy, as is everything in a row.
//! END <rows> <mac> <trial>        ends a report; mac: 64 hex digits, trial: 16 hex digits
//! NONCE <32 hex>
//! ERR <word> [detail]
//! ```
//! # The MAC of a report
//! HMAC-SHA256 under the report key, which is HMAC-SHA256 of the 18 characters `equipoise report 1` under the
//! custodian's key (a nonce has 16 bytes, so no answer to `AUTH` is ever a report key). What it signs:
//! `TRIAL <16 hex>` LF, `PLAN <canonical plan>` LF, then every `ROW` line without its checksum, each followed by
//! LF, then `END <rows>` LF. A row can neither be changed, left out nor moved to another trial.
//!
//! # Errors
//! Every word of [`Word`], with the value that was wrong and what was allowed. An error changes nothing.
//!
//! # Privacy
//! Nothing but a [`Reply`] is ever sent, and no variant can hold a raw count, sum or outcome. The device makes
//! only `Reply<'static>`, so that free text in it is a constant of the program.

mod facts;
mod frame;
mod hex;
#[cfg(feature = "host")]
pub mod noisy;
mod refusal;
mod reply;
mod request;

pub use facts::{Claim, Micro, NextLook, Restart, Row, State, Status, Stored, TrialId};
use frame::is_text;
pub use frame::{Framer, LINE_LIMIT, Line, Opened, checksum, open};
use hex::hex_number;
pub use hex::{Hex, unhex};
pub use refusal::{Lock, Refusal, Word};
pub use reply::Reply;
pub use request::{Request, Tag};

/// The version of the protocol, as `HELLO` states it.
pub const PROTOCOL: u8 = 1;
/// Bytes of a challenge.
pub const NONCE_BYTES: usize = 16;
/// Bytes of a key, an answer and a report's MAC.
pub const MAC_BYTES: usize = 32;

/// Why a received line is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireError {
    /// More than [`LINE_LIMIT`] characters.
    Length,
    /// The checksum is wrong, or missing (`got` is `None`) where it must be.
    Checksum {
        /// The checksum that was there.
        got: Option<u16>,
        /// The checksum of what stood before it.
        expected: u16,
    },
    /// Not of the grammar.
    Syntax {
        /// The word that could not be taken; empty where one is missing.
        got: crate::plan::Excerpt,
        /// What was allowed.
        allowed: &'static str,
    },
    /// A plan whose words are well formed but whose values are not allowed.
    Plan(crate::plan::PlanError),
}

/// The first characters of a word, with everything that may not stand in a line shown as `?`.
fn excerpt(word: &[u8]) -> crate::plan::Excerpt {
    let mut cut = crate::plan::Excerpt::new();
    for byte in word {
        let shown = if byte.is_ascii_graphic() && *byte != b'*' { char::from(*byte) } else { '?' };
        if cut.push(shown).is_err() {
            break;
        }
    }
    cut
}
