//! The reports of a worker to a coordinator.

use std::sync::Arc;

use weft_graph_format::address::{DeposedKey, ResourceInstance};
use weft_graph_format::digest::Digest;
use weft_graph_format::shown::ShownName;
use weft_graph_format::stored::{InstanceObject, Opaque, OutputWrite};

use crate::Task;

/// One report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Asks for an intent: the durable record that must exist before a call that changes real objects.
    Intent {
        /// The task.
        task: Task,
        /// Digest of the final planned value.
        planned: Digest,
    },
    /// The end of a task.
    Result {
        /// The task.
        task: Task,
        /// The result. The worker keeps this value until the result is acknowledged.
        result: Arc<TaskResult>,
    },
    /// The evidence about an uncertain attempt.
    Settled {
        /// The uncertain attempt.
        task: Task,
        /// The verdict.
        verdict: SettleVerdict,
    },
    /// A task that the worker returns without having begun it.
    Returned(Task),
    /// A shard that cannot be opened.
    Refused {
        /// The shard.
        shard: u32,
        /// Encoded diagnostics.
        diagnostics: Opaque,
    },
}

/// The end of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskResult {
    /// The task is done.
    Done(TaskDone),
    /// The provider returned an error, or Weft failed before any call.
    Failed {
        /// A partial object that the provider returned.
        writes: TaskWrites,
        /// Encoded diagnostics.
        diagnostics: Opaque,
        /// Whether this is a create that returned no object but may still have created one.
        absence_unproven: bool,
        /// Whether there was no call because this worker could not start or configure the provider, and has never
        /// opened the provider for this shard. Another worker may be able to open it.
        unopened: bool,
    },
    /// The outcome is unknown.
    InDoubt {
        /// Why the outcome is unknown.
        reason: String,
        /// Whether the provider process of the call is known to be dead.
        provider_dead: bool,
        /// Encoded diagnostics.
        diagnostics: Opaque,
    },
    /// The intent was recorded, but no call was made for this intent, and no call will be made.
    NotCalled {
        /// Why no call was made.
        reason: String,
    },
}

impl TaskResult {
    /// A failure that changes nothing.
    pub fn failed(diagnostics: Opaque) -> TaskResult {
        TaskResult::Failed { writes: TaskWrites::default(), diagnostics, absence_unproven: false, unopened: false }
    }
}

/// The result of a task that is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskDone {
    /// Changes of the state.
    pub writes: TaskWrites,
    /// The part of the result that operations of the same shard read, in the worker's encoding.
    pub local: Arc<[u8]>,
    /// The value of each export of the operation, in the order of [`crate::ShardPackage::exports`].
    pub exports: Vec<Arc<[u8]>>,
    /// Encoded warnings.
    pub diagnostics: Opaque,
    /// The name of the object in progress lines.
    pub shown: Option<ShownName>,
}

/// Changes of the state, object by object. The coordinator turns these changes into whole records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskWrites {
    /// Objects of resource instances.
    pub objects: Vec<ObjectWrite>,
    /// Root outputs.
    pub outputs: Vec<OutputWrite>,
}

impl TaskWrites {
    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.outputs.is_empty()
    }
}

/// A change of one object of a resource instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectWrite {
    /// The instance.
    pub address: ResourceInstance,
    /// The provider instance that manages the resource instance, as text. If empty, the provider instance in the state
    /// does not change.
    pub provider: String,
    /// The key of the deposed object; `None` for the current object.
    pub deposed: Option<DeposedKey>,
    /// The change.
    pub change: ObjectChange,
}

/// What happens to an object in the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectChange {
    /// The object is created or replaced by this object.
    Put(Box<InstanceObject>),
    /// The object is removed.
    Remove,
    /// The current object becomes the deposed object with this key.
    DeposeAs(DeposedKey),
    /// The deposed object with this key becomes the current object again, unless there is already a current object.
    RestoreFrom(DeposedKey),
    /// All deposed objects of this address move to the written address.
    DeposedFrom(ResourceInstance),
    /// The current object is no longer tainted.
    Untaint,
}

/// The evidence about an uncertain attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettleVerdict {
    /// The attempt took effect.
    Applied(Box<TaskDone>),
    /// The attempt took no effect. This verdict is final only if the process that made the attempt is dead.
    NotApplied {
        /// Whether the worker knows that the process is dead.
        holder_dead: bool,
    },
    /// There is no evidence, for this reason. The reason is empty if the worker had no method to look for evidence.
    Unknown(String),
    /// There is no evidence, because this worker could not start or configure the provider, and has never opened the
    /// provider for this shard. Another worker may be able to open it. The bytes are encoded diagnostics.
    Unopened(Opaque),
    /// There is no evidence, but an object was found that the attempt may have created. The object may also be older.
    Found(Box<Candidate>),
}

/// An object that a look-up found. Only the user can say whether it belongs to the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Why it is not known whether the attempt created the object.
    pub reason: String,
    /// The import id by which the object was found.
    pub id: String,
    /// Some attributes that may be shown: names, with values as JSON text.
    pub attributes: Vec<(String, String)>,
}
