//! The end of a step: its instructions, and the end of the term when no work remains.

use weft_protocol::Order;
use weft_state::TermEnding;

use super::outbox::StepOutput;
use super::{Coordinator, Handled};
use crate::event::{Finish, FinishReason, Instruction};
use crate::status::Status;

impl Coordinator {
    /// Begins everything that can begin, and decides whether the term ends.
    pub(super) fn settle_down(&mut self) -> Handled {
        if self.outbox.end().is_some() {
            return Ok(());
        }
        self.grant_waiting();
        self.dispatch()?;
        if let Some(reason) = self.reason_to_end()
            && !self.write_ending(reason)
        {
            self.outbox.finish(reason);
        }
        Ok(())
    }

    /// The instructions of a step. A defect ends the term together with the step.
    pub(super) fn instructions(&mut self, handled: Handled) -> Vec<Instruction> {
        if let Err(defect) = handled {
            self.outbox.fail(*defect);
        }
        let end = self.outbox.end();
        if end.is_some() {
            for worker in self.roster.connected() {
                self.order(worker, Order::Leave);
            }
        }
        let StepOutput { steps, tokens, orders, progress } = self.outbox.take();
        let mut instructions = Vec::new();
        instructions.extend((!steps.is_empty()).then_some(Instruction::Store(steps)));
        instructions.extend((!tokens.is_empty()).then_some(Instruction::TakeTokens(tokens)));
        for (worker, orders) in orders {
            instructions.push(Instruction::Send { worker: self.roster.id(worker).clone(), orders });
        }
        instructions.extend(progress.into_iter().map(Instruction::Progress));
        instructions.extend(end.map(|reason| Instruction::Finish(self.finish(reason))));
        instructions
    }

    fn reason_to_end(&self) -> Option<FinishReason> {
        if self.has_left() {
            return Some(FinishReason::Left);
        }
        if self.outbox.awaits_store() {
            return None;
        }
        let is_quiet = self.roster.in_flight() == 0 && !self.operations.is_evidence_sought();
        if self.course.is_draining() {
            // The last operations may end after the interruption. In that case, the run is complete and cannot be
            // resumed.
            let is_complete = self.operations.are_at_rest() && !self.options.only_resolve;
            let reason = if is_complete { FinishReason::Complete } else { FinishReason::Drained };
            return is_quiet.then_some(reason);
        }
        if self.options.only_resolve {
            return self.operations.are_resolved().then_some(FinishReason::Resolved);
        }
        if self.operations.are_at_rest() {
            return Some(FinishReason::Complete);
        }
        // The remaining operations may wait for a worker that never connects.
        let idle =
            is_quiet && self.roster.is_idle() && !self.pace.budgets.is_waiting() && !self.pace.retries.is_waiting();
        let in_vain = self.options.fixed_workers && self.roster.was_visited() && !self.course.is_paused();
        (idle && self.backlog.waits() && in_vain).then_some(FinishReason::NoWorker)
    }

    fn finish(&self, reason: FinishReason) -> Finish {
        let pick = |wanted: &dyn Fn(Status) -> bool| -> Vec<u32> {
            let positions = self.operations.positions().filter(|position| wanted(self.operations.status(*position)));
            positions.map(|position| self.outline.at(position).index).collect()
        };
        let counts = self.operations.counts();
        let release = match reason {
            FinishReason::Fenced => None,
            FinishReason::Complete => Some(TermEnding::Finished),
            FinishReason::Resolved if self.operations.are_at_rest() && counts.skipped == 0 => {
                Some(TermEnding::Finished)
            }
            _ => Some(TermEnding::Stopped),
        };
        Finish {
            release,
            reason,
            counts,
            in_doubt: pick(&|status| status == Status::InDoubt),
            unfinished: pick(&|status| matches!(status, Status::Pending | Status::Leased | Status::Intended)),
            defect: self.outbox.defect().cloned(),
        }
    }
}
