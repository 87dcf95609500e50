//! The first message of each side.

use std::collections::BTreeMap;

use weft_graph_format::address::ProviderSource;
use weft_graph_format::run::RunId;

use crate::Task;

/// The first message of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Greeting {
    /// The worker's name, unique in a cluster and without `/`.
    pub name: String,
    /// The identity of the worker's process. A restarted worker has a new incarnation.
    pub incarnation: String,
    /// Labels for placement.
    pub labels: BTreeMap<String, String>,
    /// The maximum number of concurrent tasks, over all runs.
    pub capacity: u32,
    /// The provider packages of the worker. An empty list means that the worker does not report its packages.
    pub packages: Vec<HeldPackage>,
    /// Tasks without an acknowledgement.
    pub held: Vec<HeldTask>,
    /// The version of the protocol that the worker speaks.
    pub protocol: u32,
    /// The version of Weft, for display. Empty if it is unknown.
    pub version: String,
}

/// A provider package that a worker has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldPackage {
    /// The provider.
    pub source: ProviderSource,
    /// The version of the provider.
    pub version: String,
    /// Checksums as in the lock file: `h1:...` or `zh:...`.
    pub checksums: Vec<String>,
}

/// A task that a worker still has when it reconnects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldTask {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: Task,
    /// The phase of the task.
    pub phase: HeldPhase,
    /// The incarnation of the earlier process of the same name that carried out the task. The worker found the result
    /// in its spool. `None` for the worker's own tasks.
    pub maker: Option<String>,
}

/// The phase of a task that a worker has when it reconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeldPhase {
    /// The worker has not asked for an intent.
    Preparing,
    /// The worker asked for an intent but has no answer. It asks again after the greeting.
    Asked,
    /// The call was allowed.
    Called,
    /// There is a result. The worker sends it again after the greeting.
    Finished,
}

/// The first message of a coordinator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Welcome {
    /// The interval of the worker's heartbeats, in milliseconds.
    pub heartbeat_ms: u32,
    /// The time without a frame after which the worker starts no call and reconnects, in milliseconds.
    pub pause_ms: u32,
    /// In milliseconds. The worker does not act on a granted intent of this age or more.
    pub intent_age_ms: u32,
    /// The version of the protocol that the coordinator speaks.
    pub protocol: u32,
    /// Why the worker is refused; `None` if it is accepted.
    pub refused: Option<String>,
    /// Whether the store encrypts its content. If so, a worker stores results in a file only if it encrypts them too.
    pub sealed: bool,
}
