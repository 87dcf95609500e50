//! Operations whose calls were refused temporarily, and the time of the next attempt of each.

use std::collections::{BTreeMap, BTreeSet};

use super::Position;
use crate::retry::{RetryRule, spread};

/// The refusals of one operation in this term.
#[derive(Clone, Copy, Debug)]
struct Refusals {
    count: u32,
    /// The time of the first refusal.
    first: u64,
}

/// Refused operations.
#[derive(Debug)]
pub(super) struct Retries {
    refusals: BTreeMap<Position, Refusals>,
    /// When operations are due.
    due: BTreeSet<(u64, Position)>,
    /// A number that makes the pauses of runs differ.
    seed: u64,
}

impl Retries {
    pub(super) fn new(seed: u64) -> Retries {
        Retries { refusals: BTreeMap::new(), due: BTreeSet::new(), seed }
    }

    /// Records that an operation was refused. Returns the pause in milliseconds before the retry, or `None` if the
    /// operation is not retried.
    pub(super) fn refused(&mut self, position: Position, rule: &RetryRule, now: u64) -> Option<u64> {
        let refusals = self.refusals.entry(position).or_insert(Refusals { count: 0, first: now });
        refusals.count += 1;
        let since = now.saturating_sub(refusals.first);
        let pause = rule.pause(refusals.count, since, spread(self.seed, position.0, refusals.count))?;
        self.due.insert((now.saturating_add(pause), position));
        Some(pause)
    }

    /// Takes the operations that are due.
    pub(super) fn take_due(&mut self, now: u64) -> Vec<Position> {
        let later = self.due.split_off(&(now.saturating_add(1), Position(0)));
        std::mem::replace(&mut self.due, later).into_iter().map(|(_, position)| position).collect()
    }

    /// Whether an operation waits for its next attempt.
    pub(super) fn is_waiting(&self) -> bool {
        !self.due.is_empty()
    }

    /// The time of the first retry after `now`. Retries that are already due begin with the next event.
    pub(super) fn wakes_at(&self, now: u64) -> Option<u64> {
        self.due.range((now.saturating_add(1), Position(0))..).next().map(|(at, _)| *at)
    }

    /// The number of operations that wait for their next attempt.
    pub(super) fn len(&self) -> usize {
        self.due.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_due_after_their_pauses_and_once() {
        let mut retries = Retries::new(7);
        let rule = RetryRule::new("a/b", None);
        let pause = retries.refused(Position(3), &rule, 100).unwrap();
        assert!((500..=1_000).contains(&pause), "{pause}");
        assert_eq!(retries.wakes_at(100), Some(100 + pause));
        assert!(retries.take_due(99 + pause).is_empty() && retries.is_waiting());
        assert_eq!(retries.take_due(100 + pause), [Position(3)]);
        assert!(!retries.is_waiting() && retries.wakes_at(0).is_none());
        let again = Retries::new(7).refused(Position(3), &rule, 100);
        assert_eq!(again, Some(pause), "the seed decides");
        assert_eq!((0..20).filter_map(|_| retries.refused(Position(3), &rule, 100)).count(), 9, "ten in all");
        assert_eq!(retries.len(), 9);
    }
}
