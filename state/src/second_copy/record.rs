//! The record beside the copy. It names the store whose state was copied, so that a process detects a store that comes
//! back empty or older than the copy.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::remote::Objects;
use crate::run::{Digest, Incarnation};

/// The name of the record among the objects beside the state.
pub(super) const NAME: &str = "front";

/// The store in front of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FrontRecord {
    /// The store, without secrets.
    pub(super) store: String,
    /// The identity of the store.
    pub(super) incarnation: String,
    /// When this record was written, in RFC 3339.
    pub(super) written: String,
    /// The runs that had not ended.
    pub(super) runs: Vec<String>,
    /// The digest of the copy that the store wrote last, in hex; empty before the first copy.
    #[serde(default)]
    pub(super) copy: String,
}

impl FrontRecord {
    /// A record with the current time.
    pub(super) fn new(store: String, incarnation: Incarnation, runs: Vec<String>, copy: Option<Digest>) -> FrontRecord {
        let written = jiff::Timestamp::now().to_string();
        let copy = copy.map(|digest| digest.hex()).unwrap_or_default();
        FrontRecord { store, incarnation: incarnation.to_string(), written, runs, copy }
    }

    /// The record, or `None` if there is none or it cannot be read.
    pub(super) async fn read(objects: &Arc<dyn Objects>) -> Result<Option<FrontRecord>, StoreError> {
        let found = objects.read(NAME).await?;
        Ok(found.and_then(|found| serde_json::from_slice(&found.content).ok()))
    }

    /// Writes the record.
    pub(super) async fn write(&self, objects: &Arc<dyn Objects>) -> Result<(), StoreError> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        objects.put(NAME, text.into()).await?;
        Ok(())
    }
}
