//! `examples/embed.rs`: a device in a program that is not ours.

use std::path::Path;
use std::process::Command;

/// The example answers as a blank device does, which then has a key.
#[test]
fn embedded_device_answers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--package", "equipoise", "--example", "embed"]);
    let output = command.current_dir(root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let words: Vec<_> = said.lines().map(|line| line.split('*').next().unwrap()).collect();
    let [first, key, second, refused] = words.as_slice() else { panic!("{said}") };
    assert!(first.starts_with("HELLO equipoise ") && first.contains(" blank key=none"), "{first}");
    assert_eq!(*key, "OK");
    assert!(second.contains(" blank key=set"), "{second}");
    assert_eq!(*refused, "ERR blank");
}
