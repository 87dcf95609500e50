//! What workers and coordinators say to each other, as plain data; [`crate::wire`] makes frames of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::path::Path;

/// Name of a run.
pub(crate) type RunId = Arc<str>;

/// An operation and one attempt of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Task {
    pub(crate) operation: u32,
    pub(crate) attempt: u32,
}

/// What a coordinator says in its first frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Welcome {
    pub(crate) heartbeat_ms: u32,
    pub(crate) pause_ms: u32,
    pub(crate) intent_age_ms: u32,
    /// Why the worker is not taken; empty when it is.
    pub(crate) refused: String,
}

/// A frame from a coordinator.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    pub(crate) welcome: Option<Welcome>,
    /// In the order in which they were given.
    pub(crate) orders: Vec<RunOrders>,
}

/// Orders of one term of one run.
#[derive(Debug)]
pub(crate) struct RunOrders {
    pub(crate) run: RunId,
    /// Of the coordinator's term.
    pub(crate) epoch: u64,
    pub(crate) orders: Vec<Order>,
}

/// To a worker.
#[derive(Debug)]
pub(crate) enum Order {
    /// Take this shard.
    Open(Box<OpenShard>),
    /// No more tasks of this shard.
    Close(u32),
    /// What tasks of this shard read of an operation elsewhere, as it was exported.
    Foreign { shard: u32, operation: u32, value: Vec<u8> },
    /// A result of the shard's own that another worker brought about.
    Restored { shard: u32, operation: u32, value: Vec<u8> },
    /// Carry this out.
    Start { shard: u32, task: Task, read_first: bool },
    /// The intent is durable: call now.
    Granted(Task),
    /// No call may be made.
    Refused(Task),
    /// The result may be forgotten.
    Acknowledged(Task),
    /// Forget this task unless it was called.
    Drop(Task),
    /// Seek evidence.
    Settle(SettleOrder),
    /// Start no new call, let running ones end, return what was not begun.
    Drain,
    /// As [`Order::Drain`], and ask providers to end their calls early.
    Stop,
    /// The run is over for this worker.
    Leave,
}

#[derive(Debug, Default)]
pub(crate) struct OpenShard {
    pub(crate) shard: u32,
    /// Encoded fragment package.
    pub(crate) fragment: Vec<u8>,
    /// Own results from before, by operation.
    pub(crate) restored: Vec<(u32, Vec<u8>)>,
    /// What others read, by operation.
    pub(crate) exports: Vec<(u32, Vec<Path>)>,
    /// Inputs that the plan does not carry, encoded.
    pub(crate) inputs: BTreeMap<String, Vec<u8>>,
}

#[derive(Clone, Debug)]
pub(crate) struct SettleOrder {
    pub(crate) shard: u32,
    pub(crate) task: Task,
    pub(crate) holder_dead: bool,
    /// The user says that the object exists and has this id.
    pub(crate) adopt: Option<String>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No intent was asked for.
    Preparing,
    /// An intent was asked for.
    Asked,
    /// The call was allowed.
    Called,
    /// There is a result.
    Finished,
}

/// From a worker.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Report {
    Intent { task: Task, planned: [u8; 32] },
    Result { task: Task, result: Arc<TaskResult> },
    Settled { task: Task, verdict: Verdict },
    Returned(Task),
    Refused { shard: u32, diagnostics: Vec<Diagnostic> },
}

/// What came of a task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TaskResult {
    Done(Done),
    /// The provider returned an error, or something of ours failed before any call.
    Failed {
        writes: Writes,
        diagnostics: Vec<Diagnostic>,
        /// A create that left neither object nor proof of absence.
        absence_unproven: bool,
    },
    /// Nobody can tell.
    InDoubt {
        reason: String,
        provider_dead: bool,
        diagnostics: Vec<Diagnostic>,
    },
    /// No call was made for the granted intent, nor will be.
    NotCalled {
        reason: String,
    },
}

impl TaskResult {
    /// A failure that changes nothing.
    pub(crate) fn failed(diagnostics: Vec<Diagnostic>) -> TaskResult {
        TaskResult::Failed { writes: Writes::default(), diagnostics, absence_unproven: false }
    }
}

/// The result of an operation that is done.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Done {
    pub(crate) writes: Writes,
    pub(crate) local: Vec<u8>,
    pub(crate) exports: Vec<Vec<u8>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// What an operation changes in the state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Writes {
    pub(crate) objects: Vec<ObjectWrite>,
    pub(crate) outputs: Vec<OutputWrite>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjectWrite {
    pub(crate) address: String,
    /// The provider instance that manages it; empty to leave that as it is.
    pub(crate) provider: String,
    /// The deposed object that it is about; none for the current one.
    pub(crate) deposed: Option<String>,
    pub(crate) change: ObjectChange,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ObjectChange {
    Put(Box<StoredObject>),
    Remove,
    /// The current object is set aside under this key.
    DeposeAs(String),
    /// The deposed object under this key is the current one again.
    RestoreFrom(String),
    /// All deposed objects of this address belong to the written one from now on.
    DeposedFrom(String),
    /// The current object is whole: it is no longer tainted.
    Untaint,
}

/// An object as state keeps it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StoredObject {
    pub(crate) schema_version: u64,
    /// JSON text for the schema's type.
    pub(crate) attributes: String,
    pub(crate) sensitive: Vec<Path>,
    pub(crate) private: Vec<u8>,
    pub(crate) dependencies: Vec<String>,
    pub(crate) create_before_destroy: bool,
    pub(crate) skip_destroy: bool,
    pub(crate) tainted: bool,
    /// JSON text.
    pub(crate) identity: Option<String>,
    pub(crate) identity_schema_version: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OutputWrite {
    pub(crate) name: String,
    /// None when it is removed.
    pub(crate) value: Option<StoredOutput>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredOutput {
    /// JSON text.
    pub(crate) value: String,
    /// cty's JSON form of the type.
    pub(crate) value_type: String,
    pub(crate) sensitive: bool,
    pub(crate) deprecated: Option<String>,
}

/// What the evidence says about an attempt in doubt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Applied(Box<Done>),
    NotApplied { holder_dead: bool },
    Unknown(String),
}
