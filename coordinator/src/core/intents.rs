//! Intents of operations, and the calls that they allow.

use weft_graph_format::address::DeposedKey;
use weft_mutants::mutant;
use weft_state::{Digest, DoubtKey, Intent, OpIndex, StoreAnswer, StoreStep};

use super::answers::StepInStore;
use super::operation::{Intended, Leased, State};
use super::problems::{self, Cause};
use super::{Coordinator, Handled, Position, WorkerIndex};
use crate::event::FinishReason;
use crate::outline::OperationKind;
use crate::problems::refusal;
use crate::status::Happening;
use weft_protocol::diagnostics::encode_diagnostics;
use weft_protocol::{Order, Task};

impl Coordinator {
    /// Handles the request of a worker for the intent of a task.
    pub(super) fn intent_wanted(&mut self, worker: WorkerIndex, task: Task, planned: Digest) -> Handled {
        let Some(position) = self.position_of(task) else { return Ok(()) };
        let current = self.is_current(position, worker, task.attempt);
        match (current, self.operations.state(position)) {
            (true, State::Leased(Leased::AtWorker)) if self.course.may_begin() => {
                if mutant!(CommitWithoutIntent) {
                    self.order(worker, Order::Granted(task));
                    return Ok(());
                }
                self.enter(position, State::Leased(Leased::IntentInStore), Cause::IntentWanted)?;
                self.roster.leave_slot(worker, position);
                self.ahead.ask(position, self.clock.now());
                self.refresh(worker);
                self.operations.intends(position, planned);
                let intent = self.intent(position, worker, task, planned);
                self.outbox.store(StepInStore::Intent(position), StoreStep::Intent(intent));
            }
            (true, State::Leased(Leased::AtWorker)) => {
                self.order(worker, Order::IntentRefused(task));
                self.unlease(position)?;
            }
            (true, State::Leased(Leased::IntentInStore)) => {}
            // The worker asks again after a reconnect: the grant was lost. If the run is draining, the worker reports
            // that it made no call. If the term is not renewed, the age of the intent prevents a late call.
            (true, State::Intended(Intended::AtWorker)) => {
                if !self.ahead.waits(position) {
                    self.order(worker, Order::Granted(task));
                }
            }
            // The request may be outdated. Only a report of the worker proves that the worker made no call.
            (true, State::Intended(_) | State::InDoubt(_)) => self.order(worker, Order::Drop(task)),
            _ => self.order(worker, Order::IntentRefused(task)),
        }
        Ok(())
    }

    fn intent(&self, position: Position, worker: WorkerIndex, task: Task, planned: Digest) -> Intent {
        let operation = self.outline.at(position);
        let target = DoubtKey {
            address: operation.address.clone(),
            deposed: operation.deposed.as_deref().and_then(DeposedKey::parse),
        };
        Intent {
            op: OpIndex(operation.index),
            attempt: task.attempt,
            worker: self.roster.id(worker).clone(),
            base: self.records.revision(&target.address),
            target,
            action: operation.action(),
            planned,
        }
    }

    /// Handles the answer of the store to an intent.
    pub(super) fn intent_stored(&mut self, position: Position, answer: StoreAnswer) -> Handled {
        let task = self.task(position);
        let holder = self.operations.holder(position);
        match answer {
            StoreAnswer::Ok { .. } => {
                self.happen(position, Happening::Intend)?;
                if let Some(late) = self.results.take_late(position) {
                    return self.take_result(position, late.result);
                }
                if holder.is_some_and(|holder| self.roster.is_connected(holder)) && self.course.may_begin() {
                    self.ahead.is_durable(position, self.clock.now());
                    return Ok(());
                }
                if let Some(holder) = holder {
                    self.order(holder, Order::IntentRefused(task));
                }
                self.never_called(position, problems::intent_too_late())
            }
            refused @ (StoreAnswer::Stale(_) | StoreAnswer::NotClaimed(_) | StoreAnswer::Doubtful(_)) => {
                self.results.take_late(position);
                if let Some(holder) = holder {
                    self.order(holder, Order::IntentRefused(task));
                }
                let problem = refusal(&refused).about(self.outline.at(position).address.clone());
                self.enter(position, State::Leased(Leased::AtWorker), Cause::IntentRefused)?;
                self.fail_unintended(position, encode_diagnostics(&[problem]))
            }
            refused => {
                self.tell_refusal(position, &refused);
                self.outbox.finish(FinishReason::StoreRefused);
                Ok(())
            }
        }
    }

    /// Allows waiting calls while there are free slots.
    pub(super) fn grant_waiting(&mut self) {
        if !self.course.may_begin() {
            return;
        }
        let mut looked_at = None;
        while self.has_slot()
            && let Some(turn) = self.ahead.next_after(looked_at)
        {
            looked_at = Some(turn);
            let position = turn.position();
            let Some(holder) = self.operations.holder(position) else { continue };
            if !self.roster.is_connected(holder) || !self.roster.has_slot(holder) {
                continue;
            }
            self.ahead.call(turn, self.clock.now());
            self.roster.take_slot(holder, position);
            let task = self.task(position);
            self.order(holder, Order::Granted(task));
            self.refresh(holder);
        }
    }

    /// Refuses the calls of the operations that wait for a slot, because calls may no longer begin.
    pub(super) fn refuse_waiting(&mut self) -> Handled {
        for position in self.ahead.take_waiting() {
            let task = self.task(position);
            if let Some(holder) = self.operations.holder(position) {
                self.order(holder, Order::IntentRefused(task));
            }
            self.never_called(position, problems::ended_before_call())?;
        }
        Ok(())
    }

    /// Whether the limit of concurrent operations allows another operation.
    fn has_slot(&self) -> bool {
        let slots = self.options.parallelism.unwrap_or(u32::MAX);
        self.roster.in_flight().saturating_sub(self.ahead.len()) < slots
    }

    /// Whether the limit of concurrent operations allows an operation to begin. Operations that ask for an intent may
    /// begin ahead of free slots.
    pub(super) fn may_begin(&self, position: Position) -> bool {
        let slots = self.options.parallelism.unwrap_or(u32::MAX);
        let room = if self.asks_for_intent(position) { self.ahead.room(slots) } else { 0 };
        self.roster.in_flight() < slots.saturating_add(room)
    }

    /// Whether the worker may receive this operation.
    pub(super) fn fits_at(&self, worker: WorkerIndex, position: Position) -> bool {
        self.roster.has_slot(worker) || self.asks_for_intent(position) && self.roster.has_room(worker, &self.ahead)
    }

    fn asks_for_intent(&self, position: Position) -> bool {
        use OperationKind::{Create, Delete, Update};
        matches!(self.outline.at(position).kind, Create | Update | Delete)
    }
}
