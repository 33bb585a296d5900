//! A browser driven over WebDriver: the few commands that the tests need.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use xtask::http;

/// Waiting only turns a hang into a failure.
pub const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);
/// How often Chromium is started, at most, until it has a session.
const STARTS: u32 = 3;
/// The key of an element in WebDriver's JSON.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Keys as WebDriver names them.
pub const TAB: &str = "\u{E004}";
pub const ENTER: &str = "\u{E007}";
pub const ESCAPE: &str = "\u{E00C}";
pub const SPACE: &str = " ";

/// A running chromedriver with one session.
pub struct Browser {
    process: Child,
    address: String,
    session: String,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let path = format!("DELETE /session/{}", self.session);
        http::exchange(&self.address, &path, &[("Host", &self.address)], b"");
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Browser {
    /// Starts Chromium without a window. It has been seen to exit at its start for no reason of
    /// ours; then the driver's log is printed and Chromium started again.
    pub fn start() -> Self {
        for _ in 1..STARTS {
            match Self::try_start() {
                Ok(browser) => return browser,
                Err(why) => eprintln!("Chromium is started again: {why}"),
            }
        }
        Self::try_start().unwrap_or_else(|why| panic!("Chromium does not start: {why}"))
    }

    fn try_start() -> Result<Self, String> {
        let profile = tempfile::tempdir().unwrap();
        let log = profile.path().join("chromedriver.log");
        let mut process = Command::new("chromedriver")
            .args(["--port=0", "--allowed-ips=127.0.0.1", "--verbose"])
            .arg(format!("--log-path={}", log.display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver did not start: cargo xtask setup");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            let port = line.split("started successfully on port ").nth(1)?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        std::thread::spawn(move || lines.for_each(drop));
        let address = format!("127.0.0.1:{}", port.expect("chromedriver names its port"));
        let mut browser = Self { process, address, session: String::new(), _profile: profile };
        let folder = format!("--user-data-dir={}", browser._profile.path().display());
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--lang=en-GB",
            &folder,
        ];
        let options = json!({ "args": arguments });
        let wanted = json!({ "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" } });
        let wanted = json!({ "capabilities": { "alwaysMatch": wanted } });
        let made = browser.try_request("POST", "", &wanted).map_err(|error| {
            let log = std::fs::read_to_string(&log).unwrap_or_else(|error| error.to_string());
            format!("{}\n{log}", error["message"])
        })?;
        made["sessionId"].as_str().expect("a session").clone_into(&mut browser.session);
        Ok(browser)
    }

    fn try_request(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        let session = if self.session.is_empty() {
            "/session".to_owned()
        } else {
            format!("/session/{}{path}", self.session)
        };
        let headers = [("Host", self.address.as_str()), ("Content-Type", "application/json")];
        let body = if method == "GET" { String::new() } else { body.to_string() };
        let answer = http::exchange(
            &self.address,
            &format!("{method} {session}"),
            &headers,
            body.as_bytes(),
        );
        let value: Value = serde_json::from_str(&answer.body).unwrap();
        if answer.status == 200 { Ok(value["value"].clone()) } else { Err(value["value"].clone()) }
    }

    #[track_caller]
    fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        self.try_request(method, path, body).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn go(&self, url: &str) {
        self.request("POST", "/url", &json!({ "url": url }));
    }

    pub fn back(&self) {
        self.request("POST", "/back", &json!({}));
    }

    pub fn reload(&self) {
        self.request("POST", "/refresh", &json!({}));
    }

    pub fn url(&self) -> String {
        self.request("GET", "/url", &Value::Null).as_str().unwrap().to_owned()
    }

    /// Runs a script in the page; `arguments` is what it gets.
    #[track_caller]
    pub fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.request("POST", "/execute/sync", &json!({ "script": script, "args": arguments }))
    }

