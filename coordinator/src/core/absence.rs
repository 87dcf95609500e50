//! Measures how long work has waited while no worker was connected.

use super::clock::Clock;
use crate::timing::NO_WORKER_NOTICE;

/// The time since which work waits and no worker is connected.
#[derive(Debug, Default)]
pub(super) struct Absence {
    since: Option<u64>,
    told: bool,
}

impl Absence {
    /// Ends the absence: a worker is connected, or no work waits for a worker.
    pub(super) fn ends(&mut self) {
        *self = Absence::default();
    }

    /// Records that work waits and no worker is connected. Returns whether to report the absence now.
    pub(super) fn is_news(&mut self, clock: &Clock) -> bool {
        let since = *self.since.get_or_insert(clock.now());
        clock.has_passed(since, NO_WORKER_NOTICE) && !std::mem::replace(&mut self.told, true)
    }
}
