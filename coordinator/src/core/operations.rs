//! All operations of a run, with their states, and the number of operations of each status.

use std::collections::BTreeMap;

use weft_state::{Digest, OpCounts};

use super::operation::{Doubt, LastAttempt, State};
use super::{Position, Table, WorkerIndex};
use crate::status::Status;

/// An operation.
#[derive(Clone, Debug)]
struct Operation {
    state: State,
    /// The highest attempt number from an earlier term that a worker still has. New attempts have higher numbers.
    floor: u32,
    /// The attempt that the store had recorded when this term began; 0 if there was none.
    restored: u32,
    /// Whether an earlier attempt failed or was in doubt.
    tried: bool,
    last: LastAttempt,
}

/// A change of state that is not allowed from the current state of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IllegalChange {
    pub(super) from: State,
    pub(super) to: State,
}

/// Whether a change of state brought an operation to rest, or made it active again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Unchanged,
    Began,
    Ended,
}

/// The worker that made an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maker {
    /// This worker.
    Known(WorkerIndex),
    /// A worker of an earlier term. The store names only the worker of the last attempt, and this attempt was replaced
    /// by a later one.
    Unrecorded,
    /// No worker made the attempt, as far as this term and the store know: its number is too high, or no worker
    /// received it.
    NotMade,
}

/// The largest number of attempts that may follow the last known attempt without a record in the store. A lease without
/// an intent leaves no record, so a worker of an earlier term may have a few attempts that this term does not know.
const UNRECORDED_ATTEMPTS: u32 = 1_000;

/// All operations, and counts of them.
#[derive(Debug)]
pub(super) struct Operations {
    operations: Table<Position, Operation>,
    /// The workers of attempts that a later attempt of this term replaced, by operation and number.
    replaced: BTreeMap<(Position, u32), WorkerIndex>,
    counts: OpCounts,
    /// The number of operations that can still change without the user.
    open: u32,
    /// The number of operations in doubt that wait for the user.
    unsettled: u32,
    /// The number of operations for which a worker looks for evidence.
    settling: u32,
}

impl Operations {
    /// Creates `count` pending operations.
    pub(super) fn new(count: usize, now: u64) -> Operations {
        let last =
            LastAttempt { number: 0, holder: None, begun_here: false, reported: false, since: now, planned: None };
        let operation = Operation { state: State::Pending, floor: 0, restored: 0, tried: false, last };
        // The plan format counts operations in 32 bits.
        let number = u32::try_from(count).unwrap_or(u32::MAX);
        Operations {
            operations: Table::new(vec![operation; count]),
            replaced: BTreeMap::new(),
            counts: OpCounts { pending: number, ..OpCounts::default() },
            open: number,
            unsettled: 0,
            settling: 0,
        }
    }

    /// Every position, in order.
    pub(super) fn positions(&self) -> impl DoubleEndedIterator<Item = Position> + use<> {
        self.operations.positions()
    }

    /// The state of an operation.
    pub(super) fn state(&self, position: Position) -> State {
        self.operations[position].state
    }

    /// The status of an operation in the run protocol.
    pub(super) fn status(&self, position: Position) -> Status {
        self.state(position).status()
    }

    /// The last attempt.
    pub(super) fn last(&self, position: Position) -> LastAttempt {
        self.operations[position].last
    }

    /// The worker that made the last attempt.
    pub(super) fn holder(&self, position: Position) -> Option<WorkerIndex> {
        self.operations[position].last.holder
    }

    /// Whether an earlier attempt failed or was in doubt.
    pub(super) fn was_tried(&self, position: Position) -> bool {
        self.operations[position].tried
    }

    /// The number of operations by status.
    pub(super) fn counts(&self) -> OpCounts {
        self.counts
    }

    /// Whether nothing can change without the user.
    pub(super) fn are_at_rest(&self) -> bool {
        self.open == 0
    }

    /// Whether every operation with an intent has an outcome, or is a doubt that waits for the user.
    pub(super) fn are_resolved(&self) -> bool {
        self.counts.running == 0 && self.counts.in_doubt == self.unsettled
    }

    /// Whether a worker looks for evidence.
    pub(super) fn is_evidence_sought(&self) -> bool {
        self.settling > 0
    }

    /// Changes the state of an operation.
    ///
    /// # Errors
    /// Returns an error if the operation cannot make this change. In this case, nothing changes.
    pub(super) fn change(&mut self, position: Position, to: State) -> Result<Rest, IllegalChange> {
        let from = self.state(position);
        if !from.may_become(to) {
            return Err(IllegalChange { from, to });
        }
        Ok(self.set(position, to))
    }

