//! The early end of a run: first no new operation starts, then providers are asked to stop, then open calls become
//! doubts.

use super::{Coordinator, Intended, State};
use crate::timing::{LEAVE_DEADLINE, STOP_WAIT};
use weft_protocol::Order;

impl Coordinator {
    /// Starts no new operation. Running operations continue to their end.
    pub(super) fn drain(&mut self) {
        if self.course.draining {
            return;
        }
        self.course.draining = true;
        self.refuse_waiting();
        for worker in self.connected_workers() {
            self.order(worker, Order::Drain);
        }
    }

    /// Asks providers to stop. What they return in time is recorded like any result.
    pub(super) fn stop(&mut self) {
        self.drain();
        if self.course.stopping.is_some() {
            return;
        }
        self.course.stopping = Some(self.clock.now);
        for worker in self.connected_workers() {
            self.order(worker, Order::Stop);
        }
    }

    /// Turns open calls into doubts, so that the lease can be released and no other coordinator takes the run over. The
    /// workers keep their results and report them when the run is resumed.
    pub(super) fn leave(&mut self) {
        self.drain();
        if self.course.leaving.is_some() {
            return;
        }
        self.course.leaving = Some(self.clock.now);
        for worker in self.roster.workers.positions() {
            for position in self.roster.workers[worker].tasks.clone() {
                if self.ops[position].state == State::Intended(Intended::AtWorker) {
                    let id = &self.roster.workers[worker].id;
                    self.doubt(position, format!("the run was left while worker {id} still had the call"));
                }
            }
        }
    }

    /// Leaves the run once providers that were asked to stop have had their time.
    pub(super) fn tick_stopping(&mut self) {
        if self.course.stopping.is_some_and(|since| self.clock.has_passed(since, STOP_WAIT)) {
            self.leave();
        }
    }

    /// Whether a run that is left ends now: the store has the doubts, or does not answer.
    pub(super) fn has_left(&self) -> bool {
        self.course
            .leaving
            .is_some_and(|since| self.outbox.in_store.is_empty() || self.clock.has_passed(since, LEAVE_DEADLINE))
    }
}
