//! `cargo xtask test --slurm`: the scripts for clusters on a real Slurm with one node.
//!
//! A munge daemon, a controller and a node of their own are started for this test, with their own
//! key, sockets, ports and folders, and stopped at its end; a Slurm of the machine is not touched.
//! `examples/slurm.sh` and `examples/grid.sh` must give the bytes of a single process. Needs root:
//! a node starts its jobs as other users.

use crate::{cargo, run, say, tools};
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use std::{io::Read as _, thread};

const PACKAGES: [&str; 4] = ["slurm-wlm", "slurmctld", "slurmd", "munge"];
/// How long daemons may take to answer, and jobs to end.
const PATIENCE: Duration = Duration::from_secs(120);
/// Ports beside those of a Slurm that the machine may have.
const PORTS: [u16; 2] = [16_817, 16_818];
const KEY_BYTES: usize = 1024;
const SIMULATION: [&str; 8] =
    ["--design", "interim,uniform", "--patients", "900", "--features", "3", "--runs", "120"];
const GRID: &str = "runs = 60\n[plan]\nfeatures = 2\npatients = [200, 400]\nepsilon = 1\n\
                    [world]\nbaseline = 0.3\neffect = 0.25\n";

/// A Slurm with one node; dropping it stops its daemons.
struct Slurm {
    folder: PathBuf,
    daemons: Vec<Child>,
}

fn failed(what: &Path) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{}: {error}", what.display())
}

/// Standard output of a command that must succeed.
fn output(command: &mut Command) -> Result<String, String> {
    let line = crate::shown(command);
    let done = command.output().map_err(|error| format!("`{line}` did not start: {error}"))?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let error = String::from_utf8_lossy(&done.stderr);
    if done.status.success() { Ok(text) } else { Err(format!("`{line}`: {error}")) }
}

