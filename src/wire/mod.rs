//! The serial line, protocol version 3: what a terminal and the device say to each other.
//!
//! This header is the normative grammar; `docs/wire.md` explains it for authors of terminals, with
//! test vectors. The module moves no bytes itself: [`Framer`] makes lines out of bytes, [`Request`]
//! and [`Reply`] read and write lines, and the caller owns the port (115200 baud, 8N1).
//!
//! # Lines
//! A line is at most [`LINE_LIMIT`] printable ASCII characters, its checksum included, and ends
//! with LF; one CR right before the LF is dropped. A longer line is thrown away up to its LF and
//! answered `ERR length`. A line of no characters, or of blanks, is not a request and gets no
//! answer: a terminal sends one to put an end to whatever noise came before. After any garbage both
//! sides are in step again at the next LF.
//!
//! One request line has one reply line; only `REPORT` has several, the last of which is `END` or
//! `ERR`. Words are separated by blanks. Verbs are upper case. Numbers are decimal digits; hex
//! digits may be of either case and are written in lower case (checksums in upper case).
//!
//! # Checksum
//! `*` and four hex digits at the end of a line: the CRC-16/CCITT-FALSE of every character before
//! the `*`. `*` may stand nowhere else, so a cut checksum is a wrong one and not a missing one.
//! Replies always carry it. A person typing may leave it out, and begins with `HELLO`: after a
//! request with a checksum, and after power-up if the last patient was assigned with a tag, the
//! device takes the sender for a program, and every request must carry a checksum until a `HELLO`
//! comes without one. Without this rule noise could make a blank an LF and so cut `ASSIGN 7 2
//! 1b2c3d4e*..` to a well-formed `ASSIGN 7 2` that nobody sent. The detail of `ERR checksum` says
//! what was expected.
//!
//! A checksum cannot catch everything: a corrupted line passes with probability 2^-16 (never with
//! one, two or three flipped bits, nor with flips inside 16 consecutive bits). It then still has to
//! be a well-formed request; for `ASSIGN` the patient's number must be the next one, and a changed
//! tag or number is refused.
//!
//! # Requests
//! ```text
//! HELLO
//! STATUS
//! ASSIGN <k> <feature> [tag]   tag: 8 hex digits, drawn at random by the terminal for this patient
//! REPLACE <k> <r>              the r-th replacement of the kit of patient k, r from 1 (blinded trials)
//! OUTCOME <k> <y>
//! LOST <k>
//! REPORT [proof=..]           without a proof only where the plan's `results` allow it
//! PROVE <nonce>                nonce: 32 hex digits, drawn at random by the terminal
//! AUTH                         asks for a nonce
//! KEY <key> [proof=..]         key: 64 hex digits. Only a device's first key needs no proof.
//! PLAN <key=value>.. [file=..] proof=..
//!     the words of `crate::plan`; file: 16 hex digits, the digest of the trial file's meaning
//! CLOSE proof=..
//! ERASE proof=..
//! ```
//! # Proofs
//! `proof=` and 32 hex digits, the last word of a custodian command: the first 16 bytes of
//! HMAC-SHA256 under the custodian's key of the nonce's 16 bytes, the 8 bytes of the trial's id
//! (zeros on a blank device), and every character of the line before the blank in front of
//! `proof=`. So a proof allows one command, with these very words, for this trial. A nonce is void
//! after one custodian command, accepted or not, after any other request, after [`NONCE_SECONDS`],
//! and when the terminal hangs up. Three wrong proofs without a right one between them lock
//! custodian commands until power-up; a command without proof or without a nonce does not count,
//! nor does a proof that is right for the nonce before the last, if nothing but `AUTH` came since:
//! the terminal took the late answer to its first `AUTH` for the answer to its second.
//!
//! # Keys by role
//! From the custodian's key follow three others, each the HMAC-SHA256 of its label under it:
//! `equipoise report 3` proves a `REPORT` and signs it, `equipoise presence 3` answers `PROVE`, and
//! from `equipoise code-break 3` follow the kit numbers. The custodian's key proves every command.
//!
//! The answer to `PROVE` is the first 16 bytes of HMAC-SHA256 under the presence key of the nonce,
//! the 8 bytes of the trial's id, the 8 bytes of the image hash (zeros where there is none), and
//! the numbers of assigned and of resolved patients, 4 bytes each, little-endian.
//!
//! # Replies
//! ```text
//! HELLO equipoise 3 <version> <state> [key=value]..     the table of `Hello` in `fields.rs`
//!     state: blank running closed fault foreign. `foreign`: the flash was written by a firmware of
//!     another version and is left as it is.
//! STATUS <key=value>..                                   the table of `Status` there
//! ARM <k> <0|1>
//! KIT <k> <kit>                instead of ARM in a blinded trial; kit: 1 to twice `kits`
//! OK <k>                       an outcome or a loss is on record (now, or since an earlier request)
//! OK                           KEY, CLOSE, ERASE
//! OK trial=<16 hex> claim=<claim>   PLAN
//!     claim: `pure` (the design is epsilon-private by proof) or `unproven` (`dp-conse`: the
//!     published bound does not survive an exact audit).
//! ROW <feature> <estimate> <error> <low> <high> <outcomes> [spent=.. half=.. looks=.. windows=..
//!         n0=.. mean0=.. n1=.. mean1=..]
//!     estimate, its standard error, and the ends of its 95 % interval: decimals with six places.
//!     outcomes: the number of outcomes behind it. Everything in a row is noisy. The words in
//!     brackets come with `interim` and `uniform`. spent: the part of the estimate's weight that
//!     is spent, 1.000000 at the end of a trial that was not closed early. half: the same after
//!     the last look up to half. looks: the planned looks in which the feature took part, as a
//!     decimal number whose bit k is look k + 1. windows: how often noise was added. n0, n1:
//!     outcomes of each arm, mean0, mean1: their means over the scale.
//! END <rows> stage=<interim|final> [look=.. of=.. [at=..]] assigned=.. resolved=.. counted=..
//!         trial=<16 hex> mac=<64 hex>                    ends a report
//!     stage: `final` once the trial is closed. look: the number of the last look, of: that of all,
//!     the close included, at: the count of resolved patients at which it fell (not of a close);
//!     these three come with `interim` and `uniform`. counted: outcomes behind all rows, noisy.
//! NONCE <32 hex>
//! PROOF <32 hex>               PROVE
//! ERR <word> [re=<verb>[:<patient>]] [detail]
//! ```
//! # Newer devices
//! A device of a later release may add words behind those of `HELLO`, `STATUS`, `OK`, `ROW` and
//! `END`: `key=value` with a new key (lower-case letters, digits and hyphens, a letter first; at
//! least one character of value). A reader skips them. Any other word that it does not expect is an
//! error, as is a word with a known key that is wrong, given twice, or behind an unknown one. A new
//! word never changes the meaning of the others; a change that would is a new protocol version.
//! `ARM`, `KIT`, `NONCE` and `PROOF` are never longer.
//!
//! # The MAC of a report
//! HMAC-SHA256 under the report key, which is HMAC-SHA256 of the 18 characters `equipoise report 3`
//! under the custodian's key (what a proof signs is at least 29 bytes long, so no proof is ever a
//! report key). What it signs: `TRIAL <16 hex>` LF, `FILE <16 hex>` LF, `PLAN <canonical plan>` LF,
//! then every `ROW` line with the words above, each followed by LF, then the `END` line up to
//! `counted=..`, LF. A row can neither be changed, left out nor moved to another trial.
//!
//! Words of a newer device are not signed: anybody on the line can add them. So they are not part
//! of a report: a reader drops them before it computes the MAC, and neither shows nor keeps them. A
//! new fact of a report needs a new protocol version, whose report key is another one.
//!
//! # Errors
//! Every word of [`Word`], with the value that was wrong and what was allowed. An error changes
//! nothing. `re=` names the request that is refused, so that a late refusal is not taken for the
//! answer to the next request; `checksum`, `length` and `syntax` refuse lines that are no requests,
//! and have none.
//!
//! # Example
//! ```
//! use equipoise::wire::Request;
//!
//! let request = Request::parse(b"ASSIGN 1 3 1b2c3d4e")?;
//! assert_eq!(request.to_string(), "ASSIGN 1 3 1b2c3d4e");
//! let error = Request::parse(b"ASSIGN 1 three").unwrap_err();
//! assert!(error.to_string().contains("three"));
//! # Ok::<(), equipoise::wire::WireError>(())
//! ```
//!
//! # Versions 1 and 2
//! A terminal of an earlier version finds `equipoise 3` in the reply to its `HELLO`. The `AUTH` of
//! version 1 with an answer is a syntax error that says so, and the proofs of version 2, which had
//! 64 digits, are none. `ASSIGN`, `OUTCOME`, `LOST` and their replies are the same in all versions.
//!
//! # Privacy
//! Nothing but a [`Reply`] is ever sent, and no variant can hold a raw count, sum or outcome. The
//! device makes only `Reply<'static>`, so that free text in it is a constant of the program.

