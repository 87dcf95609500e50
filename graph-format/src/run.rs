//! Names that all parts of a run use: for the run, its operations, attempts and workers.

use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// The identifier of a run, used in file names and keys. Cheap to clone. Weft generates `run-` and sixteen hexadecimal
/// digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunId(SmolStr);

/// The maximum length of a run id. A run id becomes the name of a directory.
const RUN_ID_LENGTH: usize = 64;

impl RunId {
    /// The identifier made of eight bytes, which should be random.
    pub fn from_bytes(bytes: [u8; 8]) -> RunId {
        RunId(smol_str::format_smolstr!("run-{}", data_encoding::HEXLOWER.encode(&bytes)))
    }

    /// Parses a run id: letters, digits, `-` and `_`, at most 64, beginning with a letter or digit.
    pub fn parse(text: &str) -> Option<RunId> {
        let fits = !text.is_empty() && text.len() <= RUN_ID_LENGTH;
        let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        let start = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        (fits && plain && start).then(|| RunId(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The index of an operation in the plan's operation table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OpIndex(pub u32);

impl fmt::Display for OpIndex {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

/// The number of an attempt: one execution of an operation. The first is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct Attempt(pub u32);

/// The name of a worker, as it announced itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct WorkerId(pub String);

impl fmt::Display for WorkerId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
