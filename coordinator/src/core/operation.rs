//! The state of one operation within a term.

use std::fmt;

use weft_state::Digest;

use super::WorkerIndex;
use crate::status::Status;

/// The state of an operation, with the step that is under way for it. Every value of this type is a possible state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The operation has no attempt or step under way.
    Pending,
    /// A worker has the operation.
    Leased(Leased),
    /// The intent of the operation is durable.
    Intended(Intended),
    /// The result is durable.
    Done,
    /// The failure is durable.
    Failed {
        /// Whether the object exists despite the failure.
        keeps: bool,
    },
    /// The failure is durable, and the operation will be retried: the provider refused its call temporarily.
    Refused,
    /// An input failed or is in doubt.
    Skipped,
    /// The last attempt of the operation is in doubt.
    InDoubt(Doubt),
}

/// The step that is under way for a leased operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leased {
    /// The worker prepares the operation.
    AtWorker,
    /// INTENT was sent to the store.
    IntentInStore,
    /// COMMIT or FAIL was sent to the store.
    ResultInStore,
}

/// The step that is under way for an operation with a durable intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intended {
    /// The worker calls the provider. A disconnected worker reports the outcome after it reconnects.
    AtWorker,
    /// COMMIT or FAIL was sent to the store.
    ResultInStore,
    /// DOUBT was sent to the store.
    DoubtInStore,
}

/// The step that is under way for an operation in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The next step is being decided.
    Open,
    /// The operation waits for a worker to look for evidence.
    Queued,
    /// This worker looks for evidence.
    AtSettler(WorkerIndex),
    /// RESOLVE was sent to the store.
    ResolveInStore,
    /// The doubt is from an earlier term. The worker that made the attempt may still report the outcome.
    AwaitsHolder,
    /// No evidence was found. The operation waits for the user.
    Unsettled,
}

impl State {
    /// The state of an operation that has just got this status.
    pub(super) fn entering(status: Status) -> State {
        match status {
            Status::Pending => State::Pending,
            Status::Leased => State::Leased(Leased::AtWorker),
            Status::Intended => State::Intended(Intended::AtWorker),
            Status::Done => State::Done,
            Status::Failed => State::Failed { keeps: false },
            Status::Skipped => State::Skipped,
            Status::InDoubt => State::InDoubt(Doubt::Open),
        }
    }

    /// The status in the run protocol.
    pub(super) fn status(self) -> Status {
        match self {
            State::Pending => Status::Pending,
            State::Leased(_) => Status::Leased,
            State::Intended(_) => Status::Intended,
            State::Done => Status::Done,
            State::Failed { .. } | State::Refused => Status::Failed,
            State::Skipped => Status::Skipped,
            State::InDoubt(_) => Status::InDoubt,
        }
    }

    /// Whether the coordinator has nothing more to do for an operation in this state. An operation in doubt is at rest
    /// only after the search for evidence has ended.
    pub(super) fn is_at_rest(self) -> bool {
        matches!(self, State::Done | State::Failed { .. } | State::Skipped | State::InDoubt(Doubt::Unsettled))
    }

    /// Whether an operation may change from this state to `next`. This refines [`crate::status::transition`]: the
    /// status changes only in the stage in which an answer of the store or the worker is expected.
    pub(super) fn may_become(self, next: State) -> bool {
        use Doubt as D;
        use Intended as I;
        use Leased as L;
        match self {
            State::Pending => matches!(next, State::Leased(L::AtWorker) | State::Skipped),
            // A live result is never written to the store. So when such a result arrives, the operation goes directly
            // to its next state.
            State::Leased(L::AtWorker) => matches!(
                next,
                State::Pending
                    | State::Leased(L::IntentInStore | L::ResultInStore)
                    | State::Done
                    | State::Failed { .. }
                    | State::Refused
            ),
            State::Leased(L::IntentInStore) => {
                matches!(next, State::Leased(L::AtWorker) | State::Intended(I::AtWorker))
            }
            State::Leased(L::ResultInStore) | State::Intended(I::ResultInStore) => {
                matches!(next, State::Done | State::Failed { .. } | State::Refused)
            }
            State::Intended(I::AtWorker) => matches!(next, State::Intended(I::ResultInStore | I::DoubtInStore)),
            // After a DOUBT that was sent together with its RESOLVE, the doubt has no open stage.
            State::Intended(I::DoubtInStore) => matches!(next, State::InDoubt(D::Open)),
            State::InDoubt(D::Open) => {
                matches!(next, State::InDoubt(D::Queued | D::Unsettled | D::ResolveInStore | D::AwaitsHolder))
            }
            State::InDoubt(D::Queued) => matches!(next, State::InDoubt(D::AtSettler(_) | D::Open)),
            State::InDoubt(D::AtSettler(_) | D::AwaitsHolder | D::Unsettled) => next == State::InDoubt(D::Open),
            State::InDoubt(D::ResolveInStore) => matches!(next, State::Done | State::Pending | State::Failed { .. }),
            State::Failed { .. } | State::Refused | State::Skipped => next == State::Pending,
            State::Done => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            State::Pending => "pending",
            State::Leased(Leased::AtWorker) => "leased",
            State::Leased(Leased::IntentInStore) => "leased, with its intent on the way to the store",
            State::Leased(Leased::ResultInStore) => "leased, with its result on the way to the store",
            State::Intended(Intended::AtWorker) => "intended",
            State::Intended(Intended::ResultInStore) => "intended, with its result on the way to the store",
            State::Intended(Intended::DoubtInStore) => "intended, with a doubt on the way to the store",
            State::Done => "done",
            State::Failed { keeps: false } => "failed",
            State::Failed { keeps: true } => "failed, with an object",
            State::Refused => "refused for now",
            State::Skipped => "skipped",
            State::InDoubt(Doubt::Open) => "in doubt",
            State::InDoubt(Doubt::Queued) => "in doubt, waiting for a worker",
            State::InDoubt(Doubt::AtSettler(_)) => "in doubt, with a worker that looks for evidence",
            State::InDoubt(Doubt::ResolveInStore) => "in doubt, with its resolution on the way to the store",
            State::InDoubt(Doubt::AwaitsHolder) => "in doubt, waiting for the report of its worker",
            State::InDoubt(Doubt::Unsettled) => "in doubt, waiting for the user",
        })
    }
}

