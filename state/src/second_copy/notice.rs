//! Notices for the user about a store that came back empty, or with fewer records than it had.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A store that had been in use and came back empty or without its last records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostStore {
    /// The store, without secrets.
    pub store: String,
    /// The backend with the copy, without secrets. Empty if there is no backend.
    pub copy: String,
    /// Whether the store was empty. Otherwise it had lost its last records.
    pub emptied: bool,
    /// The serial of the copy from which the state continued. `None` if it did not continue from a copy.
    pub serial: Option<u64>,
    /// The last time when the store was recorded as in use, in RFC 3339; empty if unknown.
    pub since: String,
    /// The runs that had not ended and are lost, as far as known. Their plans are lost, too.
    pub runs: Vec<String>,
    /// The runs whose lost records were replayed from the write-ahead file. These runs have lost nothing.
    pub replayed: Vec<String>,
    /// The runs that are frozen, because lost records could not be replayed.
    pub frozen: Vec<String>,
    /// The instances and outputs whose last results came from the write-ahead file of this machine.
    pub recovered: Vec<String>,
    /// The objects that a call with an unknown result may have changed.
    pub uncertain: Vec<String>,
    /// The instances whose results in a write-ahead file were not used, because the instances were changed again after
    /// these results, or because another run holds them.
    pub changed: Vec<String>,
    /// The new paths of write-ahead files that could not be used and were moved aside.
    pub unused: Vec<String>,
}

impl LostStore {
    /// Whether there is anything to report.
    pub(super) fn says_something(&self) -> bool {
        self.emptied
            || self.serial.is_some()
            || [&self.runs, &self.replayed, &self.frozen, &self.recovered, &self.uncertain, &self.changed, &self.unused]
                .into_iter()
                .any(|list| !list.is_empty())
    }

    /// Sorts the lists and removes duplicates.
    pub(super) fn ordered(mut self) -> LostStore {
        let LostStore { runs, replayed, frozen, recovered, uncertain, changed, .. } = &mut self;
        for list in [runs, replayed, frozen, recovered, uncertain, changed] {
            list.sort();
            list.dedup();
        }
        self
    }
}

/// The notices of this process, to be reported before it ends. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct CopyNotices(Arc<Mutex<Notices>>);

#[derive(Debug, Default)]
struct Notices {
    all: Vec<LostStore>,
    /// The number of notices that were already reported.
    reported: usize,
}

impl CopyNotices {
    fn get(&self) -> MutexGuard<'_, Notices> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a notice.
    pub fn add(&self, notice: LostStore) {
        self.get().all.push(notice);
    }

    /// The notices that an earlier call did not return, in the order in which they were added.
    pub fn unreported(&self) -> Vec<LostStore> {
        let mut notices = self.get();
        let new = notices.all.get(notices.reported..).unwrap_or_default().to_vec();
        notices.reported = notices.all.len();
        new
    }

    /// Takes all notices, in the order in which they were added.
    pub fn take(&self) -> Vec<LostStore> {
        std::mem::take(&mut *self.get()).all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_reported_once_and_counts_at_the_end() {
        let notices = CopyNotices::default();
        let one = LostStore { store: "one".to_owned(), ..LostStore::default() };
        notices.add(one.clone());
        assert_eq!(notices.unreported(), std::slice::from_ref(&one));
        assert_eq!(notices.unreported(), []);
        notices.add(LostStore::default());
        assert_eq!(notices.unreported(), [LostStore::default()]);
        assert_eq!(notices.take(), [one, LostStore::default()]);
        assert_eq!((notices.take(), notices.unreported()), (Vec::new(), Vec::new()));
    }
}
