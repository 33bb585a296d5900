//! The exact bytes of requests and replies, a module a protocol version. A device in a hospital and
//! a terminal of another year must understand each other, or refuse each other by name.
//!
//! **Rules.** Lines are added to the module of today's version; no line and no module is ever
//! edited or taken away. A new version has a module of its own, and then the functions below say
//! how the lines of the old one are answered. Checksums and MACs were computed by another program.

mod limits;
mod newer;
mod v1;
mod v2;
mod v3;

use equipoise::plan::{Plan, Ratio};
use equipoise::terms::{Arm, NoKit};
use equipoise::wire::{
    LINE_LIMIT, Lock, Micro, Refusal, Reply, Request, RequestName, Stored, Tag, WireError, Word,
    checksum, split_proof, unhex,
};

fn counting() -> [u8; 32] {
    core::array::from_fn(|i| i as u8)
}

/// The request that a refusal names.
fn named(bytes: &str) -> Option<RequestName> {
    match Reply::parse(bytes.trim_end().as_bytes()) {
        Ok(Reply::Refused(_, name)) => name,
        other => panic!("{bytes} {other:?}"),
    }
}

/// A proof of counting bytes.
fn half() -> [u8; 16] {
    core::array::from_fn(|i| i as u8)
}

fn plan(text: &str) -> Plan {
    Plan::parse(text).unwrap()
}

/// The refusal of a line that is no request.
fn wrong(line: &[u8]) -> Refusal<'static> {
    Request::parse(line).unwrap_err().into()
}

/// A request is written and read as these bytes, and read without its checksum.
#[track_caller]
fn assert_request(request: &Request, bytes: &str) {
    assert_eq!(core::str::from_utf8(request.to_line().unwrap().as_bytes()), Ok(bytes));
    let line = bytes.trim_end();
    assert_eq!(Request::parse(line.as_bytes()).as_ref(), Ok(request), "{line}");
    let bare = line.split('*').next().unwrap();
    assert_eq!(Request::parse(bare.as_bytes()).as_ref(), Ok(request), "{bare}");
}

/// A request with the proof of `counting` is written and read as these bytes.
#[track_caller]
fn assert_proved(request: &Request, bytes: &str) {
    let line = request.to_proved_line(&half()).unwrap();
    assert_eq!(core::str::from_utf8(line.as_bytes()), Ok(bytes));
    assert_eq!(Request::parse(bytes.trim_end().as_bytes()).as_ref(), Ok(request));
    let body = bytes.split('*').next().unwrap().as_bytes();
    assert_eq!(split_proof(body), (request.to_string().as_bytes(), Some(half())));
}

/// A reply is written and read as these bytes, and not read without its checksum.
#[track_caller]
fn assert_reply(reply: &Reply<'_>, bytes: &str) {
    assert!(bytes.len() <= LINE_LIMIT + 1, "{bytes}");
    assert_eq!(core::str::from_utf8(reply.to_line().as_bytes()), Ok(bytes));
    assert_eq!(Reply::parse(bytes.trim_end().as_bytes()).as_ref(), Ok(reply), "{bytes}");
    let bare = bytes.split('*').next().unwrap();
    assert!(Reply::parse(bare.as_bytes()).is_err(), "a reply needs its checksum");
}

/// The word of a refusal, after reading it as word and detail.
fn told(bytes: &str) -> Word {
    let text = bytes.split('*').next().unwrap().strip_prefix("ERR ").unwrap();
    let (name, detail) = text.split_once(' ').unwrap_or((text, ""));
    match Reply::parse(bytes.trim_end().as_bytes()) {
        Ok(Reply::Refused(Refusal::Told(word, read), re)) => {
            let named = re.map_or(String::new(), |re| format!("re={re}"));
            let detail = detail.strip_prefix(&named).unwrap().trim_start();
            assert_eq!((word.name(), read), (name, detail));
            word
        }
        other => panic!("{bytes} {other:?}"),
    }
}
