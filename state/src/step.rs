//! The steps of RUNS.md as data, and the store's answers to them.

use serde::{Deserialize, Serialize};

use crate::record::{CheckRecord, InstanceRecord, Opaque, OutputRecord};
use crate::run::{
    Attempt, Digest, Holder, Incarnation, Lease, LeaseView, OpIndex, OpStatus, RunHeader, RunId, RunStatus, Stray,
    Token, WorkerId,
};
use crate::snapshot::{Doubt, DoubtKey, Revision, Subject};

/// ACQUIRE: ask for a run's lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquire {
    /// The run.
    pub run: RunId,
    /// Who asks.
    pub holder: Holder,
    /// Random, new for each attempt; the same again makes a resent ACQUIRE harmless.
    pub term: u128,
    /// The lease that the asker has seen unchanged for a whole TTL of its own clock, to take it over. Ignored by the
    /// embedded store, where only the operating system's lock grants.
    pub unmoved: Option<LeaseView>,
}

/// Answer to ACQUIRE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcquireAnswer {
    /// The lease is the asker's; open intents of earlier terms are the ones that the run shows as `intended`.
    Granted(Lease),
    /// Somebody else holds it, or its heartbeat moved.
    Held(LeaseView),
    /// There is no such run.
    NoRun,
}

/// How a claim binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ClaimMode {
    /// The plan reads it: others may read too, nobody may change it.
    Shared,
    /// The plan changes it.
    Exclusive,
}

/// One thing that a plan changes or reads, at the revision that the plan recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What.
    pub subject: Subject,
    /// How.
    pub mode: ClaimMode,
    /// The revision that the plan saw.
    pub expected: Revision,
}

/// A subject that changed since the plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stale {
    /// What.
    pub subject: Subject,
    /// The revision that was expected.
    pub expected: Revision,
    /// The revision that it has.
    pub found: Revision,
}

/// A subject that another run holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// What.
    pub subject: Subject,
    /// How the other holds it.
    pub mode: ClaimMode,
    /// The other run.
    pub run: RunId,
    /// Its last known holder: machine, process, user.
    pub holder: Holder,
}

/// Answer to CLAIM. Nothing is claimed unless everything is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimAnswer {
    /// All claims stand.
    Claimed,
    /// The lease is not current.
    Fenced(Fenced),
    /// Why not, each thing by name, in order of subject.
    Refused {
        /// Changed since the plan.
        stale: Vec<Stale>,
        /// Held by another run.
        held: Vec<Held>,
        /// In doubt from another run: to be resolved first.
        doubts: Vec<Doubt>,
    },
}

/// A step was made with a lease that is not current; nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fenced {
    /// The store was restored or replaced since the lease was taken.
    Incarnation {
        /// The store's identity now.
        now: Incarnation,
    },
    /// The store has no such run.
    NoRun,
    /// Another term holds the run, or (`None`) it was released.
    Token {
        /// The current token.
        now: Option<Token>,
    },
}

/// INTENT: the durable record before a call that changes the world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The operation.
    pub op: OpIndex,
    /// The attempt; greater than every earlier one of this operation.
    pub attempt: Attempt,
    /// The worker that will call.
    pub worker: WorkerId,
    /// The object that the call is about; its instance must be claimed exclusively.
    pub target: DoubtKey,
    /// What the call does, in a word for people: `create`, `update`, `delete`, `provision`...
    pub action: String,
    /// The revision that the instance must have; `None` does not check (the run's exclusive claim already keeps others
    /// away).
    pub base: Option<Revision>,
    /// Digest of the planned value.
    pub planned: Digest,
}

/// A new record of an instance, or its removal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceWrite {
    /// The instance.
    pub address: String,
    /// The whole new record; `None`, or one without objects, removes it.
    pub record: Option<InstanceRecord>,
}

/// A new root output, or its removal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputWrite {
    /// Its name.
    pub name: String,
    /// The record; `None` removes it.
    pub record: Option<OutputRecord>,
}

/// What a commit or failure changes in the state.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Writes {
    /// Resource instances; each claimed exclusively by the run.
    pub instances: Vec<InstanceWrite>,
    /// Root outputs.
    pub outputs: Vec<OutputWrite>,
    /// All check results, replaced as a whole (`Some(None)` stores JSON null).
    pub checks: Option<Option<Vec<CheckRecord>>>,
}

/// COMMIT: the durable result of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitRecord {
    /// The operation.
    pub op: OpIndex,
    /// The attempt.
    pub attempt: Attempt,
    /// The worker.
    pub worker: WorkerId,
    /// Whether an intent came before it and must match (operation, attempt, worker). `false` for operations that
    /// change nothing outside, which need none (reads, evaluations, outputs).
    pub intended: bool,
    /// What it changes in the state.
    pub writes: Writes,
    /// The result for the operations that wait for it, in the coordinator's own encoding.
    pub result: Opaque,
}

/// FAIL: only for an error that the provider really returned (or, with `intended: false`, one of our own).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The operation.
    pub op: OpIndex,
    /// The attempt.
    pub attempt: Attempt,
    /// The worker.
    pub worker: WorkerId,
    /// Whether an intent came before it and must match.
    pub intended: bool,
    /// A partial object, where the provider returned one (tainted if it was a create).
    pub writes: Writes,
    /// The diagnostics in the coordinator's own encoding.
    pub diagnostics: Opaque,
    /// What kind of failure it is.
    pub kind: FailureKind,
}

