//! Connections that do nothing, or too many of them.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::common::page::{Page, Visitor};
use crate::common::ward::{PROGRAM, Ward};
use crate::web::enrol;

/// Half-sent requests: more than a program may usually have descriptors.
const HALF_SENT: usize = 1100;
/// The usual limit of descriptors.
const DESCRIPTORS: usize = 1024;
/// Connections that the page serves at a time.
const MOST: usize = 64;

/// Serves the ward's device with the usual number of descriptors.
fn serve(ward: &Ward) -> Page {
    let mut command = Command::new("prlimit");
    command.arg(format!("--nofile={DESCRIPTORS}")).arg(PROGRAM);
    command.args(["web", "--port", "port", "--trial", "trial.toml", "--log", "ward.jsonl"]);
    Page::start(ward, command)
}

/// Lets this process have as many descriptors as the test needs.
fn more_descriptors() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = 2 * HALF_SENT as u64;
    if current.is_some_and(|current| current < wanted) {
        let limit =
            Rlimit { current: Some(maximum.map_or(wanted, |most| most.min(wanted))), maximum };
        setrlimit(Resource::Nofile, limit).unwrap();
    }
}

fn connect(page: &Page) -> TcpStream {
    let address = page.host().parse().unwrap();
    TcpStream::connect_timeout(&address, Duration::from_secs(10)).unwrap()
}

fn begin(page: &Page, text: &str) -> TcpStream {
    let mut stream = connect(page);
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// Sockets that the page has open.
fn sockets(page: &Page) -> usize {
    let folder = std::fs::read_dir(format!("/proc/{}/fd", page.id())).unwrap();
    let links = folder.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links.filter(|link| link.display().to_string().starts_with("socket:")).count()
}

/// Whether the server ended this connection within the time.
fn is_ended(mut stream: &TcpStream, time: Duration) -> bool {
    stream.set_read_timeout(Some(time)).unwrap();
    let (start, mut bytes) = (Instant::now(), [0; 4096]);
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) if start.elapsed() < time => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return true,
            _ => return false,
        }
    }
}

/// Requests of which only the beginning comes stop neither the page nor the log, and do not take
/// the server's descriptors.
#[test]
fn half_sent_requests_stop_nothing() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = serve(&ward);
    let visitor = Visitor::enter(&page);
    visitor.wait(|state| state["up"] == true);
    more_descriptors();
    let half = "GET /open/0 HTTP/1.1\r\nHost: ";
    let held: Vec<_> = (0..HALF_SENT).map(|_| begin(&page, half)).collect();
    let start = Instant::now();
    assert_eq!(visitor.order(1, &enrol("P-1"))["done"], "enrolled");
    visitor.wait(|state| state["status"]["assigned"] == 1);
    let second = Visitor::enter(&page);
    second.wait(|state| state["up"] == true);
    // Less than the ten seconds after which the server gives half-sent requests up by itself.
    assert!(start.elapsed() < Duration::from_secs(9), "{:?}", start.elapsed());
    let open = sockets(&page);
    // The listener, the wake-up of the runtime, and connections that end at this moment.
    assert!(open <= MOST + 8, "{open} sockets are open");
    let log = std::fs::read_to_string(ward.file("ward.jsonl")).unwrap();
    assert_eq!(log.matches("\"event\":\"arm\"").count(), 1, "{log}");
    drop(held);
}

/// A connection that begins no request, does not finish one or waits for the next is ended.
#[test]
fn idle_connections_are_ended() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = serve(&ward);
    let (silent, half) = (connect(&page), begin(&page, "GET / HTTP/1.1\r\n"));
    let waiting = begin(&page, &format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", page.host()));
    // A byte now and then does not help.
    let mut slow = begin(&page, "GET / HTTP/1.1\r\nX: ");
    let drip = std::thread::spawn(move || {
        for _ in 0..40 {
            if slow.write_all(b"x").is_err() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        false
    });
    for (stream, what) in [(silent, "silent"), (half, "half-sent"), (waiting, "kept alive")] {
        assert!(is_ended(&stream, Duration::from_secs(20)), "a {what} connection is open");
    }
    assert!(drip.join().unwrap(), "a slow connection is open");
}

/// Pages hold their connections, whatever other programs begin; the one too many is told so.
#[test]
fn one_connection_too_many_is_told() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = serve(&ward);
    let visitor = Visitor::enter(&page);
    let (host, folder, cookie) = (page.host(), &visitor.folder, &visitor.cookie);
    let listen = format!("GET {folder}events HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n");
    let mut pages: Vec<_> = (0..MOST)
        .map(|_| {
            let mut stream = begin(&page, &listen);
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            stream.read_exact(&mut [0; 12]).unwrap();
            stream
        })
        .collect();
    let told = visitor.ask(&format!("GET {folder}"), &[], b"");
    assert_eq!(told.status, 503, "{told:?}");
    assert!(told.body.contains("64 connections") && told.body.contains("close tabs"), "{told:?}");
    assert_eq!(told.header("cache-control"), "no-store");
    for stream in &mut pages {
        // Each still hears news.
        stream.read_exact(&mut [0; 200]).unwrap();
    }
    pages.pop();
    let start = Instant::now();
    while visitor.ask(&format!("GET {folder}"), &[], b"").status != 200 {
        assert!(start.elapsed() < Duration::from_secs(60), "no place became free");
    }
}
