//! The form of a result in the journal: the part that its own shard reads, and the parts that readers in other shards
//! need.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_state::Opaque;

/// The content of [`weft_state::CommitRecord::result`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalledResult {
    pub(crate) local: Arc<[u8]>,
    pub(crate) exports: Vec<Arc<[u8]>>,
}

impl Default for JournalledResult {
    fn default() -> JournalledResult {
        JournalledResult { local: Arc::from([]), exports: Vec::new() }
    }
}

/// The form in the journal. The version comes first, so that a reader can recognize a later version of the form.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u8,
    local: Vec<u8>,
    exports: Vec<Vec<u8>>,
}

const VERSION: u8 = 1;

impl JournalledResult {
    /// The bytes for the journal; empty for a result without readers.
    pub(crate) fn encode(&self) -> Opaque {
        if self.local.is_empty() && self.exports.is_empty() {
            return Opaque::default();
        }
        let exports = self.exports.iter().map(|value| value.to_vec()).collect();
        let stored = Stored { version: VERSION, local: self.local.to_vec(), exports };
        Opaque(postcard::to_stdvec(&stored).unwrap_or_default())
    }

    /// The decoded result; `None` for bytes of another version, or for damaged bytes.
    pub(crate) fn decode(bytes: &Opaque) -> Option<JournalledResult> {
        if bytes.0.is_empty() {
            return Some(JournalledResult::default());
        }
        let stored: Stored = postcard::from_bytes(&bytes.0).ok()?;
        (stored.version == VERSION).then(|| JournalledResult {
            local: stored.local.into(),
            exports: stored.exports.into_iter().map(Arc::from).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_round_trip() {
        let result = JournalledResult { local: Arc::from([1, 2]), exports: vec![Arc::from([]), Arc::from([3])] };
        assert_eq!(JournalledResult::decode(&result.encode()), Some(result));
        assert!(JournalledResult::default().encode().0.is_empty());
        assert_eq!(JournalledResult::decode(&Opaque(vec![9, 9])), None);
    }
}
