//! The digests of a state in a table beside its bucket.

/// The column with the digest of the state that is about to be written. Only Weft uses it.
pub const NEXT: &str = "WeftNext";

/// The digests of a state in a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredDigests {
    /// The digest of the state.
    pub digest: Option<String>,
    /// The digest of the state that is being written. This digest exists during a write, and after a write that did not
    /// finish, for example because the process was killed. In that case, the bucket has the old or the new state, and
    /// either state is valid.
    pub next: Option<String>,
}

impl StoredDigests {
    /// Whether a state with this digest is valid.
    pub fn fit(&self, have: &str) -> bool {
        self.digest.as_deref().is_none_or(|digest| digest == have) || self.next.as_deref() == Some(have)
    }
}