    /// Runs a script that calls its last argument with its result.
    #[track_caller]
    pub fn run_async(&self, script: &str) -> Value {
        self.request("POST", "/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// A command of Chromium's own protocol.
    pub fn chromium(&self, command: &str, parameters: &Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.request("POST", "/goog/cdp/execute", &body)
    }

    /// Everything a person can read now.
    pub fn text(&self) -> String {
        self.run("return document.body ? document.body.innerText : ''", &[])
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Waits until all of these can be read.
    #[track_caller]
    pub fn shows(&self, texts: &[&str]) -> String {
        let start = Instant::now();
        loop {
            let text = self.text();
            if texts.iter().all(|wanted| text.contains(wanted)) {
                return text;
            }
            assert!(start.elapsed() < PATIENCE, "{texts:?} is not all in:\n{text}");
            sleep(POLL);
        }
    }

    fn element(&self, xpath: &str) -> Option<String> {
        let body = json!({ "using": "xpath", "value": xpath });
        let found = self.try_request("POST", "/element", &body).ok()?;
        found[ELEMENT].as_str().map(str::to_owned)
    }

    /// The element at a place; waits for it.
    #[track_caller]
    pub fn find(&self, xpath: &str) -> String {
        let start = Instant::now();
        loop {
            if let Some(found) = self.element(xpath) {
                return found;
            }
            assert!(start.elapsed() < PATIENCE, "{xpath} is not in:\n{}", self.text());
            sleep(POLL);
        }
    }

    /// Clicks an element once it is there and can be clicked.
    #[track_caller]
    pub fn click_on(&self, xpath: &str) {
        let start = Instant::now();
        loop {
            let id = self.find(xpath);
            self.scroll_to(&id);
            let enabled = self.try_request("GET", &format!("/element/{id}/enabled"), &Value::Null);
            let done = if enabled == Ok(true.into()) {
                self.try_request("POST", &format!("/element/{id}/click"), &json!({}))
            } else {
                Err("not enabled".into())
            };
            match done {
                Ok(_) => return,
                Err(why) => {
                    assert!(start.elapsed() < PATIENCE, "{xpath}: {why}\n{}", self.text());
                    sleep(POLL);
                }
            }
        }
    }

    /// Clicks the button of this name.
    #[track_caller]
    pub fn click(&self, name: &str) {
        self.click_on(&button(name));
    }

    /// Chooses a radio button by its label.
    #[track_caller]
    pub fn choose(&self, label: &str) {
        self.click_on(&format!("{}/input", choice(label)));
    }

    /// As a person does who looks for it.
    fn scroll_to(&self, id: &str) {
        let _ = self.try_request(
            "POST",
            "/execute/sync",
            &json!({ "script": "arguments[0].scrollIntoView({ block: 'center' })", "args": [{ ELEMENT: id }] }),
        );
    }

    /// Touches an element with a finger.
    #[track_caller]
    fn touch(&self, xpath: &str) {
        let id = self.find(xpath);
        self.scroll_to(&id);
        let steps = json!([
            { "type": "pointerMove", "duration": 0, "origin": { ELEMENT: id }, "x": 0, "y": 0 },
            { "type": "pointerDown", "button": 0 },
            { "type": "pointerUp", "button": 0 },
        ]);
        let finger = json!({ "type": "pointer", "id": "finger", "actions": steps,
            "parameters": { "pointerType": "touch" } });
        self.request("POST", "/actions", &json!({ "actions": [finger] }));
    }

    /// Touches the button of this name.
    #[track_caller]
    pub fn tap(&self, name: &str) {
        self.touch(&format!("{}[not(@disabled)]", button(name)));
    }

    /// Touches the label of a radio button.
    #[track_caller]
    pub fn tap_choice(&self, label: &str) {
        self.touch(&choice(label));
    }

    /// Types into the field of this label.
    #[track_caller]
    pub fn type_in(&self, label: &str, text: &str) {
        let id = self.find(&format!("//*[@id=//label[normalize-space()={}]/@for]", quoted(label)));
        self.request("POST", &format!("/element/{id}/value"), &json!({ "text": text }));
    }

    /// Presses keys, wherever the focus is.
    pub fn keys(&self, keys: &[&str]) {
        let presses = keys
            .iter()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })));
        let presses: Vec<_> = presses.collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": presses });
        self.request("POST", "/actions", &json!({ "actions": [keyboard] }));
    }

    /// The name of the element that has the focus.
    pub fn focus(&self) -> String {
        let script = "const at = document.activeElement; \
             return at.ariaLabel || (at.labels && at.labels[0] ? at.labels[0].innerText : at.innerText)";
        self.run(script, &[]).as_str().unwrap_or_default().trim().to_owned()
    }

    /// Tabs until the element of this name has the focus.
    #[track_caller]
    pub fn tab_to(&self, name: &str) {
        for _ in 0..60 {
            if self.focus() == name {
                return;
            }
            self.keys(&[TAB]);
            // A confirming button takes no input for its first 0.7 s.
            sleep(Duration::from_millis(30));
        }
        panic!("{name} cannot be reached by Tab; at {:?}", self.focus());
    }

    /// Windows and tabs.
    pub fn tabs(&self) -> Vec<String> {
        let handles = self.request("GET", "/window/handles", &Value::Null);
        serde_json::from_value(handles).unwrap()
    }

    pub fn new_tab(&self) -> String {
        let made = self.request("POST", "/window/new", &json!({ "type": "tab" }));
        made["handle"].as_str().unwrap().to_owned()
    }

    pub fn switch_to(&self, tab: &str) {
        self.request("POST", "/window", &json!({ "handle": tab }));
    }

    /// Forward again, after [`Browser::back`].
    pub fn forward(&self) {
        self.request("POST", "/forward", &json!({}));
    }

    /// Width and height of the page, in its own pixels.
    pub fn size(&self, (width, height): (u32, u32)) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.chromium("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Light or dark, screen or paper.
    pub fn media(&self, scheme: &str, kind: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.chromium(
            "Emulation.setEmulatedMedia",
            &json!({ "media": kind, "features": features }),
        );
    }

    /// Takes a picture of the window, if the variable `EQUIPOISE_SCREENSHOTS` names a folder.
    pub fn picture(&self, name: &str) {
        self.capture(name, &json!({}));
    }

    /// Takes a picture of the whole page, as [`Browser::picture`].
    pub fn whole_picture(&self, name: &str) {
        let size = "const page = document.documentElement; \
             return { x: 0, y: 0, scale: 1, width: page.clientWidth, height: page.scrollHeight }";
        let clip = self.run(size, &[]);
        self.capture(name, &json!({ "captureBeyondViewport": true, "clip": clip }));
    }

    fn capture(&self, name: &str, parameters: &Value) {
        let Some(folder) = std::env::var_os("EQUIPOISE_SCREENSHOTS") else { return };
        let picture = self.chromium("Page.captureScreenshot", parameters);
        let bytes = base64(picture["data"].as_str().unwrap());
        std::fs::write(std::path::Path::new(&folder).join(format!("{name}.png")), bytes).unwrap();
    }

    /// Lines that the browser wrote to its console since the last call.
    pub fn console(&self) -> Vec<String> {
        let lines = self.request("POST", "/se/log", &json!({ "type": "browser" }));
        let line = |line: &Value| line["message"].as_str().unwrap_or_default().to_owned();
        lines.as_array().map_or_else(Vec::new, |lines| lines.iter().map(line).collect())
    }
}

fn button(name: &str) -> String {
    format!("//button[normalize-space()={0} or @aria-label={0}]", quoted(name))
}

fn choice(label: &str) -> String {
    format!("//label[normalize-space()={}]", quoted(label))
}

fn quoted(text: &str) -> String {
    if text.contains('"') { format!("'{text}'") } else { format!("\"{text}\"") }
}

pub fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for digit in text.bytes().filter_map(|b| DIGITS.iter().position(|digit| *digit == b)) {
        bits = (bits << 6 | digit as u32) & 0xFF_FFFF;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
