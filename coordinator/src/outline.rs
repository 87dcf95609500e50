//! A coordinator's view of a plan: its operations, their dependencies, where they run, and how an unknown outcome can
//! be settled. Plain data, built from the execution graph.

mod checks;
pub(crate) mod graph;

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_graph_format::address::ResourceInstance;
use weft_graph_format::checked::{CheckedConfig, CheckedObject};
use weft_graph_format::graph::ClaimedSubject;
use weft_graph_format::limits::CallBudget;
use weft_graph_format::operation_kind::NamedAction;
use weft_graph_format::path::Path;
use weft_graph_format::placement::InstanceBound;
use weft_state::{CheckRecord, ClaimMode, Revision, Subject};

use crate::retry::RetryRule;
use crate::table::{BudgetIndex, Position, ShardIndex, TableIndex};

/// The label of workers at home. Its value is the id of the run.
pub const HOME: &str = "home";

pub(crate) use checks::CHECK;
pub use checks::planned_checks;
pub use graph::outline;
pub use weft_graph_format::operation_kind::OperationKind;

/// The key of a shard: it says which workers may carry out the operations of the shard.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShardKey {
    /// At home: on the machine and in the directory of the user who applies.
    Home,
    /// On any worker.
    Unplaced,
    /// On a worker with this configured provider: the provider instance as text.
    Provider(String),
}

impl ShardKey {
    /// The provider instance as text; empty for the other kinds.
    pub fn provider_instance(&self) -> &str {
        match self {
            ShardKey::Provider(text) => text,
            ShardKey::Home | ShardKey::Unplaced => "",
        }
    }
}

/// A shard: a part of the plan that is leased to one worker at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineShard {
    /// The key of the shard.
    pub key: ShardKey,
    /// Labels that its worker must have.
    pub labels: BTreeMap<String, String>,
    /// The maximum number of its operations that run at the same time. `None` sets no limit.
    pub concurrency: Option<u32>,
    /// The limit on open provider instances at each worker. Workers enforce this limit.
    pub bound: Option<InstanceBound>,
    /// Checksums of the provider package, as in the lock file. The worker of the shard must have a package with one of
    /// these checksums. Empty if the shard needs no package, or if every worker is assumed to have the package.
    pub packages: Vec<String>,
    /// The budgets from which the shard's provider calls take tokens.
    pub budgets: Vec<BudgetIndex>,
    /// The rule for retries of refused operations. `None` if refused operations are never retried.
    pub retry: Option<Arc<RetryRule>>,
}

impl OutlineShard {
    /// A shard that may be assigned to any worker.
    pub fn new(key: ShardKey) -> OutlineShard {
        OutlineShard {
            key,
            labels: BTreeMap::new(),
            concurrency: None,
            bound: None,
            packages: Vec::new(),
            budgets: Vec::new(),
            retry: None,
        }
    }
}

impl OutlineShard {
    /// The labels that name the pool of workers of the shard in metrics: the labels of the shard. Operations on the
    /// user's machine have the id of the run in the label `home`. Their pool has only this label, without the id, so
    /// that all runs share one pool.
    pub fn pool(&self) -> BTreeMap<String, String> {
        match self.labels.contains_key(HOME) {
            true => [(HOME.to_owned(), String::new())].into(),
            false => self.labels.clone(),
        }
    }
}

/// A dependency of an operation or a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// The operation with this number ([`OutlineOperation::index`]) is done.
    Operation(u32),
    /// All dependencies of this waiter are done (index into [`Outline::waiters`]).
    Waiter(u32),
}

/// Parts of a result that operations of other shards read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineExport {
    /// The parts. No part contains another part.
    pub paths: Vec<Path>,
    /// The shards that read exactly these parts, ascending.
    pub readers: Vec<ShardIndex>,
}

/// One tracked operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineOperation {
    /// The number of the operation in the plan. Numbers are unique and ascend in [`Outline::operations`], with gaps.
    pub index: u32,
    /// The kind of the operation.
    pub kind: OperationKind,
    /// The subject of the operation as text: a resource instance, `output.NAME`, or the name of a value.
    pub address: String,
    /// The address as a resource instance, if it is one. It is parsed once, when the outline is made.
    pub(crate) instance: Option<ResourceInstance>,
    /// The key of the deposed object, if the operation changes a deposed object.
    pub deposed: Option<String>,
    /// The shard that contains the operation.
    pub shard: ShardIndex,
    /// The operations and waiters that must be done before this operation.
    pub needs: Vec<Need>,
    /// The parts of the operation's result that other shards read.
    pub exports: Vec<OutlineExport>,
    /// Whether the operation changes real objects, so that it needs an intent before the call. The address of such an
    /// operation is a resource instance.
    pub changes_world: bool,
    /// Whether the result is stored with the run. `false` for live (ephemeral) values, which are computed again after a
    /// resume.
    pub journalled: bool,
    /// Whether this is a create whose object can be looked up with strong consistency if the outcome is unknown.
    pub probe_by_identity: bool,
    /// Whether a retry after a doubt or failure first reads the object by its known id, and continues from the object's
    /// actual state. Set for updates and deletes.
    pub reads_first: bool,
    /// Whether this is a create that looks up the name of the object before the call ([`weft_graph_format::lookups`]).
    pub looks_first: bool,
}

impl OutlineOperation {
    /// The subject of the operation, if the subject is a resource instance.
    pub fn instance(&self) -> Option<&ResourceInstance> {
        self.instance.as_ref()
    }

