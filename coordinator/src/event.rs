//! What a coordinator hears and what it wants done: the two sides of [`crate::core::Coordinator::step`].

use weft_state::{Ending, OpCounts, Opaque, StoreAnswer, StoreStep, WorkerId};

use crate::worker::{FromWorker, Hello, Order};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A worker connected, for the first time or again.
    Joined(Hello),
    /// It is about to leave: it ends what it has begun and takes nothing else.
    Leaving(WorkerId),
    /// Its stream broke. It may come back.
    Left(WorkerId),
    /// That process is known to be dead, and its providers with it.
    Dead(WorkerId),
    /// It said something.
    Said(WorkerId, FromWorker),
    /// The store answered the oldest steps that it was given, in order.
    Stored(Vec<StoreAnswer>),
    /// The lease is not ours any more.
    Fenced,
    /// RENEW had no success for half the TTL (`true`), or has again (`false`): no new tasks meanwhile.
    Paused(bool),
    /// The user wants it to end.
    Cancel(Cancel),
    /// The user says what became of an operation in doubt.
    Resolve(UserResolution),
    /// Time passed.
    Tick,
}

/// How a run is to end early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cancel {
    /// No new calls; running ones end.
    Drain,
    /// Providers are asked to stop. What they return within [`crate::timing::STOP_WAIT`] is kept; what is open then is in
    /// doubt.
    Stop,
    /// At once; what is open is in doubt.
    Leave,
}

/// What the user says became of an operation in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserResolution {
    /// The operation's number.
    pub operation: u32,
    /// What.
    pub decision: Decision,
}

/// `weft runs resolve RUN ADDRESS -adopt ID | -absent | -retry | -forget`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The object exists and has this id: read it and keep it.
    Adopt(String),
    /// It did not take effect: pending again.
    Absent,
    /// Try again and accept a duplicate.
    Retry,
    /// Neither do it nor keep it.
    Forget,
}

impl Decision {
    /// The option's word.
    pub fn word(&self) -> String {
        match self {
            Decision::Adopt(id) => format!("-adopt {id}"),
            Decision::Absent => "-absent".to_owned(),
            Decision::Retry => "-retry".to_owned(),
            Decision::Forget => "-forget".to_owned(),
        }
    }
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Give these to the store behind all earlier ones; answer with [`Event::Stored`] in the same order.
    Store(Vec<StoreStep>),
    /// Tell a worker.
    Send {
        /// Whom.
        worker: WorkerId,
        /// What, in order.
        orders: Vec<Order>,
    },
    /// Tell whoever watches.
    Progress(Progress),
    /// The run ends here; no command comes after it.
    Finish(Finish),
}

/// How a term of a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    /// How to RELEASE; `None` when there is nothing of ours to release (fenced).
    pub release: Option<Ending>,
    /// Why it ended.
    pub reason: FinishReason,
    /// Where the operations stand.
    pub counts: OpCounts,
    /// Operations in doubt, ascending.
    pub in_doubt: Vec<u32>,
    /// Operations that are not finished, ascending: pending, or with an open intent.
    pub unfinished: Vec<u32>,
    /// What happened, where a defect of ours ended it.
    pub defect: Option<String>,
}

/// Why a term of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// Nothing is left to do.
    Complete,
    /// The user asked; what was running has ended.
    Drained,
    /// The user asked twice, and calls were still under way; they are in doubt.
    Left,
    /// Another coordinator holds the run.
    Fenced,
    /// No worker can take what is left.
    NoWorker,
    /// Only resolutions were wanted, and they are settled.
    Resolved,
    /// The store refused a step in a way that must not happen; nothing more is done.
    StoreRefused,
    /// An operation was to move as the protocol does not allow: a defect of ours. Nothing more is done, and the next
    /// term begins from what the store holds.
    Defect,
}

/// Something to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The operation's number.
    pub operation: u32,
    /// Its address.
    pub address: String,
    /// The deposed object that it is about.
    pub deposed: Option<String>,
    /// `create`, `update`...
    pub action: String,
    /// Provider instance as text; empty where there is none.
    pub provider_instance: String,
    /// Which attempt.
    pub attempt: u32,
    /// Who carries it out; empty when nobody does.
    pub worker: WorkerId,
    /// Milliseconds since it was handed to a worker.
    pub elapsed_ms: u64,
    /// What happened.
    pub what: ProgressKind,
    /// Encoded diagnostics.
    pub diagnostics: Opaque,
}

/// What happened to an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgressKind {
    /// A worker has it.
    Started,
    /// It was given back and waits again.
    Returned,
    /// Done, durable.
    Done {
        /// Something outside may have been changed: there was an intent. Without one, a planned change turned out to be
        /// none.
        intended: bool,
    },
    /// Failed, durable.
    Failed,
    /// Not done since this operation (its number) failed or is in doubt.
    Skipped {
        /// The operation's number.
        because: u32,
    },
    /// Nobody knows; evidence is sought.
    Settling {
        /// Why nobody knows.
        reason: String,
    },
    /// Nobody knows, and no evidence was found.
    InDoubt {
        /// Why, for people.
        reason: String,
    },
    /// A superseded attempt reported an object that differs from the recorded one; it is kept.
    Stray,
    /// No connected worker may take the shard of this operation.
    Waiting,
}

impl ProgressKind {
    /// What a word of [`ProgressKind::word`] says, with what stands beside it; `None` for one of a later version.
    pub fn of_word(word: &str, reason: String, intended: bool) -> Option<ProgressKind> {
        Some(match word {
            "started" => ProgressKind::Started,
            "returned" => ProgressKind::Returned,
            "done" => ProgressKind::Done { intended },
            "failed" => ProgressKind::Failed,
            "skipped" => ProgressKind::Skipped { because: reason.parse().unwrap_or_default() },
            "settling" => ProgressKind::Settling { reason },
            "in-doubt" => ProgressKind::InDoubt { reason },
            "stray" => ProgressKind::Stray,
            "waiting" => ProgressKind::Waiting,
            _ => return None,
        })
    }

    /// The word for JSON.
    pub fn word(&self) -> &'static str {
        match self {
            ProgressKind::Started => "started",
            ProgressKind::Returned => "returned",
            ProgressKind::Done { .. } => "done",
            ProgressKind::Failed => "failed",
            ProgressKind::Skipped { .. } => "skipped",
            ProgressKind::Settling { .. } => "settling",
            ProgressKind::InDoubt { .. } => "in-doubt",
            ProgressKind::Stray => "stray",
            ProgressKind::Waiting => "waiting",
        }
    }
}
