//! Intents that are written ahead of free slots.
//!
//! A worker has a slot for each operation that it prepares or carries out. While the intent of an operation is on its
//! way to the store, the slot of this operation is free for another operation. Otherwise a store that takes as long as
//! a call would halve the rate. When the intent is durable, its call waits for a slot, so there are never more calls
//! than slots.
//!
//! The number of intents that may be ahead follows from the times of the store and of the calls: enough to fill the
//! slots that become free while an intent is being written. Each intent ahead can be one more operation in doubt after
//! a crash. So no intents are ahead if the store is fast, and their number never exceeds half of the number of slots.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::Position;

/// The number of slots, divided by this number, is the maximum number of intents ahead.
const LARGEST_PART: u64 = 2;
/// The factor in percent for the average time of the store. The factor exceeds 100 because the times vary: an intent
/// that misses a group of steps waits for the next group.
const STORE_PERCENT: u64 = 150;
/// The weight of the previous average in the new average. A new time has the weight 1.
const WEIGHT: u64 = 7;
/// Averages are stored in units of a millisecond divided by this number.
const FRACTION: u64 = 16;

/// A moving average of times in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Average(Option<u64>);

impl Average {
    fn add(&mut self, time: u64) {
        let time = time.saturating_mul(FRACTION);
        self.0 =
            Some(self.0.map_or(time, |average| (average.saturating_mul(WEIGHT).saturating_add(time)) / (WEIGHT + 1)));
    }
}

/// The position of an operation in the queue for a slot: first come, first served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    asked: u64,
    position: Position,
}

impl Turn {
    /// The operation.
    pub(super) fn position(self) -> Position {
        self.position
    }
}

/// The operations whose intents are in the store, or that wait for a slot.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// When each intent was sent to the store.
    asked: BTreeMap<Position, u64>,
    /// The operations that wait for a slot, with the time at which their intent was sent.
    waiting: BTreeSet<(u64, Position)>,
    /// When each call began.
    called: BTreeMap<Position, u64>,
    store: Average,
    calls: Average,
}

impl Ahead {
    /// Records that the intent of an operation is on its way to the store.
    pub(super) fn ask(&mut self, position: Position, now: u64) {
        self.asked.insert(position, now);
    }

    /// Records that the intent of an operation is durable. Its call now waits for a slot.
    pub(super) fn is_durable(&mut self, position: Position, now: u64) {
        if let Some(asked) = self.asked.get(&position).copied() {
            self.store.add(now.saturating_sub(asked));
            self.waiting.insert((asked, position));
        }
    }

    /// Whether an operation has a durable intent, but its call is not allowed yet.
    pub(super) fn waits(&self, position: Position) -> bool {
        self.asked.get(&position).is_some_and(|asked| self.waiting.contains(&(*asked, position)))
    }

    /// The next operation after `turn` in the queue for a slot. If `turn` is `None`, the first operation.
    pub(super) fn next_after(&self, turn: Option<Turn>) -> Option<Turn> {
        let after = turn.map_or(Bound::Unbounded, |turn| Bound::Excluded((turn.asked, turn.position)));
        let next = self.waiting.range((after, Bound::Unbounded)).next();
        next.map(|(asked, position)| Turn { asked: *asked, position: *position })
    }

    /// Records that the call of an operation begins.
    pub(super) fn call(&mut self, turn: Turn, now: u64) {
        self.waiting.remove(&(turn.asked, turn.position));
        self.asked.remove(&turn.position);
        self.called.insert(turn.position, now);
    }

    /// Records that the call of an operation will not be allowed.
    pub(super) fn stop_waiting(&mut self, position: Position) {
        if let Some(asked) = self.asked.get(&position) {
            self.waiting.remove(&(*asked, position));
        }
    }

    /// Takes the operations that wait for a slot. Their calls will not be allowed.
    pub(super) fn take_waiting(&mut self) -> Vec<Position> {
        std::mem::take(&mut self.waiting).into_iter().map(|(_, position)| position).collect()
    }

