//! The custodian's key and the keys of roles that follow from it: 32 bytes as hex digits in a file
//! that only its owner can read. The file of a role's key has the role's name before the digits.
//!
//! A key is read from its file and goes to the device once, when it is provisioned; after that only
//! proofs of it travel. It stands on no command line and in no log, and has no `Debug` that would
//! show it.
//!
//! # Memory
//! When a [`KeyFile`] is dropped, its key is overwritten, and so is the stack on which calls with
//! the key have run: copies that the compiler or a hash made there are gone too. The text of the
//! file is overwritten as soon as it is read.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use zeroize::{Zeroize, Zeroizing};

use crate::failure::Failure;
use crate::line::client::Report;
use crate::os;
use crate::records::key_sheet;
use equipoise::device::auth::{CustodianKey, Presence, Role};
use equipoise::device::report::ReportMac;
use equipoise::kits::KitKey;
use equipoise::plan::Plan;
use equipoise::wire::{
    FileDigest, Hex, MAC_BYTES, NONCE_BYTES, Proof, Request, TrialId, TrialName, unhex,
};

/// Hex digits of a key.
const DIGITS: usize = MAC_BYTES * 2;
/// Most bytes of a key file: the digits, and white space around them.
const MOST_TEXT: usize = 256;
/// Most bytes of a sheet that are read.
const MOST_SHEET: u64 = 64 * 1024;
/// Bytes of the stack that are overwritten after use. Calls with a key take a few thousand.
const STACK: usize = 64 * 1024;

/// A key as its file holds it: the custodian's, or that of a role. It lies on the heap, where a
/// move copies nothing.
pub struct KeyFile(Box<[u8; MAC_BYTES]>, Option<Role>);

impl Drop for KeyFile {
    fn drop(&mut self) {
        self.0.zeroize();
        wipe_stack();
    }
}

