//! Answers made of public facts alone: who is there, where the trial stands, and a proof of both.

use core::ops::DerefMut;

use super::auth::{Presence, Role};
use super::generator::Seeded;
use super::health::Entropy;
use super::{Answer, Device, DeviceState, Trouble};
use crate::journal::{JournalFlash, MountError};
use crate::plan::DesignName;
use crate::terms::Phase;
use crate::wire::{
    FlashTrouble, Hello, ImageHash, NONCE_BYTES, NextLook, Refusal, Reply, Status, TrialId,
};

impl<S, F, E, G, const M: usize, const U: usize> Device<S, F, E, G>
where
    S: DerefMut<Target = DeviceState<M, U>>,
    F: JournalFlash,
    E: Entropy,
    G: Seeded,
{
    pub(super) fn hello(&self) -> Hello<'static> {
        let custody = self.state.custody();
        Hello {
            version: env!("CARGO_PKG_VERSION"),
            state: self.state(),
            stored: self.trouble.and_then(Trouble::stored),
            custody: self.trouble.is_none().then(|| (custody.key().is_ok(), custody.left())),
            trial: self.state.name().filter(|_| self.trouble.is_none()),
            restart: self.restart,
            image: self.image,
            flash: self.flash_trouble(),
        }
    }

    fn flash_trouble(&self) -> Option<FlashTrouble> {
        if !matches!(self.trouble, Some(Trouble::Fault)) {
            return None;
        }
        Some(match self.mount_error? {
            MountError::Flash(_) => FlashTrouble::Refused,
            MountError::Pages { .. } | MountError::Keys(_) => FlashTrouble::Size,
            MountError::Foreign | MountError::OtherFormat(_) => FlashTrouble::Unknown,
            MountError::Damaged | MountError::Part(_) => FlashTrouble::Damaged,
            MountError::Repair(_) => FlashTrouble::Repair,
        })
    }

    /// Proves that this device holds the key, of public facts.
    pub(super) fn prove(&self, nonce: &[u8; NONCE_BYTES]) -> Answer {
        if let Some(trouble) = self.trouble {
            return Err(trouble.refusal());
        }
        let key = self.state.custody().key()?.role(Role::Presence);
        let trial = self.state.trial();
        let presence = Presence {
            trial: self.state.name().map_or(TrialId::NONE, |name| name.id),
            image: self.image.unwrap_or(ImageHash([0; 8])),
            assigned: trial.map_or(0, |trial| trial.assigned()),
            resolved: trial.map_or(0, |trial| trial.resolved()),
        };
        Ok(Reply::Proof(key.presence(nonce, &presence)))
    }

    pub(super) fn status(&self) -> Answer {
        if let Some(trouble) = self.trouble {
            return Err(trouble.refusal());
        }
        let (trial, name) = self.state.trial().zip(self.state.name()).ok_or(Refusal::Blank)?;
        let plan = trial.plan();
        let (looks, next_look) = match (plan.design(), trial.phase(), trial.next_look()) {
            (DesignName::Conse | DesignName::DpConse, ..) => (0, NextLook::None),
            (_, Phase::Closed, _) => (trial.looks(), NextLook::None),
            (_, _, Some(count)) => (trial.looks(), NextLook::After(count)),
            (_, _, None) => (trial.looks(), NextLook::AtClose),
        };
        Ok(Reply::Status(Status {
            name,
            design: plan.design(),
            patients: plan.patients(),
            better: plan.better(),
            results: plan.results(),
            assigned: trial.assigned(),
            resolved: trial.resolved(),
            capacity: U as u32,
            phase: trial.phase(),
            looks: looks.into(),
            next_look,
            kits: plan.is_blinded().then(|| (plan.kits(), trial.replaced())),
        }))
    }
}
