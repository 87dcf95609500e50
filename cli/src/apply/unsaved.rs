//! A run whose newest state is not in its store.

use weft_state::StoreError;

/// The file with the newest state, as in OpenTofu.
pub const ERRORED: &str = "errored.tfstate";

/// A run whose store has failed before the newest state was written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaved<'a> {
    /// The run.
    pub run: &'a str,
    /// Why the store has failed.
    pub error: &'a StoreError,
    /// The location of the run's journal.
    pub journal: String,
    /// The instances whose results may be missing from the journal.
    pub unrecorded: Vec<String>,
    /// The reason why [`ERRORED`] could not be written.
    pub unwritten: Option<String>,
}
