//! The execution graph: the work of an apply, as tables of plain data.
//!
//! During planning, operations are drafted in any order through [`Builder`]. [`Builder::finish`] renumbers them so that
//! operands come before their users and equal input produces equal bytes, and divides them into [`Fragment`]s, one for
//! each shard. [`disassemble`] prints a graph, and [`verify`] checks it independently.

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

/// A waiter: a set of operations that several others wait for, named once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WaiterIndex(pub u32);

/// Where operations run together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Shard {
    /// On the user's machine, in the user's working directory.
    Home,
    /// Anywhere.
    Unplaced,
    /// With one configured provider.
    Provider(ProviderInstance),
}

/// A requirement of an operation or a waiter.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Waits {
    /// These operations, ascending.
    pub operations: Vec<OperationId>,
    /// Everything these waiters name, ascending.
    pub waiters: Vec<WaiterIndex>,
}

impl Waits {
    /// Whether nothing is waited for.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.waiters.is_empty()
    }
}

/// An operation in its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its number in the whole graph.
    pub id: OperationId,
    /// The operation itself.
    pub operation: Operation<FormulaIndex>,
    /// Tracked operations that it waits for, besides its operands and the results that its formula reads.
    pub waits: Waits,
}

/// A result from another shard: the operation, and the parts that are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignResult {
    /// The operation, in another fragment.
    pub operation: OperationId,
    /// The parts that are read, none inside another.
    pub paths: Vec<Path>,
}

/// The operations of one shard, with all that compiling them needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fragment {
    /// Where they run.
    pub shard: Shard,
    /// In ascending order of their numbers.
    pub rows: Vec<Row>,
    /// The formulas that they use.
    pub formulas: FormulaTable,
    /// Results that must be brought here.
    pub foreign: Vec<ForeignResult>,
}

/// The whole graph.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionGraph {
    /// Number of operations, all fragments together.
    pub operations: u32,
    /// The fragments, ordered by shard.
    pub fragments: Vec<Fragment>,
    /// Sets of tracked operations that are waited for together; a waiter only names earlier waiters.
    pub waiters: Vec<Waits>,
    /// The tracked operations, ascending. A coordinator schedules them.
    pub outline: Vec<OutlineRow>,
    /// The operation that yields the final state of each resource instance, by address text.
    pub final_states: BTreeMap<String, OperationId>,
}
