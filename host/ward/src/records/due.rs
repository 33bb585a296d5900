//! When an outcome is due: a time after the enrolment, `due = "14 days"` in the trial file.

use core::fmt;
use core::str::FromStr;

use jiff::{SignedDuration, Timestamp};

const UNITS: [(&str, i64); 3] = [("hours", 1), ("days", 24), ("weeks", 7 * 24)];
/// Ten years.
const MAX_HOURS: i64 = 10 * 366 * 24;

/// The time between enrolment and outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    hours: i64,
}

impl FromStr for Due {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hours = text.split_once(' ').and_then(|(number, unit)| {
            let hours = UNITS
                .iter()
                .find(|(name, _)| unit == *name || name.strip_suffix('s') == Some(unit));
            number.parse::<i64>().ok()?.checked_mul(hours?.1)
        });
        let hours = hours.filter(|hours| (1..=MAX_HOURS).contains(hours));
        hours.map(|hours| Self { hours }).ok_or_else(|| {
            format!("outcome.due = {text:?}, allowed a number of hours, days or weeks up to ten years, as \"14 days\"")
        })
    }
}

impl Due {
    /// When the outcome of a patient enrolled then is due.
    #[must_use]
    pub fn after(self, since: Timestamp) -> Timestamp {
        since.checked_add(SignedDuration::from_hours(self.hours)).unwrap_or(Timestamp::MAX)
    }

    /// In days.
    #[must_use]
    pub fn days(self) -> f64 {
        self.hours as f64 / 24.0
    }
}

impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.hours % 24 == 0 {
            write!(f, "{} days", self.hours / 24)
        } else {
            write!(f, "{} hours", self.hours)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_is_after_enrolment() {
        let since: Timestamp = "2026-11-16T08:00:00Z".parse().unwrap();
        for (text, due) in [
            ("14 days", "2026-11-30T08:00:00Z"),
            ("1 week", "2026-11-23T08:00:00Z"),
            ("36 hours", "2026-11-17T20:00:00Z"),
        ] {
            assert_eq!(text.parse::<Due>().unwrap().after(since).to_string(), due);
        }
        for bad in ["14", "14days", "-1 days", "0 days", "2 fortnights", "99999999 weeks", ""] {
            assert!(bad.parse::<Due>().unwrap_err().contains("allowed a number of hours"), "{bad}");
        }
    }
}
