//! What a coordinator needs to know of a plan: which operations there are, what each waits for, where it runs, and
//! what may be done about it when nobody knows whether it took effect. Plain data, built from the execution graph.

use std::collections::BTreeMap;

use weft_graph_format::path::Path;
use weft_state::{CheckRecord, Claim};

/// Where operations run together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShardKey {
    /// On the worker of whoever applies: machine and working directory matter.
    Home,
    /// On any worker.
    Unplaced,
    /// With one configured provider: the provider instance as text.
    Provider(String),
}

impl ShardKey {
    /// The provider instance as text; empty for the other two.
    pub fn provider_instance(&self) -> &str {
        match self {
            ShardKey::Provider(text) => text,
            ShardKey::Home | ShardKey::Unplaced => "",
        }
    }
}

/// A shard: a part of the plan that one worker at a time holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineShard {
    /// Which.
    pub key: ShardKey,
    /// Labels that its worker must have, all of them.
    pub labels: BTreeMap<String, String>,
    /// Checksums of the provider package, as in the lock file: its worker must hold a package with one of them.
    /// Empty when no package is needed or any worker is trusted to have it.
    pub packages: Vec<String>,
}

impl OutlineShard {
    /// A shard that any worker may take.
    pub fn new(key: ShardKey) -> OutlineShard {
        OutlineShard { key, labels: BTreeMap::new(), packages: Vec::new() }
    }
}

/// What an operation is, as far as a coordinator treats them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// A provider creates an object.
    Create,
    /// A provider changes an object.
    Update,
    /// A provider destroys an object.
    Delete,
    /// A data source is read.
    Read,
    /// A value is computed.
    Evaluate,
    /// A root output is computed and stored.
    Output,
    /// An object is taken out of state.
    Forget,
    /// The current object is set aside.
    Depose,
    /// State is written without a provider.
    Record,
    /// A condition is checked.
    Check,
    /// A provisioner runs.
    Provision,
}

/// Something that must be done before an operation, or that counts towards a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// The operation with this number ([`OutlineOperation::index`]).
    Operation(u32),
    /// Everything that this waiter names (index into [`Outline::waiters`]).
    Waiter(u32),
}

/// Parts of a result that operations of other shards read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The parts, none inside another.
    pub paths: Vec<Path>,
    /// The shards that read just these (indices into [`Outline::shards`]), ascending.
    pub readers: Vec<u32>,
}

/// One tracked operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineOperation {
    /// Its number in the plan; unique, ascending in [`Outline::operations`], not necessarily without gaps.
    pub index: u32,
    /// What it is.
    pub kind: OperationKind,
    /// What it is about, as text: a resource instance, `output.NAME`, the name of a value.
    pub address: String,
    /// The deposed object that it is about, where it is about one.
    pub deposed: Option<String>,
    /// The word for people and JSON: `create`, `update`, `read`...
    pub action: String,
    /// Its shard (index into [`Outline::shards`]).
    pub shard: u32,
    /// What must be done before it.
    pub needs: Vec<Need>,
    /// What other shards read of its result.
    pub exports: Vec<Export>,
    /// Something outside is changed: an intent comes before the call. Its address is a resource instance.
    pub changes_world: bool,
    /// The result is stored with the run. False for live (ephemeral) values, which are computed anew after a resume.
    pub journalled: bool,
    /// A create whose object may be looked up, strongly consistent, when nobody knows whether it took place.
    pub probe_by_identity: bool,
    /// After a doubt or failure the object is read by its known id and work goes on from there (update, delete).
    pub reads_first: bool,
}

impl OutlineOperation {
    /// An operation of this kind that needs nothing; `changes_world` and `reads_first` as is usual for the kind.
    pub fn new(index: u32, kind: OperationKind, address: impl Into<String>, action: &str, shard: u32) -> Self {
        use OperationKind::{Create, Delete, Provision, Update};
        OutlineOperation {
            index,
            kind,
            address: address.into(),
            deposed: None,
            action: action.to_owned(),
            shard,
            needs: Vec::new(),
            exports: Vec::new(),
            changes_world: matches!(kind, Create | Update | Delete | Provision),
            journalled: true,
            probe_by_identity: false,
            reads_first: matches!(kind, Update | Delete),
        }
    }

    /// Whether evidence can be sought without asking the user.
    pub fn can_settle(&self) -> bool {
        self.reads_first || self.probe_by_identity
    }
}

/// A set of operations that several others wait for, named once, so that N readers of M results cost N + M.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiter {
    /// Its members.
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
    /// What the run changes or reads, with the revisions that the plan recorded.
    pub claims: Vec<Claim>,
    /// Lineage of the state that the plan was made over; empty: there was none yet. `None`: any state will do.
    pub lineage: Option<String>,
    /// What came of checks as far as the plan can tell, with `unknown` where only the run's own
    /// [`OperationKind::Check`] can: those bear the address of their object.
    pub checks: Vec<CheckRecord>,
    /// What must have gone well before a run comes to the conditions of something, by its address as configured:
    /// addresses of the same kind. Its own stands there where only the finished object can be looked at.
    pub check_needs: BTreeMap<String, Vec<String>>,
}

/// An outline that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutlineError {
    /// Numbers must ascend.
    #[error("operation {0} is not in ascending order")]
    Order(u32),
    /// Something is waited for that is not there.
    #[error("{of} waits for {need:?}, which is not in the plan")]
    Unknown {
        /// Who waits.
        of: String,
        /// For what.
        need: Need,
    },
    /// A shard is named that is not there.
    #[error("operation {operation} names shard {shard}, which is not in the plan")]
    UnknownShard {
        /// The operation.
        operation: u32,
        /// The shard.
        shard: u32,
    },
    /// Operations wait for each other.
    #[error("operation {0} waits for itself through others")]
    Cycle(u32),
}

impl Outline {
    /// Place of an operation in [`Outline::operations`] by its number.
    pub fn position(&self, index: u32) -> Option<usize> {
        self.operations.binary_search_by_key(&index, |operation| operation.index).ok()
    }

    /// The operation with this number.
    pub fn operation(&self, index: u32) -> Option<&OutlineOperation> {
        self.position(index).map(|position| &self.operations[position])
    }
}