    /// Sets the state and the last attempt of an operation from the store, at the beginning of a term.
    pub(super) fn restore(&mut self, position: Position, to: State, attempt: u32, by: Option<WorkerIndex>) -> Rest {
        let last = &mut self.operations[position].last;
        last.number = attempt;
        last.holder = by;
        // If the operation is in doubt, its worker may already have received the order to forget the result. So the
        // result is not expected from this worker again.
        last.reported = to.status() == Status::InDoubt;
        self.operations[position].restored = attempt;
        self.operations[position].tried = to.status() == Status::Failed;
        self.set(position, to)
    }

    /// Makes a done operation pending, because its result was not stored and must be computed again.
    pub(super) fn compute_again(&mut self, position: Position) -> Rest {
        self.set(position, State::Pending)
    }

    /// Begins the next attempt.
    pub(super) fn begin_attempt(&mut self, position: Position, holder: Option<WorkerIndex>, now: u64) {
        let operation = &mut self.operations[position];
        if let Some(before) = operation.last.holder {
            self.replaced.insert((position, operation.last.number), before);
        }
        let number = operation.last.number.max(operation.floor).saturating_add(1);
        operation.last = LastAttempt { number, holder, begun_here: true, reported: false, since: now, planned: None };
    }

    /// Records that a worker still has this attempt, which may have begun in an earlier term. Returns `false`, and
    /// records nothing, if the number is impossible.
    pub(super) fn attempt_exists(&mut self, position: Position, attempt: u32) -> bool {
        let operation = &mut self.operations[position];
        let is_possible = attempt <= operation.last.number.saturating_add(UNRECORDED_ATTEMPTS);
        if is_possible {
            operation.floor = attempt.max(operation.floor);
        }
        is_possible
    }

    /// The worker that made an attempt.
    pub(super) fn maker(&self, position: Position, attempt: u32) -> Maker {
        let Operation { last, restored, .. } = &self.operations[position];
        let holder = last.holder.filter(|_| last.number == attempt);
        match holder.or_else(|| self.replaced.get(&(position, attempt)).copied()) {
            Some(holder) => Maker::Known(holder),
            None if (1..=*restored).contains(&attempt) => Maker::Unrecorded,
            None => Maker::NotMade,
        }
    }

    /// Records that an attempt failed or was in doubt. A later attempt continues with the objects that this attempt
    /// left behind.
    pub(super) fn was_in_vain(&mut self, position: Position) {
        self.operations[position].tried = true;
    }

    /// Records that the last attempt has an intent with this digest.
    pub(super) fn intends(&mut self, position: Position, planned: Digest) {
        self.operations[position].last.planned = Some(planned);
    }

    /// Records that the worker of the last attempt does not know the outcome.
    pub(super) fn outcome_is_unknown(&mut self, position: Position) {
        self.operations[position].last.reported = true;
    }

    /// Checks that the counts are correct.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn check_numbers(&self) {
        let (mut counts, mut open, mut unsettled, mut settling) = (OpCounts::default(), 0, 0, 0);
        for operation in self.operations.iter() {
            *number(&mut counts, operation.state.status()) += 1;
            open += u32::from(!operation.state.is_at_rest());
            unsettled += u32::from(operation.state == State::InDoubt(Doubt::Unsettled));
            settling += u32::from(matches!(operation.state, State::InDoubt(Doubt::AtSettler(_))));
        }
        assert_eq!((self.counts, self.open, self.unsettled, self.settling), (counts, open, unsettled, settling));
    }

    fn set(&mut self, position: Position, to: State) -> Rest {
        let from = std::mem::replace(&mut self.operations[position].state, to);
        *number(&mut self.counts, from.status()) -= 1;
        *number(&mut self.counts, to.status()) += 1;
        let is_unsettled = |state| state == State::InDoubt(Doubt::Unsettled);
        self.unsettled = self.unsettled + u32::from(is_unsettled(to)) - u32::from(is_unsettled(from));
        let is_settling = |state| matches!(state, State::InDoubt(Doubt::AtSettler(_)));
        self.settling = self.settling + u32::from(is_settling(to)) - u32::from(is_settling(from));
        match (from.is_at_rest(), to.is_at_rest()) {
            (false, true) => {
                self.open -= 1;
                Rest::Began
            }
            (true, false) => {
                self.open += 1;
                Rest::Ended
            }
            _ => Rest::Unchanged,
        }
    }
}

