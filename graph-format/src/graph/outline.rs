//! The part of each operation that a coordinator needs for scheduling.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use smol_str::SmolStr;

use super::{Action, Opcode, OperationId, Waits};
use crate::address::{AddressError, ResourceInstance};
use crate::stored::is_provider_memory;

/// The prefix of claims on outputs.
const OUTPUT: &str = "output.";

/// Something that a run changes or reads, with its revision when the plan was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The instance or output.
    pub subject: ClaimedSubject,
    /// The revision in the store; 0 for an instance that did not exist.
    pub revision: u64,
    /// Whether the run changes the subject.
    pub exclusive: bool,
}

/// The subject of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimedSubject {
    /// A resource instance.
    Instance(ResourceInstance),
    /// A root output, by name.
    Output(SmolStr),
}

impl fmt::Display for ClaimedSubject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimedSubject::Instance(address) => address.fmt(out),
            ClaimedSubject::Output(name) => write!(out, "{OUTPUT}{name}"),
        }
    }
}

impl FromStr for ClaimedSubject {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<ClaimedSubject, AddressError> {
        match text.strip_prefix(OUTPUT) {
            Some(name) if !name.contains('.') || is_provider_memory(name) => Ok(ClaimedSubject::Output(name.into())),
            _ => text.parse().map(ClaimedSubject::Instance),
        }
    }
}

/// Serialized as its text.
impl Serialize for ClaimedSubject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ClaimedSubject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ClaimedSubject, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// The properties of a tracked operation that a coordinator needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlineRow {
    /// The number of the operation.
    pub id: OperationId,
    /// The number of the opcode.
    pub opcode: u16,
    /// The object of the operation, as text.
    pub address: String,
    /// The key of the deposed object, if the operation has one.
    pub deposed: Option<String>,
    /// The action.
    pub action: Action,
    /// The index of the operation's shard in the list of fragments.
    pub shard: u32,
    /// The tracked operations and waiters that must have finished before the operation starts.
    pub needs: Waits,
    /// Whether the operation asks a provider for a change.
    pub changes_world: bool,
    /// A template of an import id, with names of attributes in braces. If the outcome of a create is uncertain, the
    /// object is looked up by this id.
    pub lookup: Option<String>,
}

impl OutlineRow {
    /// Whether the operation has this opcode.
    pub fn is(&self, opcode: Opcode) -> bool {
        self.opcode == opcode as u16
    }
}
