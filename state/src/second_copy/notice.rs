//! What the user must know after a store came back empty.

use std::sync::{Arc, Mutex, PoisonError};

/// A store that had been in use and came back empty. Its state went on from the second copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostStore {
    /// The store, without secrets.
    pub store: String,
    /// The backend with the copy, without secrets.
    pub copy: String,
    /// The serial of the copy, or `None` if there was none.
    pub serial: Option<u64>,
    /// When it was recorded last that the store was in use, in RFC 3339; empty if nobody knows.
    pub since: String,
    /// The runs that had not ended, as far as it is known. Their plans are lost.
    pub runs: Vec<String>,
    /// The instances and outputs whose last results came from the write-ahead file of this machine.
    pub recovered: Vec<String>,
    /// The objects that a call may have changed, while its result is unknown.
    pub uncertain: Vec<String>,
    /// Write-ahead files that belong to another copy. They were moved here.
    pub unused: Vec<String>,
}

/// The notices of this process, to be reported before it ends. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct CopyNotices(Arc<Mutex<Vec<LostStore>>>);

impl CopyNotices {
    /// Adds a notice.
    pub fn add(&self, notice: LostStore) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
    }

    /// Takes all of them, in the order in which they were added.
    pub fn take(&self) -> Vec<LostStore> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
