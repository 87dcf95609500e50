//! A run whose newest state is not in its store.

use weft_state::StoreError;

/// The file with the newest state, as in OpenTofu.
pub const ERRORED: &str = "errored.tfstate";

/// A run whose store has failed before it had the newest state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaved<'a> {
    /// The run.
    pub run: &'a str,
    /// Why the store has failed.
    pub error: &'a StoreError,
    /// The location of its journal.
    pub journal: String,
    /// The instances with results that the journal may lack.
    pub unrecorded: Vec<String>,
    /// The reason why [`ERRORED`] could not be written.
    pub unwritten: Option<String>,
}
