//! The steps of the run protocol as data, and the store's answers to them.

use serde::{Deserialize, Serialize};
use weft_graph_format::operation_kind::NamedAction;

use crate::result::{CommitRecord, Failure, Writes};
use crate::run::{
    Attempt, Digest, Holder, Incarnation, Lease, LeaseView, OpIndex, OpStatus, RunHeader, RunId, RunStatus, Stray,
    Token, WorkerId,
};
use crate::subject::{Doubt, DoubtKey, Revision, Subject};

/// ACQUIRE: requests the lease of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquire {
    /// The run.
    pub run: RunId,
    /// The process that requests the lease.
    pub holder: Holder,
    /// A random number, new for each attempt to acquire. A resent ACQUIRE has the same term, so the store grants the
    /// same lease again.
    pub term: u128,
    /// The lease to take over. The requesting process has seen this lease unchanged for a whole TTL of its own clock.
    /// The embedded store ignores this field, because only the lock of the state decides.
    pub unmoved: Option<LeaseView>,
}

/// Answer to ACQUIRE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcquireAnswer {
    /// The lease is granted. The operations with the status `intended` have open intents of earlier terms.
    Granted(Lease),
    /// Another process holds the lease, or the heartbeat has changed.
    Held(LeaseView),
    /// There is no such run.
    NoRun,
}

/// The mode of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ClaimMode {
    /// The plan reads the subject: other runs may read it, too, but none may change it.
    Shared,
    /// The plan changes the subject.
    Exclusive,
}

/// One thing that a plan changes or reads, at the revision that the plan recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The subject.
    pub subject: Subject,
    /// The mode.
    pub mode: ClaimMode,
    /// The revision that the plan saw.
    pub expected: Revision,
}

/// A subject that changed since the plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stale {
    /// The subject.
    pub subject: Subject,
    /// The revision that was expected.
    pub expected: Revision,
    /// The current revision.
    pub found: Revision,
}

/// A subject that another run has claimed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldSubject {
    /// The subject.
    pub subject: Subject,
    /// The mode of the other claim.
    pub mode: ClaimMode,
    /// The other run.
    pub run: RunId,
    /// The last known holder of that run: machine, process, user.
    pub holder: Holder,
}

/// The answer to CLAIM. Either all claims are granted or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimAnswer {
    /// All claims are granted.
    Claimed,
    /// The lease is not current.
    Fenced(Fenced),
    /// The reasons for the refusal, in order of subject.
    Refused {
        /// The subjects that changed since the plan.
        stale: Vec<Stale>,
        /// The subjects that another run has claimed.
        held: Vec<HeldSubject>,
        /// The doubts about subjects because of other runs. The user must resolve these doubts first.
        doubts: Vec<Doubt>,
    },
}

/// The lease of a step is not current. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fenced {
    /// The store was restored or replaced since the lease was taken.
    Incarnation {
        /// The store's identity now.
        now: Incarnation,
    },
    /// The store has no such run.
    NoRun,
    /// Another term has the lease of the run, or (`None`) the lease was released.
    Token {
        /// The current token.
        now: Option<Token>,
    },
}

/// INTENT: the durable record before a call that changes real objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The operation.
    pub op: OpIndex,
    /// The attempt; greater than every earlier one of this operation.
    pub attempt: Attempt,
    /// The worker that makes the call.
    pub worker: WorkerId,
    /// The object of the call. The run must have claimed its instance exclusively.
    pub target: DoubtKey,
    /// The action.
    pub action: NamedAction,
    /// The required revision of the instance. `None` skips the check, because the exclusive claim of the run already
    /// prevents changes by others.
    pub base: Option<Revision>,
    /// Digest of the planned value.
    pub planned: Digest,
}

/// The evidence that settles a doubt, strongest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evidence {
    /// The late reply or spool of the worker that made the attempt.
    Worker,
    /// The object was read by its known id.
    Read,
    /// The object was looked up by its planned identity or client token with strong consistency.
    Probe,
    /// The answer of the user, as the option of the command (`-absent`, `-adopt ID` and so on).
    User(String),
}

