//! Durations of role sessions.

use weft_graph_format::go_duration::go_duration;

/// Parses a duration in Go's form, such as `1h30m` or `1.5h`, and truncates it to seconds. `None` if it is negative or
/// not valid.
pub(super) fn seconds(text: &str) -> Option<u64> {
    go_duration(text).map(|duration| duration.as_secs())
}
