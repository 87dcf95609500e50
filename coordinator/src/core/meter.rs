//! Counts of one term for metrics. No decision depends on them.

use std::time::Duration;

use super::Position;
use crate::figures::Counted;
use crate::table::TableIndex;

/// The counts since the last call of `take`.
#[derive(Debug)]
pub(super) struct Meter {
    /// When each operation became ready, in milliseconds.
    ready_since: Vec<u64>,
    counted: Counted,
}

impl Meter {
    /// The meter of a run with this number of operations.
    pub(super) fn new(operations: usize) -> Meter {
        Meter { ready_since: vec![0; operations], counted: Counted::default() }
    }

    /// Records that an operation can start.
    pub(super) fn ready(&mut self, position: Position, now: u64) {
        if let Some(since) = self.ready_since.get_mut(position.number()) {
            *since = now;
        }
    }

    /// Records that an operation was given to a worker.
    pub(super) fn dispatched(&mut self, position: Position, now: u64) {
        if let Some(since) = self.ready_since.get(position.number()) {
            self.counted.dispatch.add(Duration::from_millis(now.saturating_sub(*since)));
        }
    }

    /// Records that a provider refused a call temporarily.
    pub(super) fn refused(&mut self) {
        self.counted.refused_calls += 1;
    }

    /// Takes the counts.
    pub(super) fn take(&mut self) -> Counted {
        std::mem::take(&mut self.counted)
    }
}
