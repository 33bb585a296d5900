//! The whole state of a trial as bytes, for audit and tests: a device stores its parts one by one.
//!
//! All [`Part`]s behind a version byte and the plan, little-endian:
//!
//! ```text
//! version | plan 38 | progress 32 | history 78 | U x waiting 4 | M x (tally 73 | ledger 71)
//! ```
//!
//! Progress has 12 bytes in a trial that is not blinded; then come 20 zeros in this form.

use super::dirty::Dirty;
use super::parts::{BLINDED_PROGRESS_BYTES, HISTORY_BYTES, MAX_PART_BYTES, Part, STATE_VERSION};
use super::{Trial, WAITING_BYTES};
use crate::codec::Reader;
use crate::design::{LEDGER_BYTES, TALLY_BYTES};
use crate::plan::{PLAN_BYTES, Plan};

impl<const M: usize, const U: usize> Trial<M, U> {
    /// Bytes of the whole state.
    pub const STATE_BYTES: usize = 1
        + PLAN_BYTES
        + BLINDED_PROGRESS_BYTES
        + HISTORY_BYTES
        + U * WAITING_BYTES
        + M * (TALLY_BYTES + LEDGER_BYTES);

    /// Bytes of a part in the fixed byte form, the same under every plan.
    const fn slot_length(part: Part) -> usize {
        match part {
            Part::Progress => BLINDED_PROGRESS_BYTES,
            Part::History => HISTORY_BYTES,
            Part::Waiting(_) => WAITING_BYTES,
            Part::Tally(_) => TALLY_BYTES,
            Part::Ledger(_) => LEDGER_BYTES,
        }
    }

    /// All parts, in the order of the byte form.
    pub(super) fn parts() -> impl Iterator<Item = Part> {
        let waiting = (0..U).map(|slot| Part::Waiting(slot as u16));
        let features = (0..M).flat_map(|j| [Part::Tally(j as u8), Part::Ledger(j as u8)]);
        [Part::Progress, Part::History].into_iter().chain(waiting).chain(features)
    }

    /// Writes the whole state; `None` if `out` is shorter than [`Self::STATE_BYTES`].
    pub fn encode(&self, out: &mut [u8]) -> Option<usize> {
        let mut rest = out.get_mut(..Self::STATE_BYTES)?;
        let mut put = |bytes: &[u8]| {
            let (head, tail) = core::mem::take(&mut rest).split_at_mut_checked(bytes.len())?;
            head.copy_from_slice(bytes);
            rest = tail;
            Some(())
        };
        put(&[STATE_VERSION])?;
        put(&self.plan.encode())?;
        for part in Self::parts() {
            let mut bytes = [0; MAX_PART_BYTES];
            self.encode_part(part, &mut bytes);
            put(bytes.get(..Self::slot_length(part))?)?;
        }
        Some(Self::STATE_BYTES)
    }

    /// Reads the whole state back; `None` if the bytes are not one.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Reader(bytes.get(..Self::STATE_BYTES)?);
        if bytes.take()? != [STATE_VERSION] {
            return None;
        }
        let mut trial = Self::new(Plan::decode(&bytes.take()?)?).ok()?;
        for part in Self::parts() {
            let (head, tail) = bytes.0.split_at_checked(Self::slot_length(part))?;
            trial.decode_part(part, head)?;
            bytes.0 = tail;
        }
        trial.recount();
        trial.dirty = Dirty::NOTHING;
        Some(trial)
    }
}
