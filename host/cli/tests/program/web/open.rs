//! `--open`: the browser gets the address, and nobody else sees it.
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::page::{Page, Visitor};
use crate::common::ward::{PROGRAM, Ward};

/// Starts the page with `--open` and programs from this folder alone.
fn start(ward: &Ward, programs: &PathBuf) -> Page {
    let mut command = Command::new(PROGRAM);
    command.args(["web", "--open", "--port", "port", "--log", "ward.jsonl"]).env("PATH", programs);
    Page::start(ward, command)
}

fn wait_for(what: &str, so: impl Fn() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The browser is given a file that only its owner can read and that leads to the address. The
/// address stands in no argument, and the file is gone once the address was opened.
#[test]
fn open_leads_the_browser_to_the_page() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let programs = ward.file("programs");
    std::fs::create_dir(&programs).unwrap();
    let browser = programs.join("xdg-open");
    let told = ward.file("told");
    let script = format!("#!/bin/sh\necho \"$@\" > {0}.new; /bin/mv {0}.new {0}\n", told.display());
    std::fs::write(&browser, script).unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o700)).unwrap();

    let page = start(&ward, &programs);
    wait_for("the browser is started", || told.exists());
    let link = PathBuf::from(std::fs::read_to_string(&told).unwrap().trim());
    let key = page.address.rsplit('/').next().unwrap();
    assert!(!link.display().to_string().contains(key), "{link:?}");
    assert_eq!(std::fs::metadata(&link).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&link).unwrap();
    assert!(text.contains(&format!("content=\"0; url={}\"", page.address)), "{text}");
    let visitor = Visitor::enter(&page);
    wait_for("the file is gone", || !link.exists());
    visitor.wait(|state| state["up"] == true);
}

/// Without a browser to start, the printed address still works, and the program says what to do.
#[test]
fn open_without_a_browser() {
    let ward = Ward::new();
    let _device = ward.device();
    ward.provision(&[]);
    let page = start(&ward, &ward.file("nothing"));
    let said = || page.said.lock().unwrap().clone();
    wait_for("it says so", || said().contains("xdg-open did not start: open the address by hand"));
    Visitor::enter(&page).wait(|state| state["up"] == true);
}
