//! What workers and coordinators say to each other, as plain data. [`crate::wire`] turns it into frames and back.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_state::{Attempt, Digest, InstanceObject, Opaque, OutputWrite, WorkerId};

/// A worker that connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// `NAME/INCARNATION`: which worker, and which process of it.
    pub worker: WorkerId,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Most tasks at once.
    pub capacity: u32,
    /// Checksums of the provider packages that it holds; empty when it did not say.
    pub packages: Vec<String>,
    /// Tasks of this run that it was not acknowledged for.
    pub held: Vec<HeldTask>,
}

/// A task that a worker holds after a reconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldTask {
    /// The task.
    pub task: Task,
    /// How far it is.
    pub phase: HeldPhase,
}

/// How far a held task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeldPhase {
    /// No intent was asked for.
    Preparing,
    /// An intent was asked for; the answer did not arrive. The worker asks again.
    Asked,
    /// The provider was called.
    Called,
    /// There is a result. The worker sends it again.
    Finished,
}

/// An operation and one attempt of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    /// The operation's number in the plan.
    pub operation: u32,
    /// The attempt.
    pub attempt: Attempt,
}

/// From a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromWorker {
    /// Asks for the durable record before a call that changes the world.
    Intent {
        /// Which task.
        task: Task,
        /// Digest of the final planned value.
        planned: Digest,
    },
    /// What came of a task.
    Result {
        /// Which task.
        task: Task,
        /// What.
        result: TaskResult,
    },
    /// What the evidence says about an attempt in doubt.
    Settled {
        /// The uncertain attempt.
        task: Task,
        /// What it says.
        verdict: Verdict,
    },
    /// A task that was never begun, given back.
    Returned(Task),
    /// A shard cannot be opened there.
    Refused {
        /// The shard.
        shard: u32,
        /// Encoded diagnostics.
        diagnostics: Opaque,
    },
}

/// What came of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskResult {
    /// It is done.
    Done(TaskDone),
    /// The provider really returned an error, or something of ours failed before any call.
    Failed {
        /// A partial object.
        writes: TaskWrites,
        /// Encoded diagnostics.
        diagnostics: Opaque,
        /// A create that returned neither object nor proof of absence.
        absence_unproven: bool,
    },
    /// Nobody can tell.
    InDoubt {
        /// For people.
        reason: String,
        /// The provider process that was called is known to be dead.
        provider_dead: bool,
        /// Encoded diagnostics.
        diagnostics: Opaque,
    },
    /// The intent stood and no call was made, nor will be.
    NotCalled {
        /// For people.
        reason: String,
    },
}

/// The result of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskDone {
    /// What it changes in the state.
    pub writes: TaskWrites,
    /// What operations of its own shard read of the result, in the worker's encoding.
    pub local: Arc<[u8]>,
    /// For each export of the outline its value, in the worker's encoding.
    pub exports: Vec<Arc<[u8]>>,
    /// Encoded warnings.
    pub diagnostics: Opaque,
}

/// What a task changes in the state, object by object: the coordinator makes whole records of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskWrites {
    /// Objects of resource instances.
    pub objects: Vec<ObjectWrite>,
    /// Root outputs.
    pub outputs: Vec<OutputWrite>,
}

impl TaskWrites {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.outputs.is_empty()
    }
}

/// A change of one object of a resource instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectWrite {
    /// The instance.
    pub address: String,
    /// The provider instance that manages it, as text.
    pub provider: String,
    /// The deposed object's key; `None` for the current object.
    pub deposed: Option<String>,
    /// The change.
    pub change: ObjectChange,
}

/// What happens to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectChange {
    /// It is this now.
    Put(Box<InstanceObject>),
    /// It is gone.
    Remove,
    /// The current object is set aside under this key.
    DeposeAs(String),
    /// The deposed object under this key is the current one again, unless there is one.
    RestoreFrom(String),
    /// All deposed objects of this address belong to the written one from now on.
    DeposedFrom(String),
    /// The current object is whole: it is no longer tainted.
    Untaint,
}

/// What the evidence says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It took effect.
    Applied(Box<TaskDone>),
    /// It did not; that counts once the process that made the attempt is dead.
    NotApplied {
        /// Whether the settling worker knows it to be dead.
        holder_dead: bool,
    },
    /// Nobody can tell: why, for people.
    Unknown(String),
}

/// To a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Take this shard.
    Open {
        /// The shard.
        shard: u32,
        /// Own results of the shard from before.
        restored: Vec<(u32, Arc<[u8]>)>,
    },
    /// No more tasks of this shard.
    Close(u32),
    /// A result of another shard that tasks of this one read.
    Foreign {
        /// The reading shard.
        shard: u32,
        /// The operation.
        operation: u32,
        /// Which export of it.
        export: u32,
        /// Its value.
        value: Arc<[u8]>,
    },
    /// A result of the shard's own that another worker, or an earlier term, brought about.
    Restored {
        /// The shard.
        shard: u32,
        /// The operation.
        operation: u32,
        /// Its value for readers of the shard.
        value: Arc<[u8]>,
    },
    /// Carry this out.
    Start {
        /// The shard.
        shard: u32,
        /// The task.
        task: Task,
        /// Read the object first.
        read_first: bool,
    },
    /// The intent is durable: call now.
    Granted(Task),
    /// No call may be made: forget the task.
    IntentRefused(Task),
    /// The result is durable or not needed: forget it.
    Acknowledged(Task),
    /// Forget this task unless it was called; if its intent was asked for, say `NotCalled`.
    Drop(Task),
    /// Seek evidence.
    Settle {
        /// The shard.
        shard: u32,
        /// The uncertain attempt.
        task: Task,
        /// Who made it.
        holder: WorkerId,
        /// Whether that process is known to be dead.
        holder_dead: bool,
        /// The user says that the object exists and has this id.
        adopt: Option<String>,
    },
    /// Start no new call; let running ones end; return what was not begun.
    Drain,
    /// As [`Order::Drain`], and ask providers to end their calls early.
    Stop,
    /// The run is over for this worker.
    Leave,
}
