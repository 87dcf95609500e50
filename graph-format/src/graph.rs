//! The execution graph: the work of an apply, as tables of plain data.
//!
//! During planning, operations are drafted in any order through [`Builder`]. [`Builder::finish`] numbers them so that
//! operands precede the operations that use them, and equal input produces equal bytes. It divides them into
//! [`Fragment`]s, one for each shard. [`disassemble`] prints a graph, and [`verify`] checks it independently.

mod action;
mod builder;
mod disassembly;
mod finish;
mod finish_error;
mod formula_table;
mod object;
mod opcode;
mod outline;
mod verify;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use action::Action;
pub use builder::{
    Applied, Builder, Checked, Desired, Ephemeral, Evaluated, FinalPlanned, Prior, Provider, Provisioned, Ref,
};
pub use disassembly::{disassemble, disassemble_with};
pub use finish_error::FinishError;
pub use formula_table::{FormulaIndex, FormulaRow, FormulaTable, TableError};
pub use object::{PlannedObject, PriorObject, StateRecord};
pub use opcode::{CheckKind, Opcode, Operation, ProvisionWhen};
pub use outline::{Claim, ClaimedSubject, OutlineRow};
pub use verify::{Flaw, verify, verify_fragment, verify_outline};

pub use crate::operation_id::OperationId;

use crate::address::ProviderInstance;
use crate::path::Path;

/// A waiter: a set of operations that several others wait for, stored once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WaiterIndex(pub u32);

/// Where operations run. The operations of one shard run together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Shard {
    /// On the user's machine, in the user's working directory.
    Home,
    /// On any machine.
    Unplaced,
    /// With one configured provider, on one worker.
    Provider(ProviderInstance),
}

/// The operations that an operation or a waiter waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Waits {
    /// Operations, in ascending order.
    pub operations: Vec<OperationId>,
    /// Waiters, in ascending order. Each stands for all operations that it names.
    pub waiters: Vec<WaiterIndex>,
}

impl Waits {
    /// Whether there are no waits.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.waiters.is_empty()
    }
}

/// An operation with its number and its waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The number of the operation in the whole graph.
    pub id: OperationId,
    /// The operation itself.
    pub operation: Operation<FormulaIndex>,
    /// The tracked operations that the operation waits for, in addition to its operands and the results that its
    /// formula reads.
    pub waits: Waits,
}

/// A result from another shard: the operation, and the parts that are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignResult {
    /// The operation, in another fragment.
    pub operation: OperationId,
    /// The parts that are read. No part contains another.
    pub paths: Vec<Path>,
}

/// The operations of one shard, with everything needed to compile them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fragment {
    /// The shard.
    pub shard: Shard,
    /// The operations, in ascending order of their numbers.
    pub rows: Vec<Row>,
    /// The formulas of the operations.
    pub formulas: FormulaTable,
    /// Results of other shards that the operations read.
    pub foreign: Vec<ForeignResult>,
}

/// The whole graph.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionGraph {
    /// The number of operations in all fragments.
    pub operations: u32,
    /// The fragments, ordered by shard.
    pub fragments: Vec<Fragment>,
    /// The waiters: sets of tracked operations. A waiter only refers to waiters before it.
    pub waiters: Vec<Waits>,
    /// The tracked operations, in ascending order. A coordinator schedules them.
    pub outline: Vec<OutlineRow>,
    /// The operation that produces the final state of each resource instance, by address.
    pub final_states: BTreeMap<String, OperationId>,
}

impl ExecutionGraph {
    /// Whether an apply stores the value of an output.
    pub fn stores_outputs(&self) -> bool {
        self.outline.iter().any(|row| row.is(Opcode::Output))
    }
}
