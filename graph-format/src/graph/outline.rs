//! The part of each operation that a coordinator needs for scheduling.

use serde::{Deserialize, Serialize};

use super::{Action, Opcode, OperationId, Waits};

/// A resource instance that a run changes or reads, and the revision that the plan was made from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Claim {
    /// The instance, or `output.NAME`.
    pub address: String,
    /// Revision in the store; 0 for an instance that was not there.
    pub revision: u64,
    /// The run changes it.
    pub exclusive: bool,
}

/// One tracked operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlineRow {
    /// Its number.
    pub id: OperationId,
    /// Its opcode's number.
    pub opcode: u16,
    /// The subject, as text.
    pub address: String,
    /// The deposed object it is about, where it is about one.
    pub deposed: Option<String>,
    /// The action.
    pub action: Action,
    /// Index of its shard in the list of fragments.
    pub shard: u32,
    /// Tracked operations and waiters (over tracked operations) that must be done before.
    pub needs: Waits,
    /// The operation asks a provider for a change.
    pub changes_world: bool,
    /// The object may be looked up by the planned value when it is uncertain whether the create took place:
    /// the import id with attribute names in braces.
    pub lookup: Option<String>,
}

impl OutlineRow {
    /// Whether it has this opcode.
    pub fn is(&self, opcode: Opcode) -> bool {
        self.opcode == opcode as u16
    }
}