/// Asks until the answer is good or patience ends.
fn wait(what: &str, mut is_good: impl FnMut() -> bool) -> Result<(), String> {
    let start = Instant::now();
    while !is_good() {
        if start.elapsed() > PATIENCE {
            return Err(format!("{what}: not within {} seconds", PATIENCE.as_secs()));
        }
        thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

impl Slurm {
    fn start() -> Result<Self, String> {
        let user = output(Command::new("id").arg("-u"))?;
        if user.trim() != "0" {
            return Err("a Slurm node needs root: run this as root".into());
        }
        let folder = PathBuf::from(format!("/run/equipoise-slurm-{}", std::process::id()));
        let mut slurm = Self { folder, daemons: Vec::new() };
        let at = |name: &str| slurm.folder.join(name);
        for name in ["munge", "state", "spool"] {
            fs::create_dir_all(at(name)).map_err(failed(&at(name)))?;
        }
        slurm.make_key(&at("munge/key"))?;
        let (munge, conf) = (at("munge"), at("slurm.conf"));
        let text = slurm.configuration()?;
        fs::write(&conf, text).map_err(failed(&conf))?;
        let option = |name: &str, file: &str| format!("--{name}={}", munge.join(file).display());
        let mut munged = Command::new("runuser");
        munged.args(["-u", "munge", "--", "munged", "--foreground", "--force"]).args([
            option("key-file", "key"),
            option("socket", "socket"),
            option("log-file", "log"),
            option("pid-file", "pid"),
            option("seed-file", "seed"),
        ]);
        slurm.daemon("munged", &mut munged)?;
        wait("munged", || munge.join("socket").exists())?;
        for name in ["slurmctld", "slurmd"] {
            slurm.daemon(name, Command::new(name).args(["-D", "-f"]).arg(&conf))?;
        }
        let idle = || {
            let mut asked = Command::new("sinfo");
            let asked = asked.args(["-h", "-o", "%T"]).env("SLURM_CONF", &conf).output();
            asked.is_ok_and(|done| String::from_utf8_lossy(&done.stdout).trim() == "idle")
        };
        wait("the node", idle)?;
        Ok(slurm)
    }

    /// A key that munge alone may read.
    fn make_key(&self, path: &Path) -> Result<(), String> {
        let id = |option: &str| -> Result<u32, String> {
            let text = output(Command::new("id").args([option, "munge"]))?;
            text.trim().parse().map_err(|_| format!("id {option} munge: {text}"))
        };
        let (user, group) = (id("-u")?, id("-g")?);
        let mut key = vec![0; KEY_BYTES];
        let random = Path::new("/dev/urandom");
        let read = File::open(random).and_then(|mut file| file.read_exact(&mut key));
        read.map_err(failed(random))?;
        fs::write(path, key).map_err(failed(path))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o400)).map_err(failed(path))?;
        let folder = self.folder.join("munge");
        for path in [path, &folder] {
            chown(path, Some(user), Some(group)).map_err(failed(path))?;
        }
        Ok(())
    }

    fn configuration(&self) -> Result<String, String> {
        let host = output(&mut Command::new("hostname"))?;
        let (host, folder, [controller, node]) = (host.trim(), self.folder.display(), PORTS);
        Ok(format!(
            "ClusterName=equipoise\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\n\
             SlurmdUser=root\nAuthType=auth/munge\nAuthInfo=socket={folder}/munge/socket\n\
             CredType=cred/munge\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
             SlurmctldPort={controller}\nSlurmdPort={node}\nStateSaveLocation={folder}/state\n\
             SlurmdSpoolDir={folder}/spool\nSlurmctldPidFile={folder}/slurmctld.pid\n\
             SlurmdPidFile={folder}/slurmd.pid\nSlurmctldLogFile={folder}/slurmctld.log\n\
             SlurmdLogFile={folder}/slurmd.log\nReturnToService=2\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000\n\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
        ))
    }

    /// Starts a daemon whose words go to a file of the folder.
    fn daemon(&mut self, name: &str, command: &mut Command) -> Result<(), String> {
        let path = self.folder.join(format!("{name}.out"));
        let out = File::create(&path).map_err(failed(&path))?;
        let error = out.try_clone().map_err(failed(&path))?;
        let child = command.stdout(out).stderr(error).spawn();
        self.daemons.push(child.map_err(|error| format!("`{name}` did not start: {error}"))?);
        Ok(())
    }

    /// Runs a script of the examples as on a cluster, and waits for the file it promises.
    fn script(&self, name: &str, words: &[&str], place: &Place, file: &str) -> Result<(), String> {
        let script = std::path::absolute(format!("examples/{name}"));
        let script = script.map_err(|error| format!("{name}: {error}"))?;
        let mut command = Command::new(script);
        command.args(words).current_dir(&place.folder).env("PATH", &place.path);
        run(command.env("SLURM_CONF", self.folder.join("slurm.conf")))?;
        wait(file, || place.folder.join(file).exists())
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // The node first: it would report the others as lost.
        for daemon in self.daemons.iter_mut().rev() {
            // A runuser passes a termination on, which a kill would not let it do.
            let id = daemon.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &id]).status();
            let _ = daemon.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The folder that jobs run in, and the path on which they find the program.
struct Place {
    folder: PathBuf,
    path: String,
}

/// Runs both scripts and compares bytes.
pub fn test() -> Result<(), String> {
    if Command::new("slurmd").arg("-V").output().is_err() {
        tools::apt_install(&PACKAGES)?;
    }
    run(cargo().args(["build", "--bin", "equipoise"]))?;
    let built = std::path::absolute(tools::target_directory());
    let built = built.map_err(|error| format!("target directory: {error}"))?;
    let folder = built.join("slurm");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed(&folder))?;
    }
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    let program = built.join("debug/equipoise");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", built.join("debug").display());
    let place = Place { folder, path };
    let at = |name: &str| place.folder.join(name);
    fs::write(at("grid.toml"), GRID).map_err(failed(&at("grid.toml")))?;
    let alone = |words: &[&str]| {
        output(Command::new(&program).current_dir(&place.folder).arg("simulate").args(words))
    };
    alone(&[&SIMULATION[..], &["--json", "alone.json"]].concat())?;
    alone(&["--scenarios", "grid.toml", "--csv", "alone.csv"])?;
    let slurm = Slurm::start()?;
    slurm.script(
        "slurm.sh",
        &[&["submit", "array.json", "4"], &SIMULATION[..]].concat(),
        &place,
        "array.json",
    )?;
    slurm.script("grid.sh", &["slurm", "grid.toml", "array.csv", "3"], &place, "array.csv")?;
    for (array, alone) in [("array.json", "alone.json"), ("array.csv", "alone.csv")] {
        let read = |name: &str| fs::read(at(name)).map_err(failed(&at(name)));
        wait(array, || read(array).is_ok_and(|bytes| !bytes.is_empty()))?;
        // A merge writes its file in one go, and the join links it when it is complete.
        thread::sleep(Duration::from_secs(1));
        if read(array)? != read(alone)? {
            return Err(format!("{array} differs from {alone} in {}", place.folder.display()));
        }
        say(&format!("{array} has the bytes of a single process"));
    }
    println!("Slurm arrays give the bytes of a single process");
    Ok(())
}
