//! A plain HTTP/1.1 client over TCP, with every header in the caller's hand.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Response of a server.
#[derive(Debug)]
pub struct Response {
    /// The number of the status line.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub body: String,
}

impl Response {
    /// The value of a header; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }
}

/// Sends one request and reads the whole answer. `Connection: close` is added.
pub fn exchange(address: &str, first: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut request = format!("{first} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    if !body.is_empty() {
        request += &format!("Content-Length: {}\r\n", body.len());
    }
    stream.write_all((request + "\r\n").as_bytes()).unwrap();
    // A server that refuses a body may close before it has read all of it.
    let _ = stream.write_all(body);
    let (mut bytes, mut chunk) = (Vec::new(), [0; 65536]);
    while !is_whole(&bytes) {
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    }
    parse(&bytes)
}

/// Whether the body is as long as the head says; a server may leave the connection open.
fn is_whole(bytes: &[u8]) -> bool {
    let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    length
        .and_then(|length| length.trim().parse::<usize>().ok())
        .is_some_and(|length| bytes.len() >= head + 4 + length)
}

fn parse(bytes: &[u8]) -> Response {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap();
    let headers = lines.filter_map(|line| line.split_once(':'));
    Response {
        status: status.parse().unwrap(),
        headers: headers.map(|(k, v)| (k.to_lowercase(), v.trim().to_owned())).collect(),
        body: body.to_owned(),
    }
}
