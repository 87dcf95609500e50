//! Changes of the state outside of any run. Commands such as `state mv`, `state push` and `taint` make them.
//!
//! An edit is based on one snapshot. Either the whole edit takes effect, or nothing changes. An edit never changes a
//! subject that a run has claimed or that is in doubt, because the run would overwrite the change.

use crate::result::Writes;
use crate::step::HeldSubject;
use crate::subject::{Doubt, Subject};

/// A change of the state.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Edit {
    /// The serial of the snapshot that the edit is based on.
    pub seen: u64,
    /// The writes of the edit.
    pub writes: Writes,
    /// The lineage and serial to adopt, if another state replaces this one. Later changes increment this serial.
    pub identity: Option<(String, u64)>,
}

/// The answer to an edit. Any answer but `Edited` means that nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditAnswer {
    /// The edit is durable.
    Edited,
    /// The state has changed since the snapshot.
    Changed {
        /// The current serial.
        serial: u64,
    },
    /// Runs have claimed subjects of the edit, or subjects are in doubt.
    Refused {
        /// Subjects that a run has claimed.
        held: Vec<HeldSubject>,
        /// Subjects that are in doubt.
        doubts: Vec<Doubt>,
    },
}

impl Edit {
    /// Every subject that the edit writes.
    pub fn subjects(&self) -> Vec<Subject> {
        self.writes.subjects()
    }
}
