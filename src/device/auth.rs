//! The custodian's key, and the authorization of one custodian command at a time.
//!
//! **Key.** 32 bytes, stored on flash and never sent by the device. A device without one takes the
//! first that comes; another one only with a proof under the old one.
//!
//! **Proof.** `AUTH` draws a nonce of 16 random bytes. The next request, if it is a custodian
//! command (`KEY`, `PLAN`, `CLOSE`, `ERASE`, in most trials `REPORT`), carries the first half of an
//! HMAC-SHA256 under the key over the nonce, the trial's id and its own words. So a proof cannot be
//! spent on another command, other parameters or another trial. A nonce is void after any
//! well-formed request, accepted or refused, after [`NONCE_SECONDS`] and when the terminal hangs
//! up; a line that is not a request (noise) leaves it as it is. Proofs are compared in constant
//! time.
//!
//! **Time.** The core has no clock. The board calls [`super::Device::tick`] once a second.
//!
//! **Lock-out.** Three wrong proofs without a right one between them lock custodian commands until
//! power-up. A command without proof, or without a nonce, is refused and not counted: it guesses
//! nothing. Nor is a proof counted that is right for the nonce before the last, if nothing but
//! `AUTH` came since: a terminal whose first `AUTH` seemed lost took its late answer for that to
//! the second.
//!
//! **Roles.** The custodian's key gives every right. From it follow keys that give one each
//! ([`Role`]); the device makes them when it needs them and stores none.

use core::fmt;

use hmac::digest::CtOutput;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::codec::Writer;
use crate::kits::KitKey;
use crate::wire::{
    FileDigest, ImageHash, Lock, MAC_BYTES, NONCE_BYTES, NONCE_SECONDS, PROOF_BYTES, Proof,
    Refusal, TrialId,
};

/// Wrong proofs that lock custodian commands.
pub const WRONG_PROOFS: u8 = 3;

/// A right that the custodian can hand on, with a key of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// To ask for reports and to check them.
    Report,
    /// To see that a device holds the key.
    Presence,
    /// To know which kit is of which arm.
    CodeBreak,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::Report, Self::Presence, Self::CodeBreak];

    /// Its name in commands and key files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Presence => "presence",
            Self::CodeBreak => "code-break",
        }
    }

    const fn label(self) -> &'static [u8] {
        match self {
            Self::Report => b"equipoise report 3",
            Self::Presence => b"equipoise presence 3",
            Self::CodeBreak => b"equipoise code-break 3",
        }
    }
}

/// The public facts that the answer to `PROVE` signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presence {
    /// The trial; [`TrialId::NONE`] on a blank device.
    pub trial: TrialId,
    /// The firmware image; zeros where there is none.
    pub image: ImageHash,
    /// Patients assigned.
    pub assigned: u32,
    /// Patients resolved.
    pub resolved: u32,
}

const KIT_LABEL: &[u8] = b"equipoise kits 1";
#[cfg(feature = "std")]
const KIT_LIST_LABEL: &[u8] = b"equipoise kit list 1";
#[cfg(feature = "std")]
const CHECK_LABEL: &[u8] = b"equipoise check 3";

/// The custodian's key. It cannot be printed.
#[derive(Clone)]
pub struct CustodianKey([u8; MAC_BYTES]);

#[cfg(feature = "wipe")]
impl Drop for CustodianKey {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

impl fmt::Debug for CustodianKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustodianKey")
    }
}

impl CustodianKey {
    /// A key of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; MAC_BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes, for a key file.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; MAC_BYTES] {
        &self.0
    }

    /// HMAC-SHA256 under this key.
    pub(super) fn mac(&self) -> Hmac<Sha256> {
        // HMAC takes a key of any length; 32 bytes are one block's worth at most.
        Hmac::new(&{
            let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
            block.iter_mut().zip(self.0).for_each(|(to, from)| *to = from);
            block
        })
    }

    /// HMAC-SHA256 under this key over these parts, one after another. (Not inlined: four copies of
    /// HMAC would take 2 KB of the v1's image.)
    #[inline(never)]
    fn over(&self, parts: [&[u8]; 3]) -> CtOutput<Hmac<Sha256>> {
        let mut mac = self.mac();
        parts.into_iter().for_each(|part| mac.update(part));
        mac.finalize()
    }

    /// The proof for a request of these words to the device with this trial ([`TrialId::NONE`] if
    /// it is blank).
    #[must_use]
    pub fn proof(&self, nonce: &[u8; NONCE_BYTES], trial: TrialId, text: &[u8]) -> Proof {
        let mac = self.over([nonce, &trial.0, text]).into_bytes();
        let mut proof = [0; PROOF_BYTES];
        proof.iter_mut().zip(mac).for_each(|(to, from)| *to = from);
        proof
    }

    /// Whether this is that proof. Compared in constant time. (Not inlined, like all that makes a
    /// MAC: the stack of the v1 has room for one at a time.)
    #[inline(never)]
    fn proves(
        &self,
        nonce: &[u8; NONCE_BYTES],
        trial: TrialId,
        text: &[u8],
        proof: &Proof,
    ) -> bool {
        let mac = self.over([nonce, &trial.0, text]);
        // The rest of the MAC, which a proof leaves out, is compared with itself.
        let mut claimed = mac.clone().into_bytes();
        claimed.iter_mut().zip(proof).for_each(|(to, from)| *to = *from);
        mac == CtOutput::new(claimed)
    }

    /// The key of a role, from the custodian's: its holder has no other right.
    #[must_use]
    #[inline(never)]
    pub fn role(&self, role: Role) -> Self {
        Self(self.over([role.label(), &[], &[]]).into_bytes().into())
    }

    /// The answer to `PROVE`, under the presence key.
    #[must_use]
    pub fn presence(&self, nonce: &[u8; NONCE_BYTES], facts: &Presence) -> Proof {
        let mut text = [0; 16];
        let mut out = Writer(&mut text);
        out.put(&facts.image.0);
        out.put(&facts.assigned.to_le_bytes());
        out.put(&facts.resolved.to_le_bytes());
        self.proof(nonce, facts.trial, &text)
    }

    /// The key of the kit numbers of a blinded trial, from the code-break key: other numbers for
    /// every trial file and every number of kits an arm.
    #[must_use]
    pub fn kit_key(&self, file: FileDigest, kits: u32) -> KitKey {
        KitKey::new(&self.over([KIT_LABEL, &file.0, &kits.to_le_bytes()]).into_bytes().into())
    }
}