mod error;
mod facts;
mod fields;
mod frame;
mod hex;
mod name;
mod refusal;
mod reply;
mod request;

use crate::plan::excerpt;
pub use error::WireError;
pub use facts::{
    Claim, Ending, FileDigest, FlashTrouble, ImageHash, LastLook, Micro, NextLook, Restart, Row,
    RowArm, RowBasis, Stage, State, Stored, TrialId, TrialName,
};
pub use fields::{Field, Hello, Status};
use frame::is_text;
pub(crate) use frame::open_framed;
pub use frame::{Framed, Framer, LINE_LIMIT, Line, Opened, checksum, open};
use hex::hex_number;
pub use hex::{Hex, unhex};
pub use name::{RequestName, Verb};
pub use refusal::{Lock, Refusal, Word};
pub use reply::{Reply, protocol_of};
pub use request::{Proof, Request, Tag, split_proof};

/// The version of the protocol, as `HELLO` states it.
pub const PROTOCOL: u8 = 3;
/// Bytes of a nonce.
pub const NONCE_BYTES: usize = 16;
/// How long a nonce is good for.
pub const NONCE_SECONDS: u8 = 5;
/// Bytes of a key and a report's MAC.
pub const MAC_BYTES: usize = 32;
/// Bytes of a proof: the first of a MAC.
pub const PROOF_BYTES: usize = 16;
