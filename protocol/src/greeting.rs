//! The first message of each side.

use std::collections::BTreeMap;

use weft_graph_format::address::ProviderSource;
use weft_graph_format::run::RunId;

use crate::Task;

/// What a worker says first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Greeting {
    /// The worker's name, unique in a cluster and without `/`.
    pub name: String,
    /// Which process it is. A restarted worker has another incarnation.
    pub incarnation: String,
    /// Labels for placement.
    pub labels: BTreeMap<String, String>,
    /// The maximum number of concurrent tasks, over all runs.
    pub capacity: u32,
    /// The provider packages that it has. An empty list says nothing.
    pub packages: Vec<HeldPackage>,
    /// Tasks that no coordinator has acknowledged yet.
    pub held: Vec<HeldTask>,
    /// The version of the protocol that it speaks.
    pub protocol: u32,
    /// The version of Weft, for people. Empty if it is unknown.
    pub version: String,
}

/// A provider package that a worker has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldPackage {
    /// Which provider.
    pub source: ProviderSource,
    /// Its version.
    pub version: String,
    /// As in the lock file: `h1:...` or `zh:...`.
    pub checksums: Vec<String>,
}

/// A task that a worker still holds when it connects again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldTask {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: Task,
    /// How far it is.
    pub phase: HeldPhase,
    /// The incarnation of the process that carried it out, if that was an earlier one of this name: the worker found the
    /// result in its spool. `None` for its own tasks.
    pub maker: Option<String>,
}

/// How far a held task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeldPhase {
    /// The worker has not asked for an intent.
    Preparing,
    /// The worker asked for an intent and has no answer. It asks again after the greeting.
    Asked,
    /// The call was allowed.
    Called,
    /// There is a result. The worker sends it again after the greeting.
    Finished,
}

/// What a coordinator says first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Welcome {
    /// How often the worker sends a heartbeat, in milliseconds.
    pub heartbeat_ms: u32,
    /// After this time without a frame the worker starts no call and connects again, in milliseconds.
    pub pause_ms: u32,
    /// The age from which on a granted intent is not acted on, in milliseconds.
    pub intent_age_ms: u32,
    /// The version of the protocol that the coordinator speaks.
    pub protocol: u32,
    /// Why the worker is refused; `None` when it is accepted.
    pub refused: Option<String>,
    /// Whether the store encrypts what it holds. A worker then keeps results in a file only if it encrypts them, too.
    pub sealed: bool,
}