/// The outcome of a doubt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DoubtOutcome {
    /// The call took effect. The commit has the attempt and worker of the intent.
    Done(CommitRecord),
    /// The call did not take effect, or the user accepts a possible duplicate. The operation may be retried.
    Pending,
    /// The call failed, or the user marked the operation as failed.
    Failed(Failure),
}

/// RESOLVE: settles a doubt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// The operation in doubt.
    pub op: OpIndex,
    /// The attempt in doubt.
    pub attempt: Attempt,
    /// The evidence.
    pub evidence: Evidence,
    /// The outcome.
    pub outcome: DoubtOutcome,
}

/// One step about one operation. A batch of steps shares one wait for durability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoreStep {
    /// `pending | failed | skipped -> intended`.
    Intent(Intent),
    /// `intended -> done`; without an intent `pending | failed | skipped -> done`.
    Commit(CommitRecord),
    /// `intended -> failed`; without an intent `pending | failed | skipped -> failed`.
    Fail(Failure),
    /// `intended -> in-doubt`: the worker has died or does not know the outcome.
    Doubt {
        /// The operation.
        op: OpIndex,
        /// The attempt of the open intent.
        attempt: Attempt,
        /// The reason, for display.
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
    /// Stores an object of a superseded attempt.
    Stray(Stray),
    /// The results of all checks of the run, at its end. Only [`Writes::checks`] is set. Repeating the step writes the
    /// same results.
    Checks(Writes),
}

impl StoreStep {
    /// The operation of the step, or `None` for a step about the run as a whole.
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

    /// The writes of the step to the state, if its kind has any.
    pub fn writes(&self) -> Option<&Writes> {
        match self {
            StoreStep::Commit(commit) => Some(&commit.writes),
            StoreStep::Fail(failure) => Some(&failure.writes),
            StoreStep::Checks(writes) => Some(writes),
            StoreStep::Resolve(resolution) => match &resolution.outcome {
                DoubtOutcome::Done(commit) => Some(&commit.writes),
                DoubtOutcome::Failed(failure) => Some(&failure.writes),
                DoubtOutcome::Pending => None,
            },
            _ => None,
        }
    }
}

/// The answer to one step. Any answer but `Ok` means that nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAnswer {
    /// The step is durable.
    Ok {
        /// The new revisions of the subjects that the step wrote, in the order of its writes.
        revisions: Vec<(Subject, Revision)>,
        /// Whether this step was resent: the store already had the identical step.
        repeated: bool,
    },
    /// The lease is not current.
    Fenced(Fenced),
    /// The instance does not have the base revision.
    Stale(Vec<Stale>),
    /// The run has no exclusive claim on these subjects of the step.
    NotClaimed(Vec<Subject>),
    /// The instance is in doubt because of a call of this or another operation. Resolve the doubt first.
    Doubtful(Box<Doubt>),
    /// The status of the operation does not allow the step.
    Illegal {
        /// The current status.
        status: OpStatus,
        /// The last attempt.
        attempt: Attempt,
        /// The worker that made the last attempt.
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
    /// The lease is renewed.
    Renewed {
        /// The heartbeat counter.
        heartbeat: u64,
    },
    /// The lease is not current.
    Fenced(Fenced),
}

/// How a term ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TermEnding {
    /// The run will continue later. Its claims remain.
    Stopped,
    /// Nothing remains to be done. Claims are released, except those of open doubts. The status becomes `in-doubt` if
    /// there are open doubts, `done` if every operation is done, and `failed` otherwise.
    Finished,
}

/// Answer to RELEASE and ABANDON.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is one for each term")]
pub enum ReleaseAnswer {
    /// The lease is free.
    Released(RunHeader),
    /// The lease is not current.
    Fenced(Fenced),
    /// RELEASE found open intents. The caller must first settle them or record them with DOUBT.
    Open(Vec<OpIndex>),
}

/// Answer to the creation of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateAnswer {
    /// The run exists now with the status `stopped` and without claims. A repeated request gets the same answer.
    Created,
    /// Another run has that id.
    Exists(RunStatus),
}
