//! The signature of SHA256SUMS, in minisign's format.
//!
//! The program `minisign` makes it, which asks for the password of the key; the crate
//! `minisign-verify`, which is written by itself, checks it. SECURITY.md says who holds the key.

use crate::tools::apt_install;
use crate::{run, say};
use minisign_verify::{PublicKey, Signature};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ending of a signature's file.
const ENDING: &str = ".minisig";

/// Sees to it that minisign is there.
pub fn minisign() -> Result<(), String> {
    if Command::new("minisign").arg("-v").output().is_ok() {
        return Ok(());
    }
    say("minisign is missing");
    apt_install(&["minisign"])
}

/// Signs a file with a secret key; the signature lies beside it and names the version.
pub fn sign(file: &Path, key: &Path, version: &str) -> Result<(), String> {
    minisign()?;
    let comment = format!("equipoise {version}");
    let mut command = Command::new("minisign");
    command.arg("-S").arg("-s").arg(key).arg("-m").arg(file);
    run(command.args(["-t", &comment, "-c", "verify with the key in SECURITY.md"]))
}

/// Checks the signature beside a file: public key, bytes and version.
pub fn verify(file: &Path, key: &Path, version: &str) -> Result<(), String> {
    let beside = signature_of(file);
    let said = |path: &Path, error: minisign_verify::Error| format!("{}: {error}", path.display());
    let signature = Signature::from_file(&beside).map_err(|error| said(&beside, error))?;
    let public = PublicKey::from_file(key).map_err(|error| said(key, error))?;
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    public.verify(&bytes, &signature, false).map_err(|error| said(file, error))?;
    let (comment, expected) = (signature.trusted_comment(), format!("equipoise {version}"));
    if comment == expected {
        Ok(())
    } else {
        Err(format!("{}: it is signed as `{comment}`, not as `{expected}`", beside.display()))
    }
}

/// The file that holds a file's signature.
pub fn signature_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ENDING);
    name.into()
}

/// A key for one test, without a password: the secret and the public file.
pub struct ThrowAwayKey {
    pub secret: PathBuf,
    pub public: PathBuf,
}

impl ThrowAwayKey {
    /// Makes one in a folder.
    pub fn make(folder: &Path) -> Result<Self, String> {
        minisign()?;
        let key = Self { secret: folder.join("test.key"), public: folder.join("test.pub") };
        let mut command = Command::new("minisign");
        command.args(["-G", "-W", "-s"]).arg(&key.secret).arg("-p").arg(&key.public);
        run(&mut command)?;
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A signed file verifies; another byte, version, signature or key is refused.
    #[test]
    fn a_changed_byte_breaks_the_signature() {
        let folder = std::env::temp_dir().join(format!("xtask-sign-{}", std::process::id()));
        fs::create_dir_all(folder.join("other")).unwrap();
        let key = ThrowAwayKey::make(&folder).unwrap();
        let other = ThrowAwayKey::make(&folder.join("other")).unwrap();
        let file = folder.join("SHA256SUMS");
        let text = "0123  equipoise\n";
        fs::write(&file, text).unwrap();
        sign(&file, &key.secret, "0.3.0").unwrap();
        assert_eq!(verify(&file, &key.public, "0.3.0"), Ok(()));
        assert!(verify(&file, &key.public, "0.2.0").unwrap_err().contains("equipoise 0.3.0"));
        assert!(verify(&file, &other.public, "0.3.0").is_err());
        for at in 0..text.len() {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] ^= 1;
            fs::write(&file, bytes).unwrap();
            assert!(verify(&file, &key.public, "0.3.0").is_err(), "byte {at}");
        }
        fs::write(&file, text).unwrap();
        let beside = signature_of(&file);
        let signature = fs::read_to_string(&beside).unwrap();
        fs::write(&beside, signature.replace("equipoise 0.3.0", "equipoise 0.4.0")).unwrap();
        assert!(verify(&file, &key.public, "0.4.0").is_err(), "the comment is signed too");
        fs::remove_file(&beside).unwrap();
        assert!(verify(&file, &key.public, "0.3.0").is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
