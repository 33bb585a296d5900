//! Links, sockets and pseudo-terminals of the virtual device are its owner's.

use super::*;

/// Neither link nor socket is made where others could put their own in its place: their folder, and
/// every folder above it, can be written to by this user and root alone. Above it a folder like
/// /tmp will do, where nobody can rename what belongs to another.
#[test]
fn lines_lie_in_private_folders() {
    let place = tempfile::tempdir().unwrap();
    let flash = place.path().join("flash");
    let folder = |name: &str, mode| {
        let folder = place.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        folder
    };
    let (open, group) = (folder("open", 0o777), folder("group", 0o775));
    let (like_tmp, inside) = (folder("tmp", 0o1777), folder("open/inside", 0o700));
    let (good, led) = (folder("tmp/mine", 0o755), place.path().join("led"));
    std::os::unix::fs::symlink(&inside, &led).unwrap();
    let lines = ["--link", "--socket"];
    for (folder, at_fault) in
        [(&open, &open), (&group, &group), (&like_tmp, &like_tmp), (&inside, &open), (&led, &open)]
    {
        for line in lines {
            let end = folder.join("line");
            let mut board = DeviceProcess::start(&flash, &[line, end.to_str().unwrap()]);
            let (made, path) = (std::fs::symlink_metadata(&end).is_ok(), board.path.clone());
            board.child.kill().unwrap();
            let mut message = String::new();
            board.child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
            assert_eq!((made, path.as_str()), (false, ""), "{line} {}", end.display());
            assert_eq!(board.child.wait().unwrap().code(), Some(3), "{message}");
            let why = format!("others can write to its folder {}", at_fault.display());
            assert!(message.contains(&why), "{message}");
        }
    }
    for line in lines {
        let end = good.join("line");
        let mut board = DeviceProcess::start(&flash, &[line, end.to_str().unwrap()]);
        assert!(std::fs::symlink_metadata(&end).is_ok(), "{line} in a private folder");
        assert_eq!(board.tell(Signal::TERM), Some(0));
        assert_eq!(std::fs::read_dir(&good).unwrap().count(), 0, "{line} is taken away");
    }
}

/// The pseudo-terminal can be used by its user alone, and by no group.
#[test]
fn a_pseudo_terminal_is_private() {
    let place = tempfile::tempdir().unwrap();
    let board = DeviceProcess::start(&place.path().join("flash"), &["--pty"]);
    let mode = std::fs::metadata(&board.path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o600, "{mode:o}");
}

#[test]
fn a_link_never_replaces_a_file() {
    let place = tempfile::tempdir().unwrap();
    let (flash, link) = (place.path().join("flash"), place.path().join("line"));
    std::fs::write(&link, "mine").unwrap();
    let command = Command::new(PROGRAM)
        .args(["device", "--flash"])
        .args([&flash, Path::new("--link"), &link])
        .output()
        .unwrap();
    assert_eq!(command.status.code(), Some(3));
    assert_eq!(std::fs::read(&link).unwrap(), b"mine");
}