/// Kinds of failures. On disk they are the numbers 0, 1, 2, 3: none may come before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum FailureKind {
    /// An error was returned.
    #[default]
    Error,
    /// So it was, by a create that gave neither object nor proof of absence; `weft runs show` says so.
    AbsenceUnproven,
    /// The user gave the operation up (`weft runs resolve -forget`): nothing went wrong, and it is not tried again in this
    /// run.
    GivenUp,
    /// A create returned an object together with an error. The object is in the state, tainted, so the create is not tried
    /// again in this run: that would make a second object and lose the first.
    ObjectKept,
}

/// Where the knowledge that settles a doubt comes from, strongest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evidence {
    /// The late reply or spool of the worker that made the attempt.
    Worker,
    /// The object was read by its known id.
    Read,
    /// The object was looked up by its planned identity or client token, strongly consistent.
    Probe,
    /// The user said so, in these words (`-absent`, `-adopt ID`...).
    User(String),
}

/// What a doubt turned out to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It took effect; the commit has the attempt and worker of the intent.
    Done(CommitRecord),
    /// It did not, or a duplicate is accepted: it may be tried again.
    Pending,
    /// It failed, or is given up.
    Failed(Failure),
}

/// RESOLVE: settle a doubt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// The operation in doubt.
    pub op: OpIndex,
    /// The attempt in doubt.
    pub attempt: Attempt,
    /// How we know.
    pub evidence: Evidence,
    /// What happened.
    pub outcome: Outcome,
}

/// One step about one operation; batches of these share one durability wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoreStep {
    /// `pending | failed | skipped -> intended`.
    Intent(Intent),
    /// `intended -> done`; without an intent `pending | failed | skipped -> done`.
    Commit(CommitRecord),
    /// `intended -> failed`; without an intent `pending | failed | skipped -> failed`.
    Fail(Failure),
    /// `intended -> in-doubt`: the worker is gone or cannot tell.
    Doubt {
        /// The operation.
        op: OpIndex,
        /// The attempt of the open intent.
        attempt: Attempt,
        /// Why, for people.
        reason: String,
    },
    /// `in-doubt -> done | pending | failed`.
    Resolve(Resolution),
    /// `pending | failed -> skipped`: an input failed or is in doubt.
    Skip {
        /// The operation.
        op: OpIndex,
        /// The input.
        because: OpIndex,
    },
    /// `failed | skipped -> pending`, at resume.
    Reopen {
        /// The operation.
        op: OpIndex,
    },
    /// Keep an object of a superseded attempt.
    Stray(Stray),
    /// What came of all checks of the run, at its end: only [`Writes::checks`] is set. The same again writes the same
    /// again.
    Checks(Writes),
}

impl StoreStep {
    /// The operation that it is about; none for one about the run as a whole.
    pub fn op(&self) -> Option<OpIndex> {
        Some(match self {
            StoreStep::Intent(intent) => intent.op,
            StoreStep::Commit(commit) => commit.op,
            StoreStep::Fail(failure) => failure.op,
            StoreStep::Doubt { op, .. } | StoreStep::Skip { op, .. } | StoreStep::Reopen { op } => *op,
            StoreStep::Resolve(resolution) => resolution.op,
            StoreStep::Stray(stray) => stray.op,
            StoreStep::Checks(_) => return None,
        })
    }
}

/// Answer to one step. Anything but `Ok` means that nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAnswer {
    /// Durable.
    Ok {
        /// New revisions of what the step wrote, in order of its writes.
        revisions: Vec<(Subject, Revision)>,
        /// Whether the very same step had been made before: a resent one.
        repeated: bool,
    },
    /// The lease is not current.
    Fenced(Fenced),
    /// The base revision is not that of the instance.
    Stale(Vec<Stale>),
    /// These are written without an exclusive claim of the run.
    NotClaimed(Vec<Subject>),
    /// The instance is in doubt from this operation's or another's call; resolve it first.
    Doubtful(Box<Doubt>),
    /// The operation does not stand where the step needs it.
    Illegal {
        /// Where it stands.
        status: OpStatus,
        /// Its last attempt.
        attempt: Attempt,
        /// Who made it.
        worker: WorkerId,
    },
}

impl StoreAnswer {
    /// Whether the step is durable.
    pub fn is_ok(&self) -> bool {
        matches!(self, StoreAnswer::Ok { .. })
    }
}

/// Answer to RENEW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenewAnswer {
    /// The counter now.
    Renewed {
        /// The heartbeat counter.
        heartbeat: u64,
    },
    /// The lease is not current.
    Fenced(Fenced),
}

/// How a term ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// To go on later: the claims stand.
    Stopped,
    /// Nothing more will be done: claims are released, except those of open doubts. The status becomes `in-doubt` if
    /// there are any, else `done` if every operation is, else `failed`.
    Finished,
}

/// Answer to RELEASE and ABANDON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseAnswer {
    /// The lease is free.
    Released(RunHeader),
    /// The lease is not current.
    Fenced(Fenced),
    /// RELEASE with intents still open: DOUBT or settle these first.
    Open(Vec<OpIndex>),
}

/// Answer to the creation of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateAnswer {
    /// It exists now, `stopped`, without claims. (The same again is answered so too.)
    Created,
    /// Another run has that id.
    Exists(RunStatus),
}
