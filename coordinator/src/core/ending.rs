//! The end of a step: its commands, and the end of the term when nothing is left to do.

use weft_state::TermEnding;

use super::Coordinator;
use crate::event::{Command, Finish, FinishReason};
use crate::status::Status;
use weft_protocol::Order;

impl Coordinator {
    /// Dispatches operations, decides whether the term ends, and collects the commands.
    pub(super) fn settle_down(&mut self) -> Vec<Command> {
        if self.outbox.end.is_none() {
            self.grant_waiting();
            self.dispatch();
            self.outbox.end = self.reason_to_end().filter(|reason| !self.write_checks(*reason));
        }
        let mut commands = Vec::new();
        commands.extend(self.outbox.take_steps().map(Command::Store));
        if self.outbox.end.is_some() {
            for worker in self.connected_workers() {
                self.order(worker, Order::Leave);
            }
        }
        for (worker, orders) in std::mem::take(&mut self.outbox.orders) {
            commands.push(Command::Send { worker: self.roster.workers[worker].id.clone(), orders });
        }
        commands.extend(self.outbox.progress.drain(..).map(Command::Progress));
        if let Some(reason) = self.outbox.end {
            self.outbox.finished = true;
            commands.push(Command::Finish(self.finish(reason)));
        }
        commands
    }

    fn reason_to_end(&self) -> Option<FinishReason> {
        if self.has_left() {
            return Some(FinishReason::Left);
        }
        if !self.outbox.in_store.is_empty() {
            return None;
        }
        if self.course.draining {
            return self.tally.is_quiet().then_some(FinishReason::Drained);
        }
        if self.options.only_resolve {
            let resting = self.tally.counts.running == 0 && self.tally.counts.in_doubt == self.tally.unsettled;
            return resting.then_some(FinishReason::Resolved);
        }
        if self.tally.open == 0 {
            return Some(FinishReason::Complete);
        }
        // The remaining operations may wait for a worker that never connects.
        let idle = self.tally.is_quiet() && self.roster.dispatchable.is_empty();
        let in_vain = self.options.fixed_workers && self.roster.visited && !self.course.paused;
        (idle && self.backlog.waits() && in_vain).then_some(FinishReason::NoWorker)
    }

    fn finish(&self, reason: FinishReason) -> Finish {
        let pick = |wanted: &dyn Fn(Status) -> bool| -> Vec<u32> {
            let ops = self.ops.iter().zip(&self.outline.operations);
            ops.filter(|(op, _)| wanted(op.status())).map(|(_, operation)| operation.index).collect()
        };
        let release = match reason {
            FinishReason::Fenced => None,
            FinishReason::Complete => Some(TermEnding::Finished),
            FinishReason::Resolved if self.tally.open == 0 && self.tally.counts.skipped == 0 => {
                Some(TermEnding::Finished)
            }
            _ => Some(TermEnding::Stopped),
        };
        Finish {
            release,
            reason,
            counts: self.tally.counts,
            in_doubt: pick(&|status| status == Status::InDoubt),
            unfinished: pick(&|status| matches!(status, Status::Pending | Status::Leased | Status::Intended)),
            defect: self.outbox.defect.clone(),
        }
    }
}
