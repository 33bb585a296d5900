//! Notes of what happens to t's outcome in a pair of trials.

use super::Passed;
use super::steps::Steps;
use equipoise::design::LedgerView;
use equipoise::trial::Trial;

impl<const M: usize, const U: usize> Steps<'_, M, U> {
    /// The ledger of t's feature in one of the trials.
    pub(super) fn ledger_of_t(&self, side: usize) -> Option<LedgerView> {
        self.desks[side].trial().ledger(self.pair.records[side].patient.feature)
    }

    /// How many coins the feature of t has had since t's.
    pub(super) fn coins_since(&self, side: usize) -> u32 {
        let coins = self.ledger_of_t(side).map_or(0, |ledger| ledger.coins.count_ones());
        coins - self.coins[side]
    }

    /// Which windows of t's feature are read, in both trials.
    pub(super) fn reads(&self, of: impl Fn(&Trial<M, U>, u8) -> [bool; 2]) -> [[bool; 2]; 2] {
        let feature = |side: usize| self.pair.records[side].patient.feature;
        [0, 1].map(|side: usize| of(self.desks[side].trial(), feature(side)))
    }

    /// Records that t's outcome was forgotten, if it was not read in the window of the coin before
    /// and the coin has changed: so many coins had followed t's before the look.
    pub(super) fn note_forgotten(&mut self, coins: [u32; 2]) {
        for (side, coins) in [0, 1].into_iter().zip(coins) {
            if self.unread[side] && coins % 2 == 1 && self.coins_since(side) > coins {
                self.unread[side] = false;
                self.passed.push(Passed::Forgotten);
            }
        }
    }

    /// Records what happens to t's outcome at a look that reads these windows of t's feature.
    pub(super) fn note_read(&mut self, reads: &[[bool; 2]; 2], count: u32, closing: bool) {
        let plan = &self.pair.plan;
        for side in [0, 1] {
            if !self.unread[side] {
                continue;
            }
            let late = self.coins_since(side) % 2 == 1;
            let is_read = reads[side][usize::from(late)];
            if !is_read {
                let settled = self.ledger_of_t(side).is_some_and(|ledger| ledger.settled);
                // A settled feature skips looks up to half, and reports only if it is small.
                self.passed.push(match reads[side] {
                    _ if closing => Passed::Forgotten,
                    [false, false] if settled && count <= plan.half() => Passed::SettledSkips,
                    [false, false] => Passed::LeftOut,
                    _ => continue,
                });
                continue;
            }
            if closing && count < plan.patients() {
                self.passed.push(Passed::EarlyClose);
            } else if !closing && count < plan.half() {
                self.passed.push(Passed::EarlyLook);
            } else if !closing && count != plan.half() {
                self.passed.push(Passed::Report);
            }
            if plan.scale() == 2 && self.pair.records[side].patient.outcome == Some(1) {
                self.passed.push(Passed::Spread);
            }
            if late {
                self.passed.push(Passed::BeforeRead);
            }
            if reads[side] == [true; 2] {
                self.passed.push(Passed::BothWindows);
            }
            self.unread[side] = false;
        }
    }
}
