//! Durations of sessions.

use weft_graph_format::go_duration::go_duration;

/// The whole seconds of a duration in the form of Go, such as `1h30m` or `1.5h`, unless it is negative.
pub(super) fn seconds(text: &str) -> Option<u64> {
    go_duration(text).map(|duration| duration.as_secs())
}
