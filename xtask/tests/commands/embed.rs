//! `examples/embed.rs`: a device in a program that is not ours.

use crate::documents::FEATURES;
use std::path::Path;
use std::process::Command;

/// The example answers as a blank device does, which then has a key.
#[test]
fn embedded_device_answers() {
    // Built as `cargo test` builds it, so that nothing is compiled again.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--profile", "test", "--workspace", "--features", FEATURES]);
    let built = build.args(["--example", "embed"]).current_dir(&root).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let folder = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let example = root.join(folder).join("debug/examples/embed");
    let output = Command::new(example).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let words: Vec<_> = said.lines().map(|line| line.split('*').next().unwrap()).collect();
    let [first, key, second, refused] = words.as_slice() else { panic!("{said}") };
    assert!(first.starts_with("HELLO equipoise ") && first.contains(" blank key=none"), "{first}");
    assert_eq!(*key, "OK");
    assert!(second.contains(" blank key=set"), "{second}");
    assert_eq!(*refused, "ERR blank re=ASSIGN:1");
}