/// The number of operations with a status.
fn number(counts: &mut OpCounts, status: Status) -> &mut u32 {
    match status {
        Status::Pending | Status::Leased => &mut counts.pending,
        Status::Intended => &mut counts.running,
        Status::Done => &mut counts.done,
        Status::Failed => &mut counts.failed,
        Status::Skipped => &mut counts.skipped,
        Status::InDoubt => &mut counts.in_doubt,
    }
}

#[cfg(test)]
mod tests {
    use super::super::operation::tests::STATES;
    use super::super::operation::{Intended, Leased};
    use super::*;

    const FIRST: Position = Position(0);

    #[test]
    fn an_illegal_change_changes_nothing() {
        for from in STATES {
            for to in STATES.into_iter().filter(|to| !from.may_become(*to)) {
                let mut operations = Operations::new(1, 0);
                operations.restore(FIRST, from, 1, None);
                let counts = operations.counts();
                assert_eq!(operations.change(FIRST, to), Err(IllegalChange { from, to }));
                assert_eq!((operations.state(FIRST), operations.counts()), (from, counts));
            }
        }
    }

    #[test]
    fn the_numbers_follow_the_states() {
        let mut operations = Operations::new(2, 0);
        let steps = [
            State::Leased(Leased::AtWorker),
            State::Leased(Leased::IntentInStore),
            State::Intended(Intended::AtWorker),
            State::Intended(Intended::DoubtInStore),
            State::InDoubt(Doubt::Open),
            State::InDoubt(Doubt::Queued),
            State::InDoubt(Doubt::AtSettler(WorkerIndex(3))),
        ];
        for step in steps {
            assert_eq!(operations.change(FIRST, step), Ok(Rest::Unchanged));
        }
        assert_eq!(operations.counts(), OpCounts { pending: 1, in_doubt: 1, ..OpCounts::default() });
        assert!(operations.is_evidence_sought() && !operations.are_resolved());
        operations.change(FIRST, State::InDoubt(Doubt::Open)).unwrap();
        assert_eq!(operations.change(FIRST, State::InDoubt(Doubt::Unsettled)), Ok(Rest::Began));
        assert!(operations.are_resolved() && !operations.is_evidence_sought() && !operations.are_at_rest());
        assert_eq!(operations.change(Position(1), State::Skipped), Ok(Rest::Began));
        assert!(operations.are_at_rest());
        assert_eq!(operations.change(FIRST, State::InDoubt(Doubt::Open)), Ok(Rest::Ended));
        assert!(!operations.are_at_rest());
    }

    #[test]
    fn attempts_are_numbered_after_those_of_earlier_terms() {
        let mut operations = Operations::new(1, 5);
        assert!(operations.attempt_exists(FIRST, 7) && operations.attempt_exists(FIRST, 3));
        operations.outcome_is_unknown(FIRST);
        operations.begin_attempt(FIRST, None, 9);
        let last = operations.last(FIRST);
        assert_eq!((last.number, last.since, last.reported), (8, 9, false));
        operations.begin_attempt(FIRST, None, 10);
        assert_eq!(operations.last(FIRST).number, 9);
    }

    #[test]
    fn an_impossible_attempt_is_not_counted() {
        let mut operations = Operations::new(1, 0);
        for impossible in [u32::MAX, UNRECORDED_ATTEMPTS + 1] {
            assert!(!operations.attempt_exists(FIRST, impossible));
        }
        operations.begin_attempt(FIRST, None, 0);
        assert_eq!(operations.last(FIRST).number, 1);
        operations.restore(FIRST, State::Failed { keeps: false }, u32::MAX, None);
        operations.begin_attempt(FIRST, None, 0);
        assert_eq!(operations.last(FIRST).number, u32::MAX, "a damaged store causes no panic");
    }

    #[test]
    fn the_maker_of_an_attempt_is_known_as_far_as_the_store_tells() {
        let (old, new) = (WorkerIndex(1), WorkerIndex(2));
        let mut operations = Operations::new(2, 0);
        operations.restore(FIRST, State::Failed { keeps: false }, 3, Some(old));
        operations.begin_attempt(FIRST, Some(new), 0);
        let makers = [0, 1, 2, 3, 4, 5].map(|attempt| operations.maker(FIRST, attempt));
        let unrecorded = Maker::Unrecorded;
        assert_eq!(
            makers,
            [Maker::NotMade, unrecorded, unrecorded, Maker::Known(old), Maker::Known(new), Maker::NotMade]
        );
        operations.begin_attempt(Position(1), None, 0);
        assert_eq!(operations.maker(Position(1), 1), Maker::NotMade, "no worker began it");
    }
}
