//! Decides when the state is saved during a run. At most one save is in progress at a time. The end of a term waits for
//! a save in progress, so that this save does not overwrite the final state.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::medium::Saver;
use crate::error::StoreError;

/// The time between two saves of a state during a run: as often as OpenTofu writes states.
pub const SAVE_INTERVAL: Duration = Duration::from_secs(20);

/// The saves of one store.
pub(super) struct Saves {
    /// Saves the document.
    pub(super) saver: Arc<dyn Saver>,
    interval: Duration,
    pace: Mutex<Pace>,
    ended: Condvar,
}

/// The schedule of saves.
struct Pace {
    /// Whether a term is running.
    running: bool,
    /// Whether a save is in progress.
    busy: bool,
    /// When the term began, or the last save ended.
    last: Instant,
    /// Whether the last save failed.
    failing: bool,
    /// The first error of the current series of failures, until it is reported.
    trouble: Option<StoreError>,
}

/// A save in progress. The save ends when this value is dropped.
pub(super) struct SaveUnderWay(Arc<Saves>);

impl SaveUnderWay {
    /// The saves of the store, including this one.
    pub(super) fn saves(&self) -> &Saves {
        &self.0
    }
}

impl Drop for SaveUnderWay {
    fn drop(&mut self) {
        let mut pace = self.0.pace();
        pace.busy = false;
        pace.last = Instant::now();
        self.0.ended.notify_all();
    }
}

impl Saves {
    /// A schedule of saves with this interval.
    pub(super) fn new(saver: Arc<dyn Saver>, interval: Duration) -> Saves {
        let pace = Pace { running: false, busy: false, last: Instant::now(), failing: false, trouble: None };
        Saves { saver, interval, pace: Mutex::new(pace), ended: Condvar::new() }
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a term begins.
    pub(super) fn begin(&self) {
        let mut pace = self.pace();
        pace.running = true;
        pace.last = Instant::now();
    }

    /// Starts a save if one is due.
    pub(super) fn begin_if_due(self: &Arc<Saves>) -> Option<SaveUnderWay> {
        let mut pace = self.pace();
        if !pace.running || pace.busy || pace.last.elapsed() < self.interval {
            return None;
        }
        pace.busy = true;
        Some(SaveUnderWay(Arc::clone(self)))
    }

    /// Waits for the save in progress.
    pub(super) fn wait(&self) {
        drop(self.idle());
    }

    /// Records that the term ends: waits for the save in progress, and prevents further ones.
    pub(super) fn end(&self) {
        self.pace().running = false;
        self.wait();
    }

    fn idle(&self) -> MutexGuard<'_, Pace> {
        let mut pace = self.pace();
        while pace.busy {
            pace = self.ended.wait(pace).unwrap_or_else(PoisonError::into_inner);
        }
        pace
    }

    /// Records the result of the save in progress.
    pub(super) fn note(&self, saved: Result<(), StoreError>) {
        let mut pace = self.pace();
        let failed_before = std::mem::replace(&mut pace.failing, saved.is_err());
        if let Err(error) = saved
            && !failed_before
        {
            pace.trouble = Some(error);
        }
    }

    /// Takes the failure that was recorded since this function was last called, if there is one. If several saves fail
    /// in a row, only the first failure is recorded.
    pub(super) fn take_trouble(&self) -> Option<StoreError> {
        self.pace().trouble.take()
    }
}
