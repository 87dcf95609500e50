//! The messages between coordinators and workers: plain data, and one codec for both sides.
//!
//! [`order`] has the messages from a coordinator to a worker, and [`report`] has the messages from a worker to a
//! coordinator. [`greeting`] has the first message of each side. [`frame`] has whole frames, and `codec` encodes and
//! decodes them. `proto/proto/cluster.proto` describes the bytes. The messages contain no generated types.
//!
//! # The rules for workers
//!
//! Frames are sent over channels within one process, and over one stream between two processes. A worker that follows
//! these rules never makes two calls with unknown outcomes for one operation, and never loses a result.
//!
//! 1. **Greeting.** The first frame has a [`Greeting`] and nothing else. `name/incarnation` identifies the worker. The
//!    incarnation stays the same as long as the process lives, even after reconnects. `held` lists the started tasks of
//!    all runs, except those that were acknowledged, dropped, refused or returned. After the coordinator's [`Welcome`],
//!    the worker sends again each intent without an answer and each result without an acknowledgement. An empty `held`
//!    means that the worker has no earlier task.
//! 2. **Shards.** [`Order::Open`] has the fragment. If the shard is already open, it stays open and receives the
//!    `restored` results. [`Order::Foreign`] and [`Order::Restored`] arrive before the tasks that read their values,
//!    and may arrive twice. After [`Order::Close`], no task of the shard follows, and the shard's provider may end.
//!    After [`Order::Leave`], the worker forgets the run, except for tasks that were called but not acknowledged. If a
//!    shard cannot be opened (missing package, unreadable fragment), the worker sends [`Report::Refused`] and forgets
//!    the shard's started tasks.
//! 3. **Tasks that change no real object** are carried out at once and end in a [`TaskResult`].
//! 4. **Tasks that change real objects.** First, the worker makes the final plan and compares it with the reviewed
//!    plan. If this step fails, the result is [`TaskResult::Failed`], without an intent. If the final plan has no
//!    changes, no intent is needed. If the order has `read_first`, the worker reads the object before the final plan
//!    (update, delete), or looks it up after the final plan if the type allows that (create). Then the worker sends a
//!    [`Report::Intent`]. It makes the call only if two conditions hold:
//!
//!    - [`Order::Granted`] has arrived for exactly this attempt.
//!    - On the worker's clock, less than [`Welcome::intent_age_ms`] has passed since the worker first requested this
//!      intent. If more time has passed, the result is [`TaskResult::NotCalled`].
//!
//!    After [`Order::IntentRefused`], the worker forgets the task. If an intent is granted for a task that the worker
//!    does not have or has returned, the worker answers with [`TaskResult::NotCalled`]. The worker ignores a grant for
//!    a task that it has already called.
//! 5. **Results.**
//!
//!    - [`TaskResult::Done`] has three parts: every change of the state, object by object; `local` for readers in the
//!      same shard; one value for each [`Export`] of the operation.
//!    - [`TaskResult::Failed`] is for an error that the provider returned, or for an error of Weft before anything was
//!      sent to the provider. If the worker could not start or configure the provider, and has never opened it for this
//!      shard, the failure sets `unopened`, and a coordinator may give the shard to another worker. A create that
//!      returned an error and no object sets `absence_unproven`.
//!    - [`TaskResult::InDoubt`] is for a call without a usable reply: the connection broke, the provider crashed, a
//!      deadline passed, or the reply cannot be decoded. A missing reply proves nothing. A create that returned an
//!      error and no object is in doubt, too, if the run was stopped before the error. `provider_dead` says whether the
//!      provider's process is known to be dead.
//! 6. **Kept until acknowledged.** The worker keeps a result, and sends it again after each reconnect, until
//!    [`Order::Acknowledged`].
//! 7. **Ending early.**
//!
//!    - After [`Order::Drop`], the worker forgets the task unless the task was called. If the worker had asked for the
//!      task's intent, the result is [`TaskResult::NotCalled`].
//!    - After [`Order::Drain`], the worker starts no new call in this run. It sends [`Report::Returned`] for each task
//!      whose intent it has not requested. A task whose intent was requested ends with the answer: if the intent is
//!      granted, the result is [`TaskResult::NotCalled`].
//!    - A worker that is about to leave sends [`WorkerFrame::leaving`] once. It receives no new task of any run, and
//!      returns tasks as after [`Order::Drain`]. It leaves when the results of its calls are acknowledged.
//! 8. **Settling.** The worker reads the object by its known id (update, delete) or looks it up by its planned identity
//!    (create). With `adopt`, the worker reads the object with that id. It changes nothing, because the attempt may
//!    still be running elsewhere. The verdict is one of these:
//!
//!    - [`SettleVerdict::Applied`], with everything that a finished task reports. For example, a deleted object is
//!      absent, or an updated object is as planned.
//!    - [`SettleVerdict::NotApplied`]. Its `holder_dead` repeats the value of the order, unless the worker knows that
//!      the process has died since.
//!    - [`SettleVerdict::Found`], with an object that only the user can judge.
//!    - [`SettleVerdict::Unopened`], if the worker could not start or configure the provider, and has never opened it
//!      for this shard. A coordinator may give the shard to another worker, which looks for the evidence.
//!    - [`SettleVerdict::Unknown`], with the reason. The reason is empty if the worker had no method to look for
//!      evidence.
//! 9. **Silence.** On an idle stream, a worker sends a heartbeat every [`Welcome::heartbeat_ms`]. After
//!    [`Welcome::pause_ms`] without a frame from the coordinator, the worker starts no new call, lets running calls
//!    end, and reconnects.
//! 10. **Lines of provisioners** are sent when they are written, without an acknowledgement, and before the result of
//!     their operation. A worker that cannot send lines drops them, so no provisioner waits for a dead coordinator.
//! 11. **Providers die with the worker.** Provider processes are killed when the worker's process dies. So the death of
//!     a worker proves that none of its calls is under way.
//! 12. **Spools.** A worker may store unacknowledged results in a file, and hand them over after a restart under the
//!     same name. `held` then has the task with its [`HeldTask::maker`], and the result follows like a result of the
//!     worker itself. A coordinator accepts the result only if the maker made the current attempt. A coordinator older
//!     than [`PROTOCOL_OF_SPOOLS`] would mistake the result for that of another attempt. The worker does not send the
//!     result to such a coordinator, and the result stays in the file.

