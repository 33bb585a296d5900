//! The list of processes as another program of this machine sees it: words and variables of
//! everything that runs.

use std::fs;

use super::ward::{PROGRAM, Ward};

/// A process of the program, or one that it started.
pub struct Process {
    pub id: u32,
    /// Words of the command and its variables; `ps eww` shows both.
    pub shown: String,
}

/// Every process that is the program or works in the ward's folder.
pub fn ours(ward: &Ward) -> Vec<Process> {
    let folder = ward.path().canonicalize().unwrap();
    let listed = fs::read_dir("/proc").unwrap().flatten();
    let numbers = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let process = |id: u32| {
        let read = |name: &str| fs::read(format!("/proc/{id}/{name}")).unwrap_or_default();
        let words = read("cmdline");
        let works_here =
            fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|at| at.starts_with(&folder));
        // A program whose memory nobody may read hides its variables too.
        let shown =
            String::from_utf8_lossy(&[words.clone(), read("environ")].concat()).into_owned();
        (words.starts_with(PROGRAM.as_bytes()) || works_here).then_some(Process { id, shown })
    };
    numbers.filter_map(process).collect()
}

/// No process shows one of these; the process `id` is among those looked at.
#[track_caller]
pub fn show_none(ward: &Ward, id: u32, secrets: &[String]) {
    let ours = ours(ward);
    assert!(ours.iter().any(|one| one.id == id), "process {id} is not in the list");
    hide(&ours, secrets);
}

#[track_caller]
pub fn hide(processes: &[Process], secrets: &[String]) {
    for Process { id, shown } in processes {
        for secret in secrets {
            assert!(!shown.contains(secret), "process {id} shows {secret}: {shown}");
        }
    }
}
