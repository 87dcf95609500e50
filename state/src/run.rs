//! The data of runs: identifiers, tokens, leases, statuses, headers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
pub use weft_graph_format::digest::Digest;
use weft_graph_format::operation_kind::{NamedAction, OperationKind};
pub use weft_graph_format::run::{Attempt, OpIndex, RunId, WorkerId};

use crate::record::{InstanceObject, Opaque};
use crate::result::Failure;
use crate::subject::{DoubtKey, Revision, Subject};

pub use weft_sealing::RandomError;

/// Generates a random identifier for a run.
///
/// # Errors
/// Returns an error if the operating system provides no random bytes.
pub fn random_run_id() -> Result<RunId, RandomError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|_| RandomError)?;
    Ok(RunId::from_bytes(bytes))
}

/// Identifies one term of one run. Tokens are only compared for equality. After a failover to a store with an older
/// counter, an epoch may be repeated. The random number in `term` makes this harmless.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// The counter of the workspace.
    pub epoch: u64,
    /// A random number.
    pub term: u128,
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{:032x}", self.epoch, self.term)
    }
}

/// The identity of a store. A restored store has a new identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Incarnation(pub u128);

impl fmt::Display for Incarnation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", self.0)
    }
}

impl fmt::Debug for Incarnation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self)
    }
}

/// The holder of a lease, for users who examine a stalled run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Holder {
    /// Host name.
    pub machine: String,
    /// Process id on that machine.
    pub process: u32,
    /// User name.
    pub user: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}@{} (process {})", self.user, self.machine, self.process)
    }
}

/// A run's lease as its holder knows it. The store checks every step against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// The store's identity at the time of ACQUIRE.
    pub incarnation: Incarnation,
    /// The token of this term.
    pub token: Token,
}

/// A lease as other processes see it. Such a process may take over the run if token and heartbeat have not changed for
/// a whole TTL. It measures this time with its own monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseView {
    /// The holder's token.
    pub token: Token,
    /// The holder's heartbeat counter.
    pub heartbeat: u64,
    /// The holder.
    pub holder: Holder,
    /// Milliseconds since the last heartbeat by the store's own clock. For display only: no decision depends on it.
    pub age_ms: Option<u64>,
}

/// The status of a run in the store: `running stopped done failed in-doubt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RunStatus {
    /// A coordinator holds its lease.
    Running,
    /// Not finished, and no coordinator works on it. Its claims remain.
    Stopped,
    /// All operations are done.
    Done,
    /// Ended with failures. Its claims are released.
    Failed,
    /// Ended with open doubts. The claims of the doubts remain.
    InDoubt,
}

impl RunStatus {
    /// The word in `weft runs list -json`.
    pub fn word(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Stopped => "stopped",
            RunStatus::Done => "done",
            RunStatus::Failed => "failed",
            RunStatus::InDoubt => "in-doubt",
        }
    }

    /// Parses the word.
    pub fn parse(word: &str) -> Option<RunStatus> {
        [RunStatus::Running, RunStatus::Stopped, RunStatus::Done, RunStatus::Failed, RunStatus::InDoubt]
            .into_iter()
            .find(|status| status.word() == word)
    }

    /// Whether nothing of the run remains to be done or settled, so that its files may be pruned.
    pub fn is_final(self) -> bool {
        matches!(self, RunStatus::Done | RunStatus::Failed)
    }
}

/// The number of operations by status. The sum is the number of operations of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OpCounts {
    /// Not begun, or leased without an intent.
    pub pending: u32,
    /// With an open intent.
    pub running: u32,
    /// Committed.
    pub done: u32,
    /// Failed.
    pub failed: u32,
    /// Not done because an input failed or is in doubt.
    pub skipped: u32,
    /// In doubt.
    pub in_doubt: u32,
}

/// A new run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// Its id.
    pub id: RunId,
    /// When the run was started, in milliseconds since 1970 by the clock of the process that starts it. For display and
    /// for the order of lists.
    pub started_unix_ms: u64,
    /// Number of operations in the plan's table.
    pub operations: u32,
    /// The plan file, whole.
    pub plan: Opaque,
    /// Whether the caller takes the lease at once. If so, the store need not make the run durable before the lease is
    /// taken. A crash before that may leave no trace of the run.
    pub starts_now: bool,
}

/// The number of objects that a run has added, changed and destroyed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeTotals {
    /// Objects that were created.
    pub added: u32,
    /// Objects that were updated in place.
    pub changed: u32,
    /// Objects that were destroyed.
    pub destroyed: u32,
}

impl ChangeTotals {
    /// Counts the operations that are done. Reads do not count, because only operations with an intent have an action.
    pub fn of<'o>(operations: impl Iterator<Item = &'o OpRecord>) -> ChangeTotals {
        let mut totals = ChangeTotals::default();
        for operation in operations.filter(|operation| operation.status == OpStatus::Done) {
            match operation.action.as_ref().and_then(NamedAction::kind) {
                Some(OperationKind::Create) => totals.added += 1,
                Some(OperationKind::Update) => totals.changed += 1,
                Some(OperationKind::Delete) => totals.destroyed += 1,
                _ => {}
            }
        }
        totals
    }
}

