//! The custodian's key, and the authorization of one custodian command at a time.
//!
//! **Key.** 32 bytes, stored on flash and never sent by the device. A device without one takes the
//! first that comes; another one only with a proof under the old one.
//!
//! **Proof.** `AUTH` draws a nonce of 16 random bytes. The next request, if it is a custodian
//! command (`KEY`, `PLAN`, `CLOSE`, `ERASE`, in most trials `REPORT`), carries the first half of an
//! HMAC-SHA256 under the key over the nonce, the trial's id and its own words. So a proof cannot be spent on another command, other
//! parameters or another trial. A nonce is void after any well-formed request, accepted or refused,
//! after [`NONCE_SECONDS`] and when the terminal hangs up; a line that is not a request (noise)
//! leaves it as it is. Proofs are compared in constant time.
//!
//! **Time.** The core has no clock. The board calls [`super::Device::tick`] once a second.
//!
//! **Lock-out.** Three wrong proofs without a right one between them lock custodian commands until
//! power-up. A command without proof, or without a nonce, is refused and not counted: it guesses
//! nothing.

use core::fmt;

use hmac::digest::CtOutput;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::kits::KitKey;
use crate::wire::{
    FileDigest, Lock, MAC_BYTES, NONCE_BYTES, NONCE_SECONDS, PROOF_BYTES, Proof, Refusal, TrialId,
};

/// Wrong proofs that lock custodian commands.
pub const WRONG_PROOFS: u8 = 3;

const REPORT_LABEL: &[u8] = b"equipoise report 3";
const KIT_LABEL: &[u8] = b"equipoise kits 1";
#[cfg(feature = "std")]
const KIT_LIST_LABEL: &[u8] = b"equipoise kit list 1";

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

    pub(super) const fn bytes(&self) -> &[u8; MAC_BYTES] {
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

    /// Whether this is that proof. Compared in constant time.
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

    /// The key under which reports are signed: checking a report does not take the custodian's
    /// rights.
    #[must_use]
    pub fn report_key(&self) -> Self {
        Self(self.over([REPORT_LABEL, &[], &[]]).into_bytes().into())
    }

    /// The key of the kit numbers of a blinded trial: other numbers for every trial file and every
    /// number of kits an arm. (It is made of 28 bytes; what a proof signs has 29 at least.)
    #[must_use]
    pub fn kit_key(&self, file: FileDigest, kits: u32) -> KitKey {
        KitKey::new(&self.over([KIT_LABEL, &file.0, &kits.to_le_bytes()]).into_bytes().into())
    }
}

#[cfg(feature = "std")]
impl CustodianKey {
    /// The seal of the list of a blinded trial's kits, under a key of its own.
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
    /// The nonce, if the request before was `AUTH` and it has not expired.
    pub nonce: Option<[u8; NONCE_BYTES]>,
}

/// Memory of the custodian's session, until power-off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    nonce: Option<[u8; NONCE_BYTES]>,
    /// How long the nonce is still good for.
    seconds: u8,
    /// Wrong proofs since the last right one.
    wrong: u8,
}

impl Session {
    /// As after power-up.
    pub(super) const NEW: Self = Self { nonce: None, seconds: 0, wrong: 0 };

    fn unlocked(&self) -> Result<(), Refusal<'static>> {
        if self.wrong >= WRONG_PROOFS { Err(Refusal::Locked(Lock::WrongProofs)) } else { Ok(()) }
    }

    /// Takes a fresh nonce as the challenge; `locked` after three wrong proofs.
    pub(super) fn challenge(&mut self, nonce: [u8; NONCE_BYTES]) -> Result<(), Refusal<'static>> {
        self.unlocked()?;
        (self.nonce, self.seconds) = (Some(nonce), NONCE_SECONDS);
        Ok(())
    }

    /// The nonce, if there is one; it is void from now on.
    pub(super) fn take_nonce(&mut self) -> Option<[u8; NONCE_BYTES]> {
        self.nonce.take()
    }

    /// Voids the nonce, if there is one.
    pub(super) const fn void_nonce(&mut self) {
        self.nonce = None;
    }

    /// A second has passed.
    pub(super) fn tick(&mut self) {
        self.seconds = self.seconds.saturating_sub(1);
        if self.seconds == 0 {
            self.nonce = None;
        }
    }

    /// Whether the evidence is right for a command to the device with this trial: `auth` if not,
    /// `locked` after three wrong proofs.
    pub(super) fn authorize(
        &mut self,
        key: &CustodianKey,
        trial: TrialId,
        evidence: &Evidence<'_>,
    ) -> Result<(), Refusal<'static>> {
        self.unlocked()?;
        let (Some(nonce), Some(proof)) = (&evidence.nonce, &evidence.proof) else {
            return Err(Refusal::Auth("send AUTH, then at once this line with its proof="));
        };
        if !key.proves(nonce, trial, evidence.text, proof) {
            self.wrong += 1;
            return Err(Refusal::Auth("wrong proof"));
        }
        self.wrong = 0;
        Ok(())
    }
}