#[cfg(feature = "std")]
impl CustodianKey {
    /// The check value of a key of any role: it tells two keys apart and proves nothing.
    #[must_use]
    pub fn check_value(&self) -> [u8; 4] {
        let [a, b, c, d, ..]: [u8; MAC_BYTES] =
            self.over([CHECK_LABEL, &[], &[]]).into_bytes().into();
        [a, b, c, d]
    }

    /// The seal of the list of a blinded trial's kits, from the code-break key.
    #[must_use]
    pub fn kit_seal(&self, file: FileDigest, list: &[u8]) -> [u8; MAC_BYTES] {
        let key = Self(self.over([KIT_LIST_LABEL, &file.0, &[]]).into_bytes().into());
        key.over([list, &[], &[]]).into_bytes().into()
    }
}

/// Evidence that a request is the custodian's.
pub(super) struct Evidence<'a> {
    /// The request, without proof and checksum.
    pub text: &'a [u8],
    /// The proof, if it has one.
    pub proof: Option<Proof>,
    /// The nonces that have not expired, if the request before was `AUTH`.
    pub nonces: Nonces,
}

/// The nonce of the last `AUTH`, and that of the `AUTH` right before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nonces {
    last: Option<[u8; NONCE_BYTES]>,
    before: Option<[u8; NONCE_BYTES]>,
}

impl Nonces {
    pub const NONE: Self = Self { last: None, before: None };
}

/// Memory of the custodian's session, until power-off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    nonces: Nonces,
    /// How long the nonces are still good for.
    seconds: u8,
    /// Wrong proofs since the last right one.
    wrong: u8,
}

impl Session {
    /// As after power-up.
    pub(super) const NEW: Self = Self { nonces: Nonces::NONE, seconds: 0, wrong: 0 };

    fn unlocked(&self) -> Result<(), Refusal<'static>> {
        if self.wrong >= WRONG_PROOFS { Err(Refusal::Locked(Lock::WrongProofs)) } else { Ok(()) }
    }

    /// Takes a fresh nonce as the challenge; `locked` after three wrong proofs.
    pub(super) fn challenge(&mut self, nonce: [u8; NONCE_BYTES]) -> Result<(), Refusal<'static>> {
        self.unlocked()?;
        self.nonces = Nonces { last: Some(nonce), before: self.nonces.last };
        self.seconds = NONCE_SECONDS;
        Ok(())
    }

    /// The nonces, if there are any; they are void from now on.
    pub(super) const fn take_nonces(&mut self) -> Nonces {
        let nonces = self.nonces;
        self.void_nonce();
        nonces
    }

    /// Voids the nonces, if there are any.
    pub(super) const fn void_nonce(&mut self) {
        (self.nonces.last, self.nonces.before) = (None, None);
    }

    /// A second has passed.
    pub(super) fn tick(&mut self) {
        self.seconds = self.seconds.saturating_sub(1);
        if self.seconds == 0 {
            self.void_nonce();
        }
    }

    /// Whether the evidence is right for a command to the device with this trial, which a holder of
    /// this role's key may give too: `auth` if not,
    /// `locked` after three wrong proofs.
    #[inline(never)]
    pub(super) fn authorize(
        &mut self,
        key: &CustodianKey,
        role: Option<Role>,
        trial: TrialId,
        evidence: &Evidence<'_>,
    ) -> Result<(), Refusal<'static>> {
        self.unlocked()?;
        let (Some(nonce), Some(proof)) = (&evidence.nonces.last, &evidence.proof) else {
            return Err(Refusal::Auth("send AUTH, then at once this line with its proof="));
        };
        let proves = |key: &CustodianKey, nonce| key.proves(nonce, trial, evidence.text, proof);
        let of_role = |nonce| role.is_some_and(|role| proves(&key.role(role), nonce));
        if !proves(key, nonce) && !of_role(nonce) {
            if let Some(before) = &evidence.nonces.before
                && (proves(key, before) || of_role(before))
            {
                return Err(Refusal::Auth(
                    "the proof is for the nonce before the last, send AUTH again",
                ));
            }
            self.wrong += 1;
            return Err(Refusal::Auth("wrong proof"));
        }
        self.wrong = 0;
        Ok(())
    }
}
