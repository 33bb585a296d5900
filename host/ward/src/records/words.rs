//! Times and spans, in UTC: to the minute for people, to the millisecond for the log and for other
//! programs.

use jiff::{SignedDuration, Timestamp};

/// A moment, to the minute.
#[must_use]
pub fn moment(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// The moment that a line of the log has, to the minute.
#[must_use]
pub fn told(time: &str) -> String {
    time.parse().map_or_else(|_| time.to_owned(), moment)
}

/// A moment as the log and lists for other programs have it, always with three decimals.
#[must_use]
pub fn stamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// A span in its two largest units.
#[must_use]
pub fn span(span: SignedDuration) -> String {
    let minutes = span.as_secs().max(0) / 60;
    let (days, hours, minutes) = (minutes / (24 * 60), minutes / 60 % 24, minutes % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes} min"),
        (0, _) => format!("{hours} h {minutes:02}"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every time of a list has the same precision, whatever the moment.
    #[test]
    fn times_have_one_precision() {
        for (time, stamped) in [
            ("2026-11-16T08:30:12Z", "2026-11-16T08:30:12.000Z"),
            ("2026-11-16T08:30:12.5Z", "2026-11-16T08:30:12.500Z"),
            ("2026-11-16T08:30:12.123456Z", "2026-11-16T08:30:12.123Z"),
        ] {
            assert_eq!(stamp(time.parse().unwrap()), stamped);
            assert_eq!(told(time), "2026-11-16 08:30 UTC");
        }
        assert_eq!(told("unknown"), "unknown");
    }
}