#![forbid(unsafe_code)]

pub mod clock;
mod codec;
pub mod diagnostics;
pub mod frame;
pub mod greeting;
pub mod order;
mod problems;
pub mod report;
mod wire;

use weft_graph_format::run::Attempt;
pub use weft_graph_format::shown::ShownName;

pub use frame::{CoordinatorFrame, EncodedFrame, FrameError, OutputLine, RunLine, RunOrders, RunReports, WorkerFrame};
pub use greeting::{Greeting, HeldPackage, HeldPhase, HeldTask, Welcome};
pub use order::{Export, OpenShard, Order, SettleOrder, ShardPackage};
pub use report::{Candidate, ObjectChange, ObjectWrite, Report, SettleVerdict, TaskDone, TaskResult, TaskWrites};

/// The version of the protocol.
pub const PROTOCOL: u32 = 2;
/// The first version in which a worker hands over results of earlier processes of its name ([`HeldTask::maker`]).
pub const PROTOCOL_OF_SPOOLS: u32 = 2;
/// The maximum difference between the versions of two sides. It allows upgrades of a cluster during runs. A new version
/// understands the messages of the previous version. To the previous version, it sends only what that version knows or
/// may ignore.
pub const PROTOCOL_DISTANCE: u32 = 1;

/// Whether this version works with another version. 0 is not a valid version.
pub fn works_with(other: u32) -> bool {
    other > 0 && other.abs_diff(PROTOCOL) <= PROTOCOL_DISTANCE
}

/// An operation and one attempt of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    /// The operation's number in the plan.
    pub operation: u32,
    /// The attempt.
    pub attempt: Attempt,
}

impl Task {
    /// The task of this operation and attempt.
    pub fn new(operation: u32, attempt: u32) -> Task {
        Task { operation, attempt: Attempt(attempt) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_versions_work_together() {
        for (other, works) in [(0, false), (PROTOCOL, true), (PROTOCOL + 1, true), (PROTOCOL + 2, false)] {
            assert_eq!(works_with(other), works, "{other}");
        }
    }
}
