//! A run whose newest state is not in its store.

use weft_sealing::SealError;
use weft_state::StoreError;

/// The file with the newest state, as in OpenTofu.
pub const ERRORED: &str = "errored.tfstate";

/// A run whose store has failed before the newest state was written to it.
#[derive(Debug)]
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
    pub unwritten: Option<Unwritten>,
}

/// Why the newest state is not in [`ERRORED`].
#[derive(Debug, thiserror::Error)]
pub enum Unwritten {
    /// The store is encrypted, but its settings were never read.
    #[error("its encryption settings are unknown")]
    NoSettings,
    /// The state cannot be encrypted.
    #[error("{0}")]
    Sealing(#[from] SealError),
    /// The file cannot be written.
    #[error("{0}")]
    File(#[from] std::io::Error),
    /// The store does not return the newest state.
    #[error("{0}")]
    Store(#[source] StoreError),
    /// The store does not respond.
    #[error("the store does not answer")]
    Silent,
}
