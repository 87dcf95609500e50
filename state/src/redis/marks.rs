//! What a store in Redis says about its state, its runs and the second copy of its state. Plain data.

use serde::{Deserialize, Serialize};

use crate::run::Digest;

/// The last line of a run's journal that the store acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tip {
    /// The number of lines.
    pub(crate) lines: u64,
    /// The link of the last one.
    pub(crate) link: String,
}

/// A copy as it was written: the serial of the state in Redis, and the digest of the bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CopyMark {
    pub(crate) serial: u64,
    pub(crate) digest: Digest,
}

/// What Redis knows of the copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CopyMarks {
    /// The copy that was written last.
    pub(crate) written: Option<CopyMark>,
    /// A copy that is being written. If the process died meanwhile, the backend may have it.
    pub(crate) writing: Option<CopyMark>,
}

impl CopyMarks {
    /// The mark of a copy with this digest.
    pub(crate) fn of(&self, digest: Digest) -> Option<&CopyMark> {
        self.written.iter().chain(&self.writing).find(|mark| mark.digest == digest)
    }

    /// The serial of the state that the copy has; 0 without one.
    pub(crate) fn copied_serial(&self) -> u64 {
        self.written.as_ref().map_or(0, |mark| mark.serial)
    }

    /// Whether no copy was ever written or read.
    pub(crate) fn is_empty(&self) -> bool {
        self.written.is_none() && self.writing.is_none()
    }
}

/// The state in Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    pub(crate) lineage: String,
    pub(crate) serial: u64,
    /// Whether it was never written.
    pub(crate) fresh: bool,
    /// Whether it has a second copy.
    pub(crate) copied: bool,
    /// Whether lost records were replayed since the copy was compared last.
    pub(crate) replayed: bool,
}
