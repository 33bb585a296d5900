//! A terminal of today at a device of a later release, which says more in its replies.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use equipoise::plan::Plan;
use equipoise::wire::{FileDigest, Reply, Request, checksum};
use equipoise_ward::line::client::{Client, Source};
use equipoise_ward::line::custodian;
use equipoise_ward::line::link::Link;
use equipoise_ward::records::keys::KeyFile;
use equipoise_ward::virtual_board::{Flash, PAGES, VirtualBoard};

/// Replies that a later release may make longer.
const GROWING: [&str; 5] = ["HELLO", "STATUS", "OK", "ROW", "END"];

/// A line to a board whose replies get a word more.
#[derive(Clone)]
struct Line(Arc<Mutex<VirtualBoard>>, Vec<u8>);

/// The reply line with a word more, where it may have one.
fn longer(line: &str) -> String {
    let body = line.split('*').next().unwrap();
    if !GROWING.contains(&body.split(' ').next().unwrap()) {
        return line.to_owned();
    }
    let body = format!("{body} battery=good");
    format!("{body}*{:04X}", checksum(body.as_bytes()))
}

impl Link for Line {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut replies = Vec::new();
        self.0.lock().unwrap().receive(bytes, &mut replies)?;
        for line in String::from_utf8(replies).unwrap().lines() {
            self.1.extend(longer(line).bytes().chain([b'\n']));
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let count = buffer.len().min(self.1.len());
        buffer.iter_mut().zip(self.1.drain(..count)).for_each(|(to, from)| *to = from);
        if count == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(count)
    }
}

/// A whole trial, from its plan to its signed report, with a word more in every reply that may have
/// one.
#[test]
fn trial_on_a_newer_device() {
    let board = VirtualBoard::seeded(Flash::in_memory(PAGES), 3);
    let line = Line(Arc::new(Mutex::new(board)), Vec::new());
    let open = move || Ok(Box::new(line.clone()) as Box<dyn Link>);
    let mut client = Client::new(Source::Other("the bench".to_owned(), Box::new(open)))
        .with_patience(Duration::from_millis(200));
    let folder = tempfile::tempdir().unwrap();
    let key = KeyFile::generate(&folder.path().join("key")).unwrap();
    let plan = Plan::parse("features=1 patients=6 better=high epsilon=1").unwrap();
    let file = FileDigest([7; 8]);
    let begun = custodian::provision(&mut client, &plan, file, &key).unwrap();
    for patient in 1..=6 {
        assert_eq!(client.status().unwrap().assigned, patient - 1);
        let assign = Request::Assign { patient, feature: 0, tag: None };
        client.ask(&assign, |reply| matches!(reply, Reply::Arm { .. }).then_some(())).unwrap();
        let recorded = |reply: &Reply<'_>| (*reply == Reply::Recorded { patient }).then_some(());
        client.ask(&Request::Outcome { patient, y: 1 }, recorded).unwrap();
    }
    custodian::close(&mut client, &key).unwrap();
    let refused = custodian::report(&mut client, None).unwrap_err().to_string();
    assert!(refused.contains("results=custodian"), "{refused}");
    let report = custodian::report(&mut client, Some(&key)).unwrap();
    assert_eq!((report.rows.len(), report.trial), (1, begun.trial));
    assert!(key.signed(&plan, file, &report));
}
