//! Intents that are written ahead of free slots.
//!
//! A worker has a slot for each operation that it prepares or carries out. While an intent is on its way to the store,
//! its slot is free for another operation. Otherwise a store that takes as long as a call would halve the rate. When the
//! intent is durable, its call waits for a slot, so there are never more calls than slots.
//!
//! How many intents may be ahead follows from the times of the store and of the calls: as many as are needed to fill the
//! slots that become free while an intent is being written. A crash leaves that many more operations in doubt, so there
//! are none ahead if the store is fast, and never more than half of the slots.

use std::collections::{BTreeMap, BTreeSet};

use weft_protocol::{Order, Task};
use weft_state::Attempt;

use super::{Coordinator, Position, WorkerIndex};
use crate::outline::OperationKind;

/// The largest part of the slots for which intents are written ahead: one in so many.
const LARGEST_PART: u64 = 2;
/// The weight of the average so far against a new time.
const WEIGHT: u64 = 7;
/// Averages are held in fractions of a millisecond.
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

/// The operations whose intents are in the store or wait for a slot.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// When each intent was sent to the store.
    asked: BTreeMap<Position, u64>,
    /// The operations that wait for a slot, with the time of their intents: first come, first served.
    waiting: BTreeSet<(u64, Position)>,
    /// When each call began.
    called: BTreeMap<Position, u64>,
    store: Average,
    calls: Average,
}

impl Ahead {
    /// The number of operations without a slot.
    fn len(&self) -> u32 {
        u32::try_from(self.asked.len()).unwrap_or(u32::MAX)
    }

    /// Whether an operation has a durable intent, and its call was not allowed yet.
    pub(super) fn waits(&self, position: Position) -> bool {
        self.asked.get(&position).is_some_and(|asked| self.waiting.contains(&(*asked, position)))
    }

    /// The number of intents that may be ahead of so many slots.
    fn room(&self, slots: u32) -> u32 {
        let (Some(store), Some(call)) = (self.store.0, self.calls.0) else { return 0 };
        let slots = u64::from(slots);
        let wanted = slots.saturating_mul(store) / call.max(1);
        u32::try_from(wanted.min(slots / LARGEST_PART)).unwrap_or(u32::MAX)
    }
}

impl Coordinator {
    /// The intent of an operation is on its way to the store.
    pub(super) fn intent_asked(&mut self, worker: WorkerIndex, position: Position) {
        self.ahead.asked.insert(position, self.clock.now);
        self.roster.workers[worker].ahead.insert(position);
        self.refresh(worker);
    }

    /// The intent of an operation is durable: its call is next.
    pub(super) fn intent_is_durable(&mut self, position: Position) {
        if let Some(asked) = self.ahead.asked.get(&position).copied() {
            self.ahead.store.add(self.clock.now.saturating_sub(asked));
            self.ahead.waiting.insert((asked, position));
        }
    }

    /// Allows the calls for which there are slots.
    pub(super) fn grant_waiting(&mut self) {
        if self.course.draining || self.course.paused {
            return;
        }
        for (asked, position) in self.ahead.waiting.clone() {
            if !self.has_slot() {
                return;
            }
            let Some(holder) = self.ops[position].last.holder else { continue };
            let worker = &self.roster.workers[holder];
            if !worker.is_connected() || !worker.has_slot() {
                continue;
            }
            self.ahead.waiting.remove(&(asked, position));
            self.ahead.asked.remove(&position);
            self.ahead.called.insert(position, self.clock.now);
            self.roster.workers[holder].ahead.remove(&position);
            let task =
                Task { operation: self.operation(position).index, attempt: Attempt(self.ops[position].last.number) };
            self.order(holder, Order::Granted(task));
            self.refresh(holder);
        }
    }

    /// No call begins any more: the operations that wait for a slot make none.
    pub(super) fn refuse_waiting(&mut self) {
        for (_, position) in std::mem::take(&mut self.ahead.waiting) {
            let task =
                Task { operation: self.operation(position).index, attempt: Attempt(self.ops[position].last.number) };
            if let Some(holder) = self.ops[position].last.holder {
                self.order(holder, Order::IntentRefused(task));
            }
            self.never_called(position, "the run was ended before its call was allowed");
        }
    }

    /// An operation leaves its worker, or its result is here.
    pub(super) fn leave_slot(&mut self, holder: WorkerIndex, position: Position) {
        if let Some(asked) = self.ahead.asked.remove(&position) {
            self.ahead.waiting.remove(&(asked, position));
        }
        if let Some(called) = self.ahead.called.remove(&position) {
            self.ahead.calls.add(self.clock.now.saturating_sub(called));
        }
        self.roster.workers[holder].ahead.remove(&position);
    }

    /// Whether the limit of concurrent operations allows another one.
    fn has_slot(&self) -> bool {
        let slots = self.options.parallelism.unwrap_or(u32::MAX);
        self.tally.in_flight.saturating_sub(self.ahead.len()) < slots
    }

    /// Whether the limit of concurrent operations allows to begin an operation. Those that ask for an intent may begin
    /// ahead of free slots.
    pub(super) fn may_begin(&self, position: Position) -> bool {
        let slots = self.options.parallelism.unwrap_or(u32::MAX);
        let room = if self.asks_for_intent(position) { self.ahead.room(slots) } else { 0 };
        self.tally.in_flight < slots.saturating_add(room)
    }

    /// Whether the worker may receive this operation.
    pub(super) fn fits_at(&self, worker: WorkerIndex, position: Position) -> bool {
        let worker = &self.roster.workers[worker];
        worker.has_slot() || self.asks_for_intent(position) && self.has_room(worker)
    }

    /// Whether a worker may receive something at all.
    pub(super) fn has_room(&self, worker: &super::roster::Worker) -> bool {
        let tasks = u32::try_from(worker.tasks.len()).unwrap_or(u32::MAX);
        tasks < worker.window.saturating_add(self.ahead.room(worker.window))
    }

    fn asks_for_intent(&self, position: Position) -> bool {
        use OperationKind::{Create, Delete, Update};
        matches!(self.operation(position).kind, Create | Update | Delete)
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
        for (store, call, want) in [(0, 200, 0), (1, 200, 0), (30, 200, 9), (60, 200, 19), (60, 60_000, 0), (60, 0, 32)]
        {
            assert_eq!(room(store, call, 64), want, "store {store} ms, call {call} ms");
        }
        assert_eq!(room(60, 10, 1), 0, "one at a time");
        assert_eq!(room(60, 10, u32::MAX), u32::MAX / 2);
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
