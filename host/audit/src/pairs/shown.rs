//! The part of replies that both trials of a pair must show alike.

use super::{Arms, Pair};
use crate::desk::{KEY, arm_of};
use equipoise::device::auth::{CustodianKey, Role};
use equipoise::kits::{KitKey, origin};
use equipoise::terms::Arm;
use equipoise::wire::FileDigest;

/// Replies without t's arm, and without the numbers of kits.
pub(super) struct Shown {
    /// Patient t.
    open: u32,
    arms: Arms,
    /// The key of the kits of a blinded trial, and how many there are of each arm.
    kits: Option<(KitKey, u32)>,
}

impl Shown {
    pub(super) fn new(pair: &Pair) -> Self {
        let kits = pair.plan.kits();
        let key = || CustodianKey::new(KEY).role(Role::CodeBreak).kit_key(FileDigest::NONE, kits);
        let kits = pair.plan.is_blinded().then(|| (key(), kits));
        Self { open: pair.open, arms: pair.arms, kits }
    }

    /// Whether kits are given instead of arms.
    pub(super) const fn is_blinded(&self) -> bool {
        self.kits.is_some()
    }

    /// The replies as they are compared; `is_t`: t is being assigned.
    pub(super) fn of(&self, replies: String, is_t: bool) -> String {
        if !is_t && !self.is_blinded() {
            return replies;
        }
        replies.split_inclusive('\n').map(|line| self.line(line)).collect()
    }

    fn line(&self, line: &str) -> String {
        let words: Vec<&str> = line.split(['*', ' ']).collect();
        match (words.first_chunk(), &self.kits) {
            (Some(["ARM" | "KIT", patient, _]), _) if *patient == self.open.to_string() => {
                format!("{}\n", words[..2].join(" "))
            }
            (Some(["KIT", patient, _]), _) if self.arms == Arms::Swapped => {
                format!("KIT {patient}\n")
            }
            (Some(["KIT", patient, kit]), Some((key, kits))) => {
                let place = kit.parse().ok().and_then(|kit| origin(key, *kits, kit));
                format!("KIT {patient} {:?}\n", place.map(|(arm, _)| arm.index()))
            }
            _ => line.to_owned(),
        }
    }

    /// The arm that a reply shows.
    pub(super) fn arm(&self, shown: &str) -> Option<Arm> {
        let kit = shown.strip_prefix("KIT ").map(|kit| Arm::from_bit(kit.contains("Some(1)")));
        kit.or_else(|| arm_of(shown))
    }
}
