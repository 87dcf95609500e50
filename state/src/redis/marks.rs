//! Data about the state in Redis, its runs and its second copy, as plain data.

use serde::{Deserialize, Serialize};

use crate::run::Digest;

/// The last line of a run's journal that the store acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tip {
    /// The number of lines.
    pub(crate) lines: u64,
    /// The link of the last line.
    pub(crate) link: String,
}

/// A written copy: the serial of the copied state in Redis, and the digest of the bytes of the copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CopyMark {
    pub(crate) serial: u64,
    pub(crate) digest: Digest,
}

/// The data in Redis about the copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CopyMarks {
    /// The copy that was written last.
    pub(crate) written: Option<CopyMark>,
    /// A copy that is being written. If the process died during the write, the backend may have this copy.
    pub(crate) writing: Option<CopyMark>,
}

impl CopyMarks {
    /// The mark of a copy with this digest.
    pub(crate) fn of(&self, digest: Digest) -> Option<&CopyMark> {
        self.written.iter().chain(&self.writing).find(|mark| mark.digest == digest)
    }

    /// The serial of the state in the copy, or 0 without a copy.
    pub(crate) fn copied_serial(&self) -> u64 {
        self.written.as_ref().map_or(0, |mark| mark.serial)
    }

    /// Whether no copy has ever been written or read.
    pub(crate) fn is_empty(&self) -> bool {
        self.written.is_none() && self.writing.is_none()
    }
}

/// The state in Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    pub(crate) lineage: String,
    pub(crate) serial: u64,
    /// Whether the state has never been written.
    pub(crate) fresh: bool,
    /// Whether the state has a second copy.
    pub(crate) copied: bool,
    /// Whether lost records were replayed since the last comparison with the copy.
    pub(crate) replayed: bool,
}
