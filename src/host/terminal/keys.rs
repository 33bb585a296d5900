//! The custodian's key: 32 random bytes as hex digits in a file that only its owner can read.
//!
//! A key is read from its file and goes to the device once, when it is provisioned; after that only
//! proofs of it travel. It stands on no command line and in no log, and has no `Debug` that would
//! show it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::path::Path;

use crate::prelude::*;

use super::client::Report;
use super::failure::Failure;
use crate::device::auth::CustodianKey;
use crate::device::report::ReportMac;
use crate::host::os;
use crate::kits::KitKey;
use crate::plan::Plan;
use crate::wire::{
    FileDigest, Hex, MAC_BYTES, NONCE_BYTES, Proof, Request, TrialId, TrialName, unhex,
};

/// The custodian's key, as its file holds it.
pub struct KeyFile([u8; MAC_BYTES]);

impl std::fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyFile(withheld)")
    }
}

impl KeyFile {
    /// Draws a key and writes it to a new file of mode 0600.
    ///
    /// # Errors
    /// The file exists, or cannot be written.
    pub fn generate(path: &Path) -> Result<Self, Failure> {
        let mut bytes = [0; MAC_BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|error| Failure::Usage(format!("no randomness: {error}")))?;
        let mut file = os::owner_only(OpenOptions::new().write(true).create_new(true))
            .open(path)
            .map_err(|error| Failure::file(path, &error))?;
        writeln!(file, "{}", Hex(&bytes))
            .and_then(|()| file.sync_all())
            .map_err(|error| Failure::file(path, &error))?;
        Ok(Self(bytes))
    }

    /// Reads a key that nobody else can read. The open file is checked, not its path.
    ///
    /// # Errors
    /// No such file, others may read it, another user wrote it, or it holds no key.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let unusable = |error: io::Error| Failure::file(path, &error);
        let mut file = File::open(path).map_err(unusable)?;
        if let Some(owner) = os::of_another_user(&file).map_err(unusable)? {
            return Err(Failure::Usage(format!(
                "{}: the key file belongs to user {owner}, allowed are you and root: a key of \
                 another user is no secret",
                path.display()
            )));
        }
        if let Some(mode) = os::open_to_others(&file).map_err(unusable)? {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{path}: the key file has mode {mode:03o}, allowed 600: chmod 600 {path}"
            )));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(unusable)?;
        let digits = MAC_BYTES * 2;
        unhex(text.trim().as_bytes()).map(Self).ok_or_else(|| {
            Failure::Usage(format!("{}: not a key of {digits} hex digits", path.display()))
        })
    }

    /// The bytes, for the one request that hands them over.
    #[must_use]
    pub const fn bytes(&self) -> [u8; MAC_BYTES] {
        self.0
    }

    const fn key(&self) -> CustodianKey {
        CustodianKey::new(self.0)
    }

    /// The key of the kit numbers of a blinded trial.
    #[must_use]
    pub fn kit_key(&self, file: FileDigest, kits: u32) -> KitKey {
        self.key().kit_key(file, kits)
    }

    /// The seal of a list of kits.
    #[must_use]
    pub fn kit_seal(&self, file: FileDigest, list: &[u8]) -> [u8; MAC_BYTES] {
        self.key().kit_seal(file, list)
    }

    /// Proves to the device with this trial that the holder of the key sends this request.
    #[must_use]
    pub fn proof(&self, nonce: &[u8; NONCE_BYTES], trial: TrialId, request: &Request) -> Proof {
        self.key().proof(nonce, trial, request.to_string().as_bytes())
    }

    /// Whether this is the report of a trial with this plan and trial file, as the device signed
    /// it.
    #[must_use]
    pub fn signed(&self, plan: &Plan, file: FileDigest, report: &Report) -> bool {
        let name = TrialName { id: report.trial, file };
        let mut mac = ReportMac::new(&self.key().report_key(), name, plan);
        report.rows.iter().for_each(|row| mac.row(row));
        u8::try_from(report.rows.len())
            .is_ok_and(|rows| mac.finish(rows, report.assigned, report.resolved) == report.mac)
    }
}
