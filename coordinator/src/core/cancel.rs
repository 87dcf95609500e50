//! How a run ends early: nothing new, then providers asked to stop, then what is still open left in doubt.

use super::{Coordinator, Phase};
use crate::status::Status;
use crate::timing::{LEAVE_DEADLINE, STOP_WAIT};
use crate::worker::Order;

impl Coordinator {
    /// Nothing new is begun; what runs goes on to its end.
    pub(super) fn drain(&mut self) {
        if self.course.draining {
            return;
        }
        self.course.draining = true;
        for worker in self.connected_workers() {
            self.order(worker, Order::Drain);
        }
    }

    /// Providers are asked to stop. What they return in time is recorded like any result.
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

    /// What is still open becomes a doubt, so that the lease can be given back and nobody goes on with the run by
    /// itself. The worker keeps its result, and is asked for it when the run goes on.
    pub(super) fn leave(&mut self) {
        self.drain();
        if self.course.leaving.is_some() {
            return;
        }
        self.course.leaving = Some(self.clock.now);
        for worker in self.roster.workers.positions() {
            for position in self.roster.workers[worker].tasks.clone() {
                if self.stands(position, Status::Intended, Phase::AtWorker) {
                    let id = &self.roster.workers[worker].id;
                    self.doubt(position, format!("the run was left while worker {id} still had the call"));
                }
            }
        }
    }

    /// Time passed: providers that were asked to stop have had theirs.
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
