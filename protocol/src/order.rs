//! The orders of a coordinator to a worker.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use weft_graph_format::digest::Digest;
use weft_graph_format::path::Path;
use weft_graph_format::placement::InstanceBound;
use weft_graph_format::run::WorkerId;

use crate::Task;

/// One order.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Open this shard: its tasks will follow.
    Open(Box<OpenShard>),
    /// Close this shard: it receives no more tasks.
    Close(u32),
    /// A result of another shard that tasks of this shard read. The result comes before every task that needs it.
    Foreign {
        /// The reading shard.
        shard: u32,
        /// The operation in the other shard.
        operation: u32,
        /// The index of the export in the operation.
        export: u32,
        /// The value, as exported by the worker of the operation.
        value: Arc<[u8]>,
    },
    /// A result of this shard that another worker, or an earlier term, produced.
    Restored {
        /// The shard.
        shard: u32,
        /// The operation.
        operation: u32,
        /// The value for readers of the same shard.
        value: Arc<[u8]>,
    },
    /// Carry out this task.
    Start {
        /// The shard.
        shard: u32,
        /// The task.
        task: Task,
        /// Whether an earlier attempt was uncertain or failed, so that the object must be read first.
        read_first: bool,
    },
    /// The intent is durable: call the provider now.
    Granted(Task),
    /// The intent is refused: make no call, and forget the task.
    IntentRefused(Task),
    /// The result of this task is durable, or not needed: forget the result.
    Acknowledged(Task),
    /// Forget this task unless it was called. If its intent was requested, report [`crate::TaskResult::NotCalled`].
    Drop(Task),
    /// Look for evidence about the effect of an uncertain attempt.
    Settle(SettleOrder),
    /// Start no new call, let running calls end, and return tasks that have not begun.
    Drain,
    /// Like [`Order::Drain`]. Also ask providers to end their calls early.
    Stop,
    /// The run has ended for this worker. The worker keeps each task that was called until the task is acknowledged.
    Leave,
}

/// A shard for a worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenShard {
    /// The shard.
    pub shard: u32,
    /// Results of operations of this shard that other workers or earlier terms produced, by operation.
    pub restored: Vec<(u32, Arc<[u8]>)>,
    /// The shard's part of the plan. The coordinator's state machine sets `None`, and the sender adds the package.
    pub package: Option<ShardPackage>,
}

/// The part of a plan that a shard's worker needs.
#[derive(Clone, Default, PartialEq)]
pub struct ShardPackage {
    /// The encoded fragment.
    pub fragment: Arc<[u8]>,
    /// The parts of this shard's results that other shards read.
    pub exports: Vec<Export>,
    /// Inputs that the plan does not contain: name and encoded value. Inputs are never written to disk.
    pub inputs: BTreeMap<String, Vec<u8>>,
    /// Digest of the plan file.
    pub plan: Digest,
    /// The limit on open provider instances that the shard shares with other shards of its run at this worker.
    pub bound: Option<InstanceBound>,
}

/// Shows only sizes, because fragments are large and inputs are secret.
impl fmt::Debug for ShardPackage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, exports, inputs) = (self.fragment.len(), self.exports.len(), self.inputs.len());
        write!(out, "<{bytes} bytes, {exports} exports, {inputs} inputs>")
    }
}

/// The parts of an operation's result that other shards read.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// The operation.
    pub operation: u32,
    /// The parts of the operation's result.
    pub paths: Vec<Path>,
}

/// An order to settle an uncertain attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettleOrder {
    /// The shard.
    pub shard: u32,
    /// The uncertain attempt.
    pub task: Task,
    /// The worker that made the attempt.
    pub holder: WorkerId,
    /// Whether the coordinator knows that the worker's process is dead.
    pub holder_dead: bool,
    /// The id of the object, if the user says that the object exists.
    pub adopt: Option<String>,
    /// The digest in the intent of the attempt. `None` if it is not known.
    pub planned: Option<Digest>,
}
