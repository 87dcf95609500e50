//! The digests of a state in a table beside its bucket.

/// The column with the digest of the state that is about to be written. Only Weft knows it.
pub const NEXT: &str = "WeftNext";

/// The digests of a state in a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredDigests {
    /// That of the state.
    pub digest: Option<String>,
    /// That of the state that was about to be written. It is there after a write that did not end, for example because
    /// the process was killed: the bucket then has the old or the new state, and both are right.
    pub next: Option<String>,
}

impl StoredDigests {
    /// Whether a state with this digest may be read.
    pub fn fit(&self, have: &str) -> bool {
        self.digest.as_deref().is_none_or(|digest| digest == have) || self.next.as_deref() == Some(have)
    }
}
