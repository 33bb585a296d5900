//! `equipoise web` as a process, and the address it prints.

use crate::common::ward::{PROGRAM, Ward};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use xtask::http::{Response, exchange};

/// A running server; killed at the end.
pub struct Page {
    process: Child,
    /// The first printed address.
    pub address: String,
    /// Addresses given out by [`Page::next_address`].
    opened: AtomicUsize,
    /// Everything it wrote to standard output and standard error.
    pub said: Arc<Mutex<String>>,
}

impl Drop for Page {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Why a test failed may be here.
            let said = self.said.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            eprintln!("the server ({:?}) said:\n{said}", self.process.try_wait());
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Page {
    /// Serves the ward's device.
    pub fn serve(ward: &Ward, words: &[&str]) -> Self {
        let port = ward.port();
        let mut command = Command::new(PROGRAM);
        command.args(["web", "--port", &port, "--log", "ward.jsonl"]).args(words);
        Self::start(ward, command)
    }

    pub fn start(ward: &Ward, mut command: Command) -> Self {
        command.current_dir(ward.path()).env("XDG_DATA_HOME", ward.file("data"));
        command.env("USER", "tester").stdin(Stdio::null());
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = loop {
            let Some(Ok(line)) = lines.next() else { panic!("no address was printed") };
            said.lock().unwrap().push_str(&(line.clone() + "\n"));
            if line.trim().starts_with("http://") {
                break line.trim().to_owned();
            }
        };
        let keep = |lines: Box<dyn Iterator<Item = std::io::Result<String>> + Send>| {
            let said = Arc::clone(&said);
            std::thread::spawn(move || {
                lines.flatten().for_each(|line| said.lock().unwrap().push_str(&(line + "\n")));
            });
        };
        keep(Box::new(lines));
        keep(Box::new(BufReader::new(process.stderr.take().unwrap()).lines()));
        Self { process, address, opened: AtomicUsize::new(0), said }
    }

    /// The address for the next browser: each works once, and then another is printed.
    pub fn next_address(&self) -> String {
        let (place, start) = (self.opened.fetch_add(1, Ordering::Relaxed), Instant::now());
        loop {
            let said = self.said.lock().unwrap().clone();
            let mut addresses = said.lines().map(str::trim).filter(|l| l.starts_with("http://"));
            if let Some(address) = addresses.nth(place) {
                return address.to_owned();
            }
            assert!(start.elapsed() < Duration::from_secs(60), "no address: {said}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Host and port.
    pub fn host(&self) -> &str {
        self.address.trim_start_matches("http://").split('/').next().unwrap()
    }
}

/// A browser's part without a browser: cookie, folder and the headers that it would send.
pub struct Visitor {
    host: String,
    pub folder: String,
    pub cookie: String,
}

impl Visitor {
    /// Opens the address of a page.
    pub fn enter(page: &Page) -> Self {
        Self::open(&page.next_address())
    }

    /// Opens a printed address.
    pub fn open(address: &str) -> Self {
        let (host, path) = address.trim_start_matches("http://").split_once('/').unwrap();
        let entrance = exchange(host, &format!("GET /{path}"), &[("Host", host)], b"");
        assert_eq!(entrance.status, 200, "{entrance:?}");
        let cookie = entrance.header("set-cookie").split(';').next().unwrap().to_owned();
        let folder = entrance.body.split("url=").nth(1).unwrap().split('"').next().unwrap();
        Self { host: host.to_owned(), folder: folder.to_owned(), cookie }
    }

    /// A request with the headers of the page, some of them replaced; an empty one is left out.
    pub fn ask(&self, first: &str, changes: &[(&str, &str)], body: &[u8]) -> Response {
        let origin = format!("http://{}", self.host);
        let mut headers = vec![
            ("Host", self.host.as_str()),
            ("Origin", &origin),
            ("Sec-Fetch-Site", "same-origin"),
            ("Content-Type", "application/json"),
            ("Cookie", &self.cookie),
        ];
        headers.retain(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
        headers.extend(changes.iter().filter(|(_, value)| !value.is_empty()));
        exchange(&self.host, first, &headers, body)
    }

    pub fn post(&self, body: &[u8]) -> Response {
        self.ask(&format!("POST {}order", self.folder), &[], body)
    }

    /// Gives an order under the name of a form.
    #[track_caller]
    pub fn order(&self, form: u32, ask: &Value) -> Value {
        let body = json!({ "form": format!("{form:032x}"), "ask": ask });
        let answer = self.post(body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        serde_json::from_str(&answer.body).unwrap()
    }

    /// The state as the page first hears it.
    pub fn state(&self) -> Value {
        self.state_at("")
    }

    /// The same as the page at this seat hears it.
    pub fn state_at(&self, seat: &str) -> Value {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let (folder, host, cookie) = (&self.folder, &self.host, &self.cookie);
        let request = format!(
            "GET {folder}events?seat={seat} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned)).unwrap();
        serde_json::from_str::<Value>(&data).unwrap()["state"].take()
    }

    /// Waits until the state is so.
    #[track_caller]
    pub fn wait(&self, so: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let state = self.state();
            if so(&state) {
                return state;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{state:#}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
