//! The state of one operation within a term.

use super::WorkerIndex;
use crate::status::Status;

/// Where an operation stands, and what is under way for it. Every combination that can be written down can occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing is under way.
    Pending,
    /// A worker has it.
    Leased(Leased),
    /// Its intent is durable.
    Intended(Intended),
    /// The result is durable.
    Done,
    /// The failure is durable.
    Failed {
        /// The object exists all the same.
        keeps: bool,
    },
    /// An input failed or is in doubt.
    Skipped,
    /// Its last attempt is in doubt.
    InDoubt(Doubt),
}

/// What is under way for a leased operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leased {
    /// The worker prepares it.
    AtWorker,
    /// INTENT is in the store.
    IntentInStore,
    /// COMMIT or FAIL is in the store.
    ResultInStore,
}

/// What is under way for an operation with a durable intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intended {
    /// The worker calls the provider, or will say when it comes back what it did.
    AtWorker,
    /// COMMIT or FAIL is in the store.
    ResultInStore,
    /// DOUBT is in the store.
    DoubtInStore,
}

/// What is under way for an operation in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The next step is being decided.
    Open,
    /// It waits for a worker that looks for evidence.
    Queued,
    /// This worker looks for evidence.
    AtSettler(WorkerIndex),
    /// RESOLVE is in the store.
    ResolveInStore,
    /// In doubt since an earlier term: its worker may still report the outcome.
    AwaitsHolder,
    /// No evidence was found. It waits for the user.
    Unsettled,
}

impl State {
    /// The state in which an operation enters a status.
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

    /// The status of the run protocol.
    pub(super) fn status(self) -> Status {
        match self {
            State::Pending => Status::Pending,
            State::Leased(_) => Status::Leased,
            State::Intended(_) => Status::Intended,
            State::Done => Status::Done,
            State::Failed { .. } => Status::Failed,
            State::Skipped => Status::Skipped,
            State::InDoubt(_) => Status::InDoubt,
        }
    }

    /// Whether nothing is left to do. An operation in doubt is not at rest until the search for evidence ended.
    pub(super) fn is_at_rest(self) -> bool {
        matches!(self, State::Done | State::Failed { .. } | State::Skipped)
    }
}

/// An operation.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) state: State,
    /// The highest attempt that some worker holds from an earlier term. Numbers up to it are not given again.
    pub(super) floor: u32,
    /// An earlier attempt failed or was in doubt.
    pub(super) tried: bool,
    pub(super) last: LastAttempt,
}

/// The last attempt of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastAttempt {
    /// Its number; 0 before the first.
    pub(super) number: u32,
    /// The worker that made it.
    pub(super) holder: Option<WorkerIndex>,
    /// It began in this term, so its worker has the shard open.
    pub(super) begun_here: bool,
    /// The worker itself reported that it cannot tell the outcome.
    pub(super) reported: bool,
    /// When the worker received it.
    pub(super) since: u64,
}

impl Op {
    /// An operation before its first attempt.
    pub(super) fn new(now: u64) -> Op {
        let last = LastAttempt { number: 0, holder: None, begun_here: false, reported: false, since: now };
        Op { state: State::Pending, floor: 0, tried: false, last }
    }

    /// Begins the next attempt.
    pub(super) fn begin(&mut self, holder: Option<WorkerIndex>, now: u64) {
        let number = self.last.number.max(self.floor) + 1;
        self.last = LastAttempt { number, holder, begun_here: true, reported: false, since: now };
    }

    /// The status of the run protocol.
    pub(super) fn status(&self) -> Status {
        self.state.status()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_has_the_status_that_it_entered() {
        use Status::{Done, Failed, InDoubt, Intended, Leased, Pending, Skipped};
        for status in [Pending, Leased, Intended, Done, Failed, Skipped, InDoubt] {
            assert_eq!(State::entering(status).status(), status);
            assert_eq!(State::entering(status).is_at_rest(), matches!(status, Done | Failed | Skipped));
        }
    }

    #[test]
    fn attempts_are_numbered_after_those_of_earlier_terms() {
        let mut op = Op::new(5);
        op.floor = 7;
        op.last.reported = true;
        op.begin(None, 9);
        assert_eq!((op.last.number, op.last.since, op.last.reported), (8, 9, false));
        op.begin(None, 10);
        assert_eq!(op.last.number, 9);
    }
}