    /// An operation without dependencies. The kind determines `changes_world` and `reads_first`.
    pub fn new(index: u32, kind: OperationKind, address: impl Into<String>, shard: u32) -> Self {
        use OperationKind::{Create, Delete, Provision, Update};
        let address = address.into();
        // The names of values and outputs look like addresses of resources.
        let named = matches!(kind, OperationKind::Evaluate | OperationKind::Output);
        OutlineOperation {
            index,
            kind,
            instance: if named { None } else { address.parse().ok() },
            address,
            deposed: None,
            shard: ShardIndex(shard),
            needs: Vec::new(),
            exports: Vec::new(),
            changes_world: matches!(kind, Create | Update | Delete | Provision),
            journalled: true,
            probe_by_identity: false,
            reads_first: matches!(kind, Update | Delete),
            looks_first: false,
        }
    }

    /// The action of the operation, for records, events and listings.
    pub fn action(&self) -> NamedAction {
        self.kind.into()
    }

    /// The number of provider calls that the next attempt makes, as counted by budgets. Planning a change is not
    /// counted, because the provider plans without a call to its service.
    pub fn calls(&self, reads_first: bool) -> u32 {
        match self.kind {
            OperationKind::Create => 1 + u32::from(reads_first || self.looks_first),
            OperationKind::Update | OperationKind::Delete => 1 + u32::from(reads_first),
            OperationKind::Read => 1,
            _ => 0,
        }
    }

    /// Whether the search for evidence always settles a doubt about this operation.
    pub fn can_settle(&self) -> bool {
        self.reads_first || self.probe_by_identity
    }

    /// Whether it is worth asking a worker for evidence about a doubt. This includes every create, because only the
    /// worker knows whether the type of the created object can be looked up.
    pub fn can_look(&self) -> bool {
        self.can_settle() || self.kind == OperationKind::Create
    }
}

/// A set of operations that several other operations wait for. The set is stored once, so that N readers of M results
/// cost N + M.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiter {
    /// The members of the set.
    pub needs: Vec<Need>,
}

/// A plan as its coordinator sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The tracked operations, ascending by [`OutlineOperation::index`].
    pub operations: Vec<OutlineOperation>,
    /// The waiters.
    pub waiters: Vec<Waiter>,
    /// The shards.
    pub shards: Vec<OutlineShard>,
    /// The budgets of provider calls.
    pub budgets: Vec<CallBudget>,
    /// The subjects that the run changes or reads, with the revisions in the plan.
    pub claims: Vec<RunClaim>,
    /// The lineage of the state for which the plan was made; empty if there was no state. `None` accepts any state.
    pub lineage: Option<String>,
    /// The checks of the plan.
    pub checks: Vec<RunCheck>,
    /// The operations that results of checks depend on, by their numbers, each with its object. The object of an
    /// assertion is its check block.
    pub check_subjects: BTreeMap<u32, CheckedObject>,
}

/// A subject, such as a resource instance, that a run changes or reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunClaim {
    /// The subject.
    pub subject: ClaimedSubject,
    /// How the run uses the subject.
    pub mode: ClaimMode,
    /// The revision in the plan.
    pub expected: Revision,
}

impl RunClaim {
    /// The subject as stores name it.
    pub fn stored_subject(&self) -> Subject {
        match &self.subject {
            ClaimedSubject::Instance(address) => Subject::Instance(address.to_string()),
            ClaimedSubject::Output(name) => Subject::Output(name.to_string()),
        }
    }
}

/// The checks of one object of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunCheck {
    /// The results in the plan, with `unknown` where only an [`OperationKind::Check`] of the run can decide.
    pub record: CheckRecord,
    /// The object of the configuration.
    pub config: CheckedConfig,
    /// What must have succeeded before the conditions are evaluated. The object itself is included if its conditions
    /// need the finished object.
    pub needs: Vec<CheckedConfig>,
}

impl RunCheck {
    /// The objects, in the order of the record.
    pub fn objects(&self) -> impl Iterator<Item = &CheckedObject> {
        self.record.objects.iter().flatten().map(|object| object.object_addr.object())
    }
}

/// An inconsistent outline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutlineError {
    /// Operation numbers do not ascend.
    #[error("operation {0} is not in ascending order")]
    Order(u32),
    /// A dependency names an operation or waiter that is not in the plan.
    #[error("{of} waits for {need:?}, which is not in the plan")]
    Unknown {
        /// The waiting operation or waiter.
        of: String,
        /// The dependency that is not in the plan.
        need: Need,
    },
    /// A shard is not in the plan.
    #[error("operation {operation} names shard {}, which is not in the plan", shard.0)]
    UnknownShard {
        /// The operation.
        operation: u32,
        /// The shard.
        shard: ShardIndex,
    },
    /// Operations wait for each other.
    #[error("operation {0} waits for itself through others")]
    Cycle(u32),
}

impl Outline {
    /// The position of an operation by its number.
    pub fn position(&self, index: u32) -> Option<Position> {
        self.operations.binary_search_by_key(&index, |operation| operation.index).ok().map(Position::new)
    }

    /// The operation at a position.
    pub fn at(&self, position: Position) -> &OutlineOperation {
        &self.operations[position.number()]
    }

    /// The shard at a position, if there is one.
    pub fn shard(&self, shard: ShardIndex) -> Option<&OutlineShard> {
        self.shards.get(shard.number())
    }

    /// The budget at a position, if there is one.
    pub fn budget(&self, budget: BudgetIndex) -> Option<&CallBudget> {
        self.budgets.get(budget.number())
    }

    /// The operation with this number.
    pub fn operation(&self, index: u32) -> Option<&OutlineOperation> {
        self.position(index).map(|position| self.at(position))
    }
}