/// The history of a run, for lists. No decision depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPast {
    /// The last process that executed the run. The names in it are empty if the store does not know the process.
    pub holder: Holder,
    /// When the run ended, milliseconds since 1970. `None` while it is unfinished, or if the store does not know it.
    pub ended_unix_ms: Option<u64>,
    /// The changes that the run has made. `None` if the store would have to read every operation to count them.
    pub totals: Option<ChangeTotals>,
}

/// The header of a run, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Its id.
    pub id: RunId,
    /// Digest of the plan file.
    pub plan: Digest,
    /// When it was created, milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Its status.
    pub status: RunStatus,
    /// The number of operations by status.
    pub counts: OpCounts,
    /// Whether its CLAIM succeeded and is in force.
    pub claimed: bool,
    /// Whether the user abandoned the run. An abandoned run continues only if the user names it.
    pub abandoned: bool,
    /// The current lease, or `None` if no coordinator holds it.
    pub lease: Option<LeaseView>,
    /// The last holder, the time of the end, and the changes.
    #[serde(default)]
    pub past: RunPast,
}

/// The status of an operation in the store. There is no status `leased`: only the coordinator knows the leases of
/// tasks. Such a lease needs no durable record, because nothing can have happened before the intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub enum OpStatus {
    /// Nothing has happened yet, or the operation may be retried.
    #[default]
    Pending,
    /// An intent is open.
    Intended,
    /// Committed.
    Done,
    /// The provider returned an error.
    Failed,
    /// The worker has ended or does not know the outcome of the intent.
    InDoubt,
    /// An input failed or is in doubt.
    Skipped,
}

impl OpStatus {
    /// The status for display and JSON.
    pub fn word(self) -> &'static str {
        match self {
            OpStatus::Pending => "pending",
            OpStatus::Intended => "intended",
            OpStatus::Done => "done",
            OpStatus::Failed => "failed",
            OpStatus::InDoubt => "in-doubt",
            OpStatus::Skipped => "skipped",
        }
    }
}

/// Everything that the store knows about one operation.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OpRecord {
    /// The status.
    pub status: OpStatus,
    /// The last attempt, or 0 if there was none.
    pub attempt: Attempt,
    /// The worker that made the last attempt.
    pub worker: WorkerId,
    /// The object of the last intent.
    pub target: Option<DoubtKey>,
    /// The planned action of the last intent, or `None` if there was none.
    pub action: Option<NamedAction>,
    /// The digest of the planned value of the last intent.
    pub planned: Digest,
    /// The result bytes of the commit.
    pub result: Option<Opaque>,
    /// The failure.
    pub failure: Option<Failure>,
}

/// An object that a superseded attempt reported and that differs from the recorded one. Such an object is stored and
/// reported to the user, and never dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stray {
    /// The operation.
    pub op: OpIndex,
    /// The attempt that reported it.
    pub attempt: Attempt,
    /// The worker that made the attempt.
    pub worker: WorkerId,
    /// The address of the object.
    pub key: DoubtKey,
    /// The object, or `None` if the late report says that it was destroyed.
    pub object: Option<InstanceObject>,
}

/// A run with all its operations: what `resume` and `weft runs show` need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunView {
    /// The header.
    pub header: RunHeader,
    /// Operations that are not simply pending, by index.
    pub ops: BTreeMap<OpIndex, OpRecord>,
    /// The revisions at which this run last wrote its subjects. A new CLAIM of the same run expects these.
    pub written: BTreeMap<Subject, Revision>,
    /// The claims of the run: exclusive (`true`) or shared.
    pub claims: BTreeMap<Subject, bool>,
    /// Objects of superseded attempts.
    pub strays: Vec<Stray>,
}

impl RunView {
    /// A run that has a header and nothing else.
    pub fn of(header: RunHeader) -> RunView {
        let (ops, written, claims, strays) = Default::default();
        RunView { header, ops, written, claims, strays }
    }
}

/// The last line of a run's journal as its writer knows it. Each reconnect checks that this line still exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainTip {
    /// The store's identity.
    pub incarnation: Incarnation,
    /// The number of lines, which is also the sequence number of the next line.
    pub sequence: u64,
    /// The hash of the last line, computed from the hash of the previous line and the content of the last line.
    pub hash: Digest,
}

/// One line of a run's journal, for display and for comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalLine {
    /// The number of the line, from 0.
    pub sequence: u64,
    /// The hash of the line, computed from the hash of the previous line and the content of this line.
    pub hash: Digest,
    /// The event in one word: `intent`, `commit`, `fail` and so on.
    pub event: &'static str,
    /// The operation, if the event is about an operation.
    pub op: Option<OpIndex>,
    /// The attempt.
    pub attempt: Option<Attempt>,
    /// The worker.
    pub worker: Option<WorkerId>,
}

/// A set of subjects.
pub type Subjects = BTreeSet<Subject>;
