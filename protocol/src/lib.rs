//! The messages between coordinators and workers: plain data, and one codec for both sides.
//!
//! [`order`] has the messages from a coordinator to a worker, and [`report`] has those in the other direction.
//! [`greeting`] has the first message of each side. [`frame`] has whole frames, and `codec` encodes and decodes them.
//! `proto/proto/cluster.proto` describes the bytes. The messages contain no generated types.
//!
//! # The rules for workers
//!
//! Frames go over channels within one process, and over one stream between two processes. A worker that follows these
//! rules never makes two calls with unknown outcomes for one operation, and never loses a result.
//!
//! 1. **Greeting.** The first frame has a [`Greeting`] and nothing else. `name/incarnation` identifies the worker. The
//!    incarnation stays the same while the process lives, even over reconnects. `held` lists every task, of every run,
//!    that was started and then not acknowledged, dropped, refused or returned. After the coordinator's [`Welcome`],
//!    the worker sends again each intent without an answer and each result without an acknowledgement. An empty `held`
//!    means that no earlier task is under way.
//! 2. **Shards.** [`Order::Open`] has the fragment. A shard that is already open stays open, and receives the
//!    `restored` results. [`Order::Foreign`] and [`Order::Restored`] come before the tasks that read them, and may come
//!    twice. After [`Order::Close`] no task of the shard follows, and its provider may end. After [`Order::Leave`] the
//!    worker forgets the run, except for tasks that were called and not acknowledged. A shard that cannot be opened
//!    (missing package, unreadable fragment) is reported as [`Report::Refused`], and its started tasks are forgotten.
//! 3. **Tasks that change nothing outside** are carried out at once and end in a [`TaskResult`].
//! 4. **Tasks that change the world.** Everything that can be done before the call comes first: the final plan, which
//!    is compared with the reviewed one. A failure there is a [`TaskResult::Failed`] without an intent, and a plan
//!    without changes needs no intent either. Then the worker sends a [`Report::Intent`]. It makes the call only after
//!    [`Order::Granted`] for that very attempt, and only if less than [`Welcome::intent_age_ms`] has passed on its own
//!    clock since it first asked; otherwise the result is [`TaskResult::NotCalled`]. After [`Order::IntentRefused`] it
//!    forgets the task. It answers a grant for a task that it does not hold, or has returned, with
//!    [`TaskResult::NotCalled`], and ignores a grant for a task that it has already called.
//! 5. **Results.** [`TaskResult::Done`] has every change of the state, object by object, `local` for readers in the
//!    same shard, and one value for each [`Export`] of the operation. [`TaskResult::Failed`] is only for an error that
//!    the provider returned or, without an intent, for an error of Weft. A create that returned an error and no object
//!    sets `absence_unproven`; if the run was stopped or a deadline had passed before that, it is in doubt instead. If
//!    the connection breaks, the provider crashes, a deadline passes, or the reply cannot be decoded after the call,
//!    the result is [`TaskResult::InDoubt`], with `provider_dead` once the provider's process is known to be dead.
//!    Silence proves nothing.
//! 6. **Kept until acknowledged.** The worker keeps a result, and sends it again after each reconnect, until
//!    [`Order::Acknowledged`].
//! 7. **Ending early.** [`Order::Drop`]: the worker forgets the task unless it was called; if the task asked for its
//!    intent, the result is [`TaskResult::NotCalled`]. [`Order::Drain`]: the worker starts no new call in this run, and
//!    returns each task that has not asked for an intent with [`Report::Returned`]. A task that asked ends with the
//!    refusal or, if its intent is granted, with [`TaskResult::NotCalled`]. A worker that is about to leave sends
//!    [`WorkerFrame::leaving`] once, gets no new task of any run, and returns tasks in the same way. It leaves when the
//!    results of its calls are acknowledged.
//! 8. **Settling.** The worker reads the object by its known id (update, delete) or looks it up by its planned identity
//!    (create). It changes nothing, because the attempt may still be running elsewhere. The verdict is
//!    [`SettleVerdict::Applied`] with everything that a finished task reports, [`SettleVerdict::NotApplied`],
//!    [`SettleVerdict::Unknown`] with the reason, or [`SettleVerdict::Found`] with an object that only the user can
//!    judge. A reason is empty if there was no way to look. A deleted object that is absent, and an updated object that
//!    is as planned, count as applied. `holder_dead` repeats the value of the order, unless the worker knows more. With
//!    `adopt`, the worker reads the object with that id. A task with `read_first` reads or looks up before it plans.
//! 9. **Silence.** A worker sends a heartbeat every [`Welcome::heartbeat_ms`] on an idle stream. After
//!    [`Welcome::pause_ms`] without a frame from the coordinator it starts no new call, lets running calls end, and
//!    connects again.
//! 10. **Lines of provisioners** are sent when they are written, without an acknowledgement, and before the result of
//!     their operation. A worker that cannot send them drops them: no provisioner waits for a coordinator that is gone.
//! 11. **Providers die with the worker.** Provider processes are killed when the worker's process dies. So the death of
//!     a worker proves that none of its calls is under way.
//! 12. **Spools.** A worker may keep results without an acknowledgement in a file, and hand them over after a restart
//!     under the same name. Then `held` has the task with its [`HeldTask::maker`], and the result follows like a result
//!     of the worker itself. It counts as a report of the process that made it, so that process must have made the
//!     current attempt. A coordinator older than [`PROTOCOL_OF_SPOOLS`] would take it for the result of another
//!     attempt. Such a coordinator does not receive it, and the result stays in the file.

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
/// The maximum distance between the versions of two sides, so that a cluster can be upgraded during runs. A new version
/// understands the version before it, and sends nothing that the version before must understand.
pub const PROTOCOL_DISTANCE: u32 = 1;

/// Whether this version works with another one. No version is 0.
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
