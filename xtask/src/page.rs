//! A visit to `equipoise web` without a browser: what the page is made of, and what the server
//! answers, as text that is the same on every system.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use xtask::http::{Response, exchange};

/// Orders of the page: enrol a patient, the same again, record the outcome, and an order about no
/// known patient.
const ORDERS: [&str; 4] = [
    r#"{"order":"enrol","code":"P-1","levels":[2]}"#,
    r#"{"order":"enrol","code":"P-1","levels":[2]}"#,
    r#"{"order":"outcome","patient":1,"outcome":1}"#,
    r#"{"order":"outcome","patient":7,"outcome":1}"#,
];
/// Texts that the answers must hold, in this order.
const ANSWERS: [&str; 4] =
    [r#""done":"enrolled""#, "already enrolled", r#""done":"recorded""#, "no patient"];

/// A running server; stopped when the visit ends, however it ends.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// Starts the server; also returns the first lines it prints, and the address in them.
    fn start(command: &mut Command) -> Result<(Self, String, String), String> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut server = Self(child.map_err(|error| format!("the server did not start: {error}"))?);
        let output = server.0.stdout.take().ok_or("the server's output is taken")?;
        let mut said = String::new();
        for line in BufReader::new(output).lines() {
            let line = line.map_err(|error| format!("the server's output: {error}"))?;
            said += &format!("{}\n", line.trim_end());
            if let Some(at) = line.find("http://") {
                let address = line[at..].trim().to_owned();
                return Ok((server, said.replace(&address, "ADDRESS"), address));
            }
        }
        Err(format!("the server printed no address:\n{said}"))
    }
}

/// Starts the server and visits it: the files of the page, a stranger, and the orders. The port,
/// the secrets, the time and the arm, which chance decides, are left out.
pub fn visit(command: &mut Command) -> Result<String, String> {
    let (_server, mut seen, address) = Server::start(command)?;
    let (host, path) =
        address.trim_start_matches("http://").split_once('/').ok_or("an address without a path")?;
    if !host.starts_with("127.0.0.1:") {
        return Err(format!("the server is at {host}, not on this machine alone"));
    }
    let stranger = exchange(host, &format!("GET /open/{}", "0".repeat(32)), &[("Host", host)], b"");
    expect(&stranger, 403, "")?;
    let entrance = exchange(host, &format!("GET /{path}"), &[("Host", host)], b"");
    expect(&entrance, 200, "url=/")?;
    let cookie = entrance.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
    let folder = entrance.body.split("url=").nth(1).and_then(|rest| rest.split('"').next());
    let folder = folder.ok_or("the entrance leads nowhere")?;
    let origin = format!("http://{host}");
    let headers = [
        ("Host", host),
        ("Origin", &origin),
        ("Sec-Fetch-Site", "same-origin"),
        ("Content-Type", "application/json"),
        ("Cookie", &cookie),
    ];
    for file in ["", "link.js", "frame.js", "list.js", "patients.js", "report.js", "style.css"] {
        let answer = exchange(host, &format!("GET {folder}{file}"), &headers, b"");
        expect(&answer, 200, "")?;
        seen += &format!("{file}: {}\n{}\n", answer.header("content-type"), answer.body);
    }
    for (number, (order, expected)) in ORDERS.iter().zip(ANSWERS).enumerate() {
        let body = format!(r#"{{"form":"{number:032x}","ask":{order}}}"#);
        let answer = exchange(host, &format!("POST {folder}order"), &headers, body.as_bytes());
        expect(&answer, 200, expected)?;
        seen += &format!("{order}\n{}\n", without_chance(&answer.body));
    }
    Ok(seen)
}

fn expect(answer: &Response, status: u16, text: &str) -> Result<(), String> {
    if answer.status == status && answer.body.contains(text) {
        return Ok(());
    }
    Err(format!(
        "the server answered {}, expected {status} with `{text}`:\n{}",
        answer.status, answer.body
    ))
}

/// An answer without the arm and the time of the enrolment.
fn without_chance(answer: &str) -> String {
    let mut text = answer.to_owned();
    for (from, to) in [(r#""arm":{"#, '}'), (r#""since":""#, '"')] {
        let Some(start) = text.find(from).map(|at| at + from.len()) else { continue };
        let Some(length) = text[start..].find(to) else { continue };
        text.replace_range(start..start + length, "..");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arm_and_time_are_left_out() {
        let answer = r#"{"arm":{"name":"Usual care","sign":0},"number":1,"since":"2026-11-16"}"#;
        assert_eq!(without_chance(answer), r#"{"arm":{..},"number":1,"since":".."}"#);
    }
}
