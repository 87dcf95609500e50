//! The early end of a run: first no new operation starts, then providers are asked to stop, then open calls become
//! doubts.

use super::operation::{Intended, State};
use super::{Coordinator, Handled, problems};
use weft_protocol::Order;

impl Coordinator {
    /// Prevents new operations. Running operations continue to their end.
    pub(super) fn drain(&mut self) -> Handled {
        if !self.course.drain() {
            return Ok(());
        }
        self.refuse_waiting()?;
        for worker in self.roster.connected() {
            self.order(worker, Order::Drain);
        }
        Ok(())
    }

    /// Asks providers to stop. Results that providers return in time are recorded like other results.
    pub(super) fn stop(&mut self) -> Handled {
        self.drain()?;
        if self.course.stop(self.clock.now()) {
            for worker in self.roster.connected() {
                self.order(worker, Order::Stop);
            }
        }
        Ok(())
    }

    /// Turns open calls into doubts, so that the term can end and release its lease. The run is then stopped, and no
    /// other coordinator takes it over. The workers keep their results and report them when the run is resumed.
    pub(super) fn leave(&mut self) -> Handled {
        self.drain()?;
        if !self.course.leave(self.clock.now()) {
            return Ok(());
        }
        for worker in self.roster.everyone() {
            for position in self.roster.tasks(worker) {
                if self.operations.state(position) == State::Intended(Intended::AtWorker) {
                    self.doubt(position, problems::stopped_during_call(self.roster.id(worker)))?;
                }
            }
        }
        Ok(())
    }

    /// Leaves the run if the providers were asked to stop and the time limit for this has passed.
    pub(super) fn tick_stopping(&mut self) -> Handled {
        if self.course.has_stopped(&self.clock) { self.leave() } else { Ok(()) }
    }

    /// Whether the term of an abandoned run ends now: the store has recorded the doubts, or does not respond.
    pub(super) fn has_left(&self) -> bool {
        self.course.is_leaving() && !self.outbox.awaits_store() || self.course.has_left(&self.clock)
    }
}