/// Overwrites the stack below the caller.
#[inline(never)]
fn wipe_stack() {
    let mut below = [0_u8; STACK];
    below.zeroize();
    std::hint::black_box(&mut below);
}

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
        let mut key = Self(Box::new([0; MAC_BYTES]), None);
        getrandom::fill(&mut *key.0)
            .map_err(|error| Failure::Usage(format!("no randomness: {error}")))?;
        key.write(path)?;
        Ok(key)
    }

    /// Writes the key of a role, which follows from the custodian's, to a new file of mode 0600.
    ///
    /// # Errors
    /// This is the key of a role itself, the file exists, or cannot be written.
    pub fn hand_on(&self, role: Role, path: &Path) -> Result<Self, Failure> {
        let key = Self(Box::new(*self.role_key(role)?.bytes()), Some(role));
        key.write(path)?;
        Ok(key)
    }

    /// Brings a key back from its sheet ([`key_sheet`]), `-` for standard input, and writes it to a
    /// new file of mode 0600.
    ///
    /// # Errors
    /// Mistakes on the sheet, or a file cannot be read, exists or cannot be written.
    pub fn from_sheet(sheet: &Path, path: &Path) -> Result<Self, Failure> {
        let mut text = Zeroizing::new(String::with_capacity(MOST_SHEET as usize));
        let read = if sheet == Path::new("-") {
            io::stdin().take(MOST_SHEET).read_to_string(&mut text)
        } else {
            File::open(sheet).and_then(|file| file.take(MOST_SHEET).read_to_string(&mut text))
        };
        read.map_err(|error| Failure::file(sheet, &error))?;
        let bytes = key_sheet::read(&text)
            .map_err(|mistakes| Failure::Usage(format!("the sheet: {mistakes}")))?;
        let key = Self(Box::new(*bytes), None);
        key.write(path)?;
        Ok(key)
    }

    /// The sheet of this key, for paper.
    #[must_use]
    pub fn sheet(&self) -> Zeroizing<String> {
        key_sheet::sheet(&self.0)
    }

    fn write(&self, path: &Path) -> Result<(), Failure> {
        // With room for all of it: a text that grows leaves copies behind.
        let mut text = Zeroizing::new(String::with_capacity(MOST_TEXT));
        if let Some(role) = self.1 {
            text.extend([role.name(), " "]);
        }
        text.extend(self.0.iter().flat_map(hex_digits).chain(['\n']));
        let mut file = os::owner_only(OpenOptions::new().write(true).create_new(true))
            .open(path)
            .map_err(|error| Failure::file(path, &error))?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(|error| Failure::file(path, &error))
    }

    /// Reads the custodian's key.
    ///
    /// # Errors
    /// As [`Self::read_any`], or it is the key of a role.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let key = Self::read_any(path)?;
        match key.1 {
            None => Ok(key),
            Some(role) => Err(wrong_role(path, role, "the custodian's key")),
        }
    }

    /// Reads a key that has the right of this role: its own, or the custodian's.
    ///
    /// # Errors
    /// As [`Self::read_any`], or it is the key of another role.
    pub fn read_for(path: &Path, role: Role) -> Result<Self, Failure> {
        let key = Self::read_any(path)?;
        match key.1 {
            Some(other) if other != role => {
                let allowed = format!("the {} key or the custodian's", role.name());
                Err(wrong_role(path, other, &allowed))
            }
            _ => Ok(key),
        }
    }

    /// Reads a key of any role that nobody else can read. The open file is checked, not its path.
    ///
    /// # Errors
    /// No such file, others may read it, another user wrote it, or it holds no key.
    pub fn read_any(path: &Path) -> Result<Self, Failure> {
        let unusable = |error: io::Error| Failure::file(path, &error);
        let mut file = File::open(path).map_err(unusable)?;
        if let Some(owner) = os::of_another_user(&file).map_err(unusable)? {
            return Err(Failure::Usage(format!(
                "{}: the key file belongs to user {owner}, allowed are you and root: a key of \
                 another user is no secret",
                path.display()
            )));
        }
        if let Some(mode) = os::open_to_others(&file.metadata().map_err(unusable)?) {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{path}: the key file has mode {mode:03o}, allowed 600: chmod 600 {path}"
            )));
        }
        let mut text = Zeroizing::new([0; MOST_TEXT]);
        let length = fill(&mut file, &mut *text).map_err(unusable)?;
        let text = text.get(..length).unwrap_or_default().trim_ascii();
        let of_role = |role: &Role| text.starts_with(role.name().as_bytes());
        let role = Role::ALL.into_iter().find(of_role);
        let digits = role.map_or(text, |role| text.get(role.name().len()..).unwrap_or_default());
        let digits = digits.trim_ascii();
        let mut key = Self(Box::new([0; MAC_BYTES]), role);
        let (pairs, rest) = digits.as_chunks::<2>();
        let read = |(byte, pair): (&mut u8, &[u8; 2])| unhex(pair).map(|[read]| *byte = read);
        let is_key = pairs.len() == MAC_BYTES
            && rest.is_empty()
            && key.0.iter_mut().zip(pairs).all(|both| read(both).is_some());
        if is_key {
            return Ok(key);
        }
        Err(Failure::Usage(format!("{}: not a key of {DIGITS} hex digits", path.display())))
    }

    /// The bytes, for the one request that hands them over.
    #[must_use]
    pub fn bytes(&self) -> [u8; MAC_BYTES] {
        *self.0
    }

    fn key(&self) -> CustodianKey {
        CustodianKey::new(*self.0)
    }

    /// The role of the key; none of the custodian's.
    #[must_use]
    pub const fn role(&self) -> Option<Role> {
        self.1
    }

    /// The check value: it tells two keys apart and proves nothing.
    #[must_use]
    pub fn check_value(&self) -> String {
        Hex(&self.key().check_value()).to_string()
    }

    /// Role and check value of this key; of the custodian's also those of every role.
    #[must_use]
    pub fn check_values(&self) -> Vec<(&'static str, String)> {
        let own = (self.1.map_or("custodian", Role::name), self.check_value());
        let others = Role::ALL.into_iter().filter(|_| self.1.is_none());
        let others =
            others.map(|role| (role.name(), Hex(&self.key().role(role).check_value()).to_string()));
        std::iter::once(own).chain(others).collect()
    }

    /// The key of a role: this one, or from the custodian's.
    fn role_key(&self, role: Role) -> Result<CustodianKey, Failure> {
        match self.1 {
            None => Ok(self.key().role(role)),
            Some(own) if own == role => Ok(self.key()),
            Some(own) => Err(Failure::Usage(format!(
                "this is a {} key, and a {} key follows from the custodian's alone",
                own.name(),
                role.name()
            ))),
        }
    }

    /// The key of a role of which the file was read with [`Self::read_for`].
    fn key_of(&self, role: Role) -> CustodianKey {
        self.role_key(role).unwrap_or_else(|_| self.key())
    }

    /// The key of the kit numbers of a blinded trial.
    #[must_use]
    pub fn kit_key(&self, file: FileDigest, kits: u32) -> KitKey {
        self.key_of(Role::CodeBreak).kit_key(file, kits)
    }

    /// The seal of a list of kits.
    #[must_use]
    pub fn kit_seal(&self, file: FileDigest, list: &[u8]) -> [u8; MAC_BYTES] {
        self.key_of(Role::CodeBreak).kit_seal(file, list)
    }

    /// The answer to `PROVE` of a device that holds the key.
    #[must_use]
    pub fn presence(&self, nonce: &[u8; NONCE_BYTES], facts: &Presence) -> Proof {
        self.key_of(Role::Presence).presence(nonce, facts)
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
        let mut mac = ReportMac::new(&self.key_of(Role::Report), name, plan);
        report.rows.iter().for_each(|row| mac.row(row));
        usize::from(report.end.rows) == report.rows.len() && mac.finish(&report.end) == report.mac
    }
}

fn wrong_role(path: &Path, role: Role, allowed: &str) -> Failure {
    let path = path.display();
    Failure::Usage(format!("{path}: this is a {} key, allowed is {allowed}", role.name()))
}

/// The two hex digits of a byte.
fn hex_digits(byte: &u8) -> [char; 2] {
    [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or_default())
}

/// Reads a file into `bytes`, up to their end; how many there were.
fn fill(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
