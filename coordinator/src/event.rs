//! The events that a coordinator handles, and the instructions that it returns: the inputs and outputs of
//! [`crate::core::Coordinator::step`].

use std::collections::BTreeMap;

use weft_protocol::{HeldTask, Order, OutputLine, Report};
use weft_state::{Choice, OpCounts, StoreAnswer, StoreStep, TermEnding, TokenGrant, TokenRequest, WorkerId};

use crate::operation_event::OperationEvent;

/// The greeting of a connected worker, reduced to the data for one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// `NAME/INCARNATION`: the worker and its process.
    pub worker: WorkerId,
    /// The number of the worker's connection. Later connections have higher numbers.
    pub connection: u64,
    /// The labels of the worker.
    pub labels: BTreeMap<String, String>,
    /// The maximum number of concurrent tasks.
    pub capacity: u32,
    /// Checksums of the worker's provider packages. Empty if the worker listed none.
    pub packages: Vec<String>,
    /// The worker's unacknowledged tasks of this run.
    pub held: Vec<HeldTask>,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A worker connected or reconnected.
    Joined(Hello),
    /// A worker is about to leave. It finishes the operations that it began, and accepts no other operations.
    Leaving(WorkerId),
    /// A worker that was about to leave stays.
    Stays(WorkerId),
    /// A worker's stream broke. It may reconnect.
    Left(WorkerId),
    /// The process of a worker and its provider processes are known to be dead.
    Dead(WorkerId),
    /// A worker sent a report.
    Said(WorkerId, Report),
    /// A worker sent a line that a provisioner wrote. The line is only shown to watchers; no decision depends on it.
    Line(OutputLine),
    /// The store answered the oldest steps, in order.
    Stored(Vec<StoreAnswer>),
    /// The lease is lost.
    Fenced,
    /// `true`: half the TTL passed without a successful RENEW, so no operation starts. `false`: a RENEW succeeded
    /// again.
    Paused(bool),
    /// The user wants the run to end.
    Cancel(Cancel),
    /// The user resolved an operation in doubt.
    Resolve(UserResolution),
    /// The answer of the store to the last [`Instruction::TakeTokens`]: the reserved tokens, in the order of the
    /// request. `None` if the store did not answer.
    Tokens(Option<Vec<TokenGrant>>),
    /// The time that [`crate::core::Coordinator::wakes_at`] returned has come.
    Due,
    /// A periodic event, for time limits.
    Tick,
}

/// How a run ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cancel {
    /// No new call begins. Running calls continue to their end.
    Drain,
    /// Providers are asked to stop. Results that they return within [`crate::timing::STOP_WAIT`] are recorded. Calls
    /// that are still open after this time are in doubt.
    Stop,
    /// The run ends at once. Open calls are in doubt.
    Leave,
}

/// The user's decision on an operation in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserResolution {
    /// The operation's number.
    pub operation: u32,
    /// The decision.
    pub decision: Decision,
}

/// `weft runs resolve RUN ADDRESS -adopt ID | -absent | -retry | -forget`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The object exists and has this id. The object is read and recorded in the state.
    Adopt(String),
    /// The attempt had no effect: the operation is pending again.
    Absent,
    /// Retry the operation, and accept that this may create a duplicate.
    Retry,
    /// Abandon the operation, and record no object.
    Forget,
}

impl Decision {
    /// The name of the option without its dash. Files of resolutions use the same name.
    pub fn name(&self) -> &'static str {
        self.choice().word()
    }

    /// The choice of the decision.
    pub fn choice(&self) -> Choice {
        match self {
            Decision::Adopt(_) => Choice::Adopt,
            Decision::Absent => Choice::Absent,
            Decision::Retry => Choice::Retry,
            Decision::Forget => Choice::Forget,
        }
    }

    /// The option of `weft runs resolve`, with its dash.
    pub fn word(&self) -> String {
        match self {
            Decision::Adopt(id) => format!("-{} {id}", self.name()),
            _ => format!("-{}", self.name()),
        }
    }
}

/// An instruction of the core to its driver.
#[derive(Clone, Debug, PartialEq)]
pub enum Instruction {
    /// Send these steps to the store, after all earlier steps. Answer with [`Event::Stored`] in the same order.
    Store(Vec<StoreStep>),
    /// Ask the store for tokens of budgets. Answer with [`Event::Tokens`]. The next such instruction comes after the
    /// answer.
    TakeTokens(Vec<TokenRequest>),
    /// Send orders to a worker.
    Send {
        /// The worker.
        worker: WorkerId,
        /// The orders.
        orders: Vec<Order>,
    },
    /// Report this to watchers.
    Progress(OperationEvent),
    /// The term ends. No instruction follows.
    Finish(Finish),
}

/// The end of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    /// How to RELEASE the lease; `None` if the lease was lost.
    pub release: Option<TermEnding>,
    /// The reason.
    pub reason: FinishReason,
    /// The number of operations by status.
    pub counts: OpCounts,
    /// Operations in doubt, ascending.
    pub in_doubt: Vec<u32>,
    /// Unfinished operations, ascending: pending, or with an open intent.
    pub unfinished: Vec<u32>,
    /// The defect that ended the term.
    pub defect: Option<Defect>,
}

/// An illegal transition. It is a bug in Weft, and ends the term.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address} (operation {operation}) cannot become {to}: it is {from}, and {message}")]
pub struct Defect {
    /// The number of the operation.
    pub operation: u32,
    /// The address of the operation.
    pub address: String,
    /// The state of the operation before the transition.
    pub from: String,
    /// The state that the operation cannot enter from `from`.
    pub to: String,
    /// What happened.
    pub message: String,
}

/// Why a term ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// No work remains.
    Complete,
    /// The user asked the run to end, and the running operations have ended.
    Drained,
    /// The user asked twice for the end. Calls that were still running are in doubt.
    Left,
    /// Another process has taken over the run.
    Fenced,
    /// No worker can carry out the remaining operations.
    NoWorker,
    /// Only resolutions were requested, and they were carried out.
    Resolved,
    /// The store refused a step that it must accept. The term ends at once.
    StoreRefused,
    /// An illegal transition, which is a bug in Weft. The term ends at once. The next term begins with the content of
    /// the store.
    Defect,
}
