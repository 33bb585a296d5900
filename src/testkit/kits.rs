//! Kits of a blinded trial: the number in a reply, and the order in which they must be given.

use crate::device::auth::{CustodianKey, Role};
use crate::kits::{KitKey, origin};
use crate::terms::Arm;
use crate::wire::FileDigest;

/// The kit of a reply to this patient.
#[track_caller]
pub fn kit(reply: &str, patient: u32) -> u32 {
    let kit = reply.strip_prefix(&format!("KIT {patient} "));
    kit.unwrap_or_else(|| panic!("{reply}")).parse().unwrap()
}

/// The kits of a trial as they are given, each the next one of its arm.
pub struct Given {
    key: KitKey,
    kits: u32,
    /// How many of each arm were given.
    pub counts: [u32; 2],
}

impl Given {
    /// Nothing yet, of a trial with so many kits an arm.
    pub fn nothing(key: [u8; 32], file: FileDigest, kits: u32) -> Self {
        Self {
            key: CustodianKey::new(key).role(Role::CodeBreak).kit_key(file, kits),
            kits,
            counts: [0, 0],
        }
    }

    /// The arm of the kit given next; none if it is not the next one of its arm.
    pub fn next(&mut self, kit: u32) -> Option<Arm> {
        let (arm, index) = origin(&self.key, self.kits, kit)?;
        let count = &mut self.counts[arm.index()];
        *count += 1;
        (index + 1 == *count).then_some(arm)
    }

    /// The same, where it must be.
    #[track_caller]
    pub fn arm(&mut self, kit: u32) -> Arm {
        self.next(kit).unwrap_or_else(|| panic!("kit {kit} is not the next one of its arm"))
    }
}
