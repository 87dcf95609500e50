//! What one term counts of itself for metrics. No decision depends on it.

use std::time::Duration;

use super::Position;
use crate::figures::Counted;
use crate::table::TableIndex;

/// The counts since they were taken last.
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

    /// An operation can start.
    pub(super) fn ready(&mut self, position: Position, now: u64) {
        if let Some(since) = self.ready_since.get_mut(position.number()) {
            *since = now;
        }
    }

    /// An operation was given to a worker.
    pub(super) fn dispatched(&mut self, position: Position, now: u64) {
        if let Some(since) = self.ready_since.get(position.number()) {
            self.counted.dispatch.add(Duration::from_millis(now.saturating_sub(*since)));
        }
    }

    /// A provider refused a call for now.
    pub(super) fn refused(&mut self) {
        self.counted.refused_calls += 1;
    }

    /// Takes the counts.
    pub(super) fn take(&mut self) -> Counted {
        std::mem::take(&mut self.counted)
    }
}
