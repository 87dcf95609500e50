//! Times of runs as text.

use super::counted::counted;
use super::plan::duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A time in milliseconds since 1970, as `2026-11-26 14:02:11 UTC`. Empty if the time is out of range.
pub fn moment(unix_ms: u64) -> String {
    formatted(unix_ms, "%Y-%m-%d %H:%M:%S UTC")
}

/// Like [`moment`], without seconds and time zone, for tables.
pub fn minute(unix_ms: u64) -> String {
    formatted(unix_ms, "%Y-%m-%d %H:%M")
}

fn formatted(unix_ms: u64, format: &str) -> String {
    let time = i64::try_from(unix_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map(|time| time.strftime(format).to_string()).unwrap_or_default()
}

/// The time since a moment: `3 minutes ago`. The clocks of two machines may differ, so a time in the future counts as
/// `just now`.
pub fn ago(unix_ms: u64, now_ms: u64) -> String {
    let seconds = now_ms.saturating_sub(unix_ms) / 1000;
    let (count, unit) = match seconds {
        0..MINUTE => return "just now".to_owned(),
        MINUTE..HOUR => (seconds / MINUTE, "minute"),
        HOUR..DAY => (seconds / HOUR, "hour"),
        _ => (seconds / DAY, "day"),
    };
    format!("{} ago", counted(count, unit))
}

/// The time between two moments, in the format of progress lines.
pub fn between(from_ms: u64, to_ms: u64) -> String {
    duration(to_ms.saturating_sub(from_ms) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_and_short() {
        let then = 1_764_165_731_000;
        assert_eq!(moment(then), "2025-11-26 14:02:11 UTC");
        assert_eq!(minute(then), "2025-11-26 14:02");
        assert_eq!(moment(u64::MAX), "");
        assert_eq!(ago(then, then - 5), "just now");
        assert_eq!(ago(then, then + 61_000), "1 minute ago");
        assert_eq!(ago(then, then + 7_200_000), "2 hours ago");
        assert_eq!(ago(then, then + 3 * 86_400_000), "3 days ago");
        assert_eq!(between(then, then + 187_000), "3m7s");
    }
}
