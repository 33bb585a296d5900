//! Numbers that a log accounts for.
//!
//! A device assigns numbers from 1 without a gap. A log accounts for a number if it has the
//! patient's code, or if a person said that the record is elsewhere: with another terminal, or in a
//! log that is lost.

use core::fmt;
use std::collections::BTreeSet;

/// Numbers of one log.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// All numbers up to this one.
    all_to: u32,
    /// Numbers beyond it.
    beyond: BTreeSet<u32>,
    /// Patients whose record is elsewhere.
    patients: u32,
    /// Outcomes and losses, beyond those of these patients, whose record is elsewhere.
    outcomes: u32,
}

impl Account {
    /// The log has the patient of this number.
    pub fn know(&mut self, number: u32) {
        if number > self.all_to {
            self.beyond.insert(number);
        }
        while self.beyond.remove(&(self.all_to + 1)) {
            self.all_to += 1;
        }
    }

    /// A person said that these records are elsewhere.
    pub fn confirm(&mut self, gap: &Gap, assigned: u32) {
        self.patients += gap.patients.iter().map(|(first, last)| last - first + 1).sum::<u32>();
        self.outcomes += gap.outcomes;
        self.all_to = self.all_to.max(assigned);
        self.beyond = self.beyond.split_off(&self.all_to.saturating_add(1));
        self.know(self.all_to);
    }

    /// The part of the device's numbers that the log does not account for: of so many assigned,
    /// with so many outcomes and losses, of which the log has `recorded`. `pending` was asked for.
    #[must_use]
    pub fn gap(&self, assigned: u32, resolved: u32, recorded: u32, pending: Option<u32>) -> Gap {
        let (mut patients, mut next) = (Vec::new(), self.all_to + 1);
        let ends = self.beyond.iter().copied().chain([assigned.saturating_add(1)]);
        let known: BTreeSet<u32> = pending.into_iter().chain(ends).collect();
        for number in known.range(next..).copied() {
            if number > next && next <= assigned {
                patients.push((next, (number - 1).min(assigned)));
            }
            next = number.saturating_add(1);
        }
        let outcomes = resolved.saturating_sub(recorded + self.patients + self.outcomes);
        Gap { patients, outcomes }
    }
}

/// Records that a log does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// First and last number of patients in a row.
    pub patients: Vec<(u32, u32)>,
    /// Outcomes and losses.
    pub outcomes: u32,
}

impl Gap {
    /// Whether nothing is missing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let several = !matches!(self.patients.as_slice(), [(first, last)] if first == last);
        if self.patients.is_empty() {
            let (outcomes, plural) = (self.outcomes, if self.outcomes == 1 { "" } else { "s" });
            return write!(
                f,
                "The device has {outcomes} outcome{plural} or loss{} that this log does not know: enter again what \
                 had no answer, restore the log, or confirm that the record is elsewhere",
                if self.outcomes == 1 { "" } else { "es" }
            );
        }
        write!(f, "This log does not know patient{} ", if several { "s" } else { "" })?;
        for (place, (first, last)) in self.patients.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first} to {last}")?,
            }
        }
        let whose = if several { "their records are" } else { "the record is" };
        write!(f, ": restore it, or confirm that {whose} elsewhere")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(account: &Account, assigned: u32) -> String {
        account.gap(assigned, 0, 0, None).to_string()
    }

    /// Every number that the log lacks is named, but not one that was asked for; a confirmation
    /// covers the numbers of its time and no later one.
    #[test]
    fn gaps_are_named_until_confirmed() {
        let mut account = Account::default();
        assert!(account.gap(0, 0, 0, None).is_empty());
        assert!(words(&account, 7).starts_with("This log does not know patients 1 to 7: restore"));
        [1, 2, 4, 8].into_iter().for_each(|number| account.know(number));
        assert!(words(&account, 9).contains("know patients 3, 5 to 7, 9: "));
        assert!(account.gap(2, 0, 0, None).is_empty());
        let gap = account.gap(9, 0, 0, Some(9));
        assert_eq!(gap.patients, [(3, 3), (5, 7)]);
        account.confirm(&gap, 9);
        assert!(account.gap(9, 0, 0, None).is_empty());
        assert!(
            words(&account, 10)
                .contains("know patient 10: restore it, or confirm that the record is")
        );
        account.know(10);
        assert!(account.gap(10, 0, 0, None).is_empty());
    }

    /// More outcomes on the device than the log can account for are named.
    #[test]
    fn unknown_outcomes_are_named() {
        let mut account = Account::default();
        account.know(1);
        account.know(2);
        assert!(account.gap(2, 1, 1, None).is_empty());
        let gap = account.gap(2, 2, 1, None);
        assert_eq!(gap.outcomes, 1);
        assert!(gap.to_string().starts_with("The device has 1 outcome or loss that this log"));
        account.confirm(&gap, 2);
        assert!(account.gap(2, 2, 1, None).is_empty());
        assert!(!account.gap(2, 3, 1, None).is_empty());
    }
}