    /// Records that an operation is no longer at its worker, or that its result has arrived.
    pub(super) fn end(&mut self, position: Position, now: u64) {
        if let Some(asked) = self.asked.remove(&position) {
            self.waiting.remove(&(asked, position));
        }
        if let Some(called) = self.called.remove(&position) {
            self.calls.add(now.saturating_sub(called));
        }
    }

    /// The number of operations whose intents are in the store, or that wait for a slot.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.asked.len()).unwrap_or(u32::MAX)
    }

    /// The number of intents that may be written ahead for this number of slots.
    pub(super) fn room(&self, slots: u32) -> u32 {
        let (Some(store), Some(call)) = (self.store.0, self.calls.0) else { return 0 };
        let slots = u64::from(slots);
        let wanted = slots.saturating_mul(store).saturating_mul(STORE_PERCENT) / call.max(1).saturating_mul(100);
        u32::try_from(wanted.min(slots / LARGEST_PART)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(store: u64, call: u64, slots: u32) -> u32 {
        let mut ahead = Ahead::default();
        ahead.store.add(store);
        ahead.calls.add(call);
        ahead.room(slots)
    }

    #[test]
    fn the_room_follows_from_the_times() {
        assert_eq!(Ahead::default().room(64), 0, "nothing is known yet");
        for (store, call, want) in
            [(0, 200, 0), (1, 200, 0), (30, 200, 14), (60, 200, 28), (60, 60_000, 0), (60, 0, 32)]
        {
            assert_eq!(room(store, call, 64), want, "store {store} ms, call {call} ms");
        }
        assert_eq!(room(60, 10, 1), 0, "one at a time");
        assert_eq!(room(60, 10, u32::MAX), u32::MAX / 2);
    }

    #[test]
    fn operations_wait_in_the_order_in_which_they_asked() {
        let mut ahead = Ahead::default();
        for (position, asked) in [(1, 30), (2, 10), (3, 20)] {
            ahead.ask(Position(position), asked);
            ahead.is_durable(Position(position), 40);
        }
        let turns: Vec<Turn> =
            std::iter::successors(ahead.next_after(None), |turn| ahead.next_after(Some(*turn))).collect();
        assert_eq!(turns.iter().map(|turn| turn.position().0).collect::<Vec<_>>(), [2, 3, 1]);
        ahead.call(turns[0], 50);
        assert!(!ahead.waits(Position(2)) && ahead.waits(Position(3)));
        assert_eq!(ahead.len(), 2);
        ahead.end(Position(3), 60);
        assert_eq!(ahead.take_waiting(), [Position(1)]);
        ahead.end(Position(1), 60);
        assert_eq!(ahead.len(), 0);
    }

    #[test]
    fn an_operation_whose_call_is_not_allowed_gives_up_its_turn() {
        let mut ahead = Ahead::default();
        ahead.ask(Position(1), 10);
        ahead.is_durable(Position(1), 20);
        ahead.stop_waiting(Position(1));
        ahead.stop_waiting(Position(2));
        assert!(!ahead.waits(Position(1)) && ahead.take_waiting().is_empty());
        assert_eq!(ahead.len(), 1, "it has no slot until it ends");
    }

    #[test]
    fn an_operation_that_did_not_ask_does_not_wait() {
        let mut ahead = Ahead::default();
        ahead.is_durable(Position(0), 5);
        assert!(ahead.next_after(None).is_none() && !ahead.waits(Position(0)));
    }

    #[test]
    fn averages_follow_the_times() {
        let mut average = Average::default();
        for _ in 0..100 {
            average.add(200);
        }
        assert_eq!(average.0, Some(200 * FRACTION));
        for _ in 0..100 {
            average.add(10);
        }
        assert!(average.0.is_some_and(|time| time < 12 * FRACTION), "{average:?}");
    }
}