/// The last attempt of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastAttempt {
    /// The number of the attempt; 0 before the first attempt.
    pub(super) number: u32,
    /// The worker that made the attempt.
    pub(super) holder: Option<WorkerIndex>,
    /// Whether the attempt began in this term, so that its worker has the shard open.
    pub(super) begun_here: bool,
    /// Whether the worker itself reported that it does not know the outcome.
    pub(super) reported: bool,
    /// When the worker received the task, in milliseconds.
    pub(super) since: u64,
    /// The digest of the planned change in the intent.
    pub(super) planned: Option<Digest>,
}

impl LastAttempt {
    /// The worker that made the attempt, if it has the shard open and the result in memory.
    pub(super) fn maker(&self) -> Option<WorkerIndex> {
        self.holder.filter(|_| self.begun_here)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::status::{HAPPENINGS, transition};

    /// Every state, with one worker.
    pub(crate) const STATES: [State; 18] = [
        State::Pending,
        State::Leased(Leased::AtWorker),
        State::Leased(Leased::IntentInStore),
        State::Leased(Leased::ResultInStore),
        State::Intended(Intended::AtWorker),
        State::Intended(Intended::ResultInStore),
        State::Intended(Intended::DoubtInStore),
        State::Done,
        State::Failed { keeps: false },
        State::Failed { keeps: true },
        State::Refused,
        State::Skipped,
        State::InDoubt(Doubt::Open),
        State::InDoubt(Doubt::Queued),
        State::InDoubt(Doubt::AtSettler(WorkerIndex(0))),
        State::InDoubt(Doubt::ResolveInStore),
        State::InDoubt(Doubt::AwaitsHolder),
        State::InDoubt(Doubt::Unsettled),
    ];

    #[test]
    fn a_state_has_the_status_that_it_entered() {
        use Status::{Done, Failed, InDoubt, Intended, Leased, Pending, Skipped};
        for status in [Pending, Leased, Intended, Done, Failed, Skipped, InDoubt] {
            assert_eq!(State::entering(status).status(), status);
            assert_eq!(State::entering(status).is_at_rest(), matches!(status, Done | Failed | Skipped));
        }
    }

    #[test]
    fn the_states_refine_the_protocol() {
        let leads = |from: Status, to: Status| HAPPENINGS.iter().any(|event| transition(from, *event) == Some(to));
        for from in STATES {
            for to in STATES.into_iter().filter(|to| from.may_become(*to)) {
                let within = from.status() == to.status();
                assert!(within || leads(from.status(), to.status()), "{from:?} becomes {to:?}");
            }
        }
        // Every transition of the protocol is possible from some stage of its status.
        for happening in HAPPENINGS {
            for status in STATES.map(State::status) {
                let Some(next) = transition(status, happening) else { continue };
                let from = |state: &State| state.status() == status && state.may_become(State::entering(next));
                assert!(STATES.iter().any(from), "{happening:?} of {status:?}");
            }
        }
    }

    #[test]
    fn a_state_is_no_successor_of_itself() {
        assert!(STATES.iter().all(|state| !state.may_become(*state)));
    }
}
