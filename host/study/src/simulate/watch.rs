//! Observation of a run: patients of each arm, and the first drop.

use super::harness::Player;
use equipoise::terms::MAX_FEATURES;

/// Observation of a run.
pub(super) struct Watch {
    pub patients: [[u32; 2]; MAX_FEATURES as usize],
    looks: u8,
    pub first_drop: Option<u32>,
}

impl Default for Watch {
    fn default() -> Self {
        Self { patients: [[0; 2]; MAX_FEATURES as usize], looks: 0, first_drop: None }
    }
}

impl Watch {
    /// Looks for the first drop, after `assigned` patients and something that may have dropped an
    /// arm of `feature`.
    // With `Law::draw` and `Features::draw`: 10 % fewer instructions of `simulate --delay`.
    #[inline(always)]
    pub fn dropped<P: Player>(&mut self, assigned: u32, feature: u8, player: &P) {
        if self.first_drop.is_some() {
            return;
        }
        if player.dropped(feature).is_some() {
            self.first_drop = Some(assigned);
        } else if player.looks() != self.looks {
            self.looks = player.looks();
            let any = (0..MAX_FEATURES).any(|feature| player.dropped(feature).is_some());
            self.first_drop = any.then_some(assigned);
        }
    }
}
