//! Times and spans in words, for people: to the minute, in UTC.

use jiff::{SignedDuration, Timestamp};

/// A moment, to the minute.
#[must_use]
pub fn moment(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
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
