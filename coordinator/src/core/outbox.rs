//! The output of a step, the steps without an answer of the store, and the end of the term.

use std::collections::{BTreeMap, VecDeque};

use weft_protocol::Order;
use weft_state::{StoreStep, TokenRequest};

use super::answers::StepInStore;
use crate::event::{Defect, FinishReason};
use crate::operation_event::OperationEvent;
use crate::table::WorkerIndex;

/// The output of one step, from which its instructions are made.
#[derive(Debug, Default)]
pub(super) struct StepOutput {
    /// Steps for the store.
    pub(super) steps: Vec<StoreStep>,
    /// Tokens to ask for.
    pub(super) tokens: Vec<TokenRequest>,
    /// Orders for workers.
    pub(super) orders: BTreeMap<WorkerIndex, Vec<Order>>,
    /// Events for watchers.
    pub(super) progress: Vec<OperationEvent>,
}

/// The output of a step, and the steps that the store has not answered.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    output: StepOutput,
    /// Steps that the store has not answered, in the order of the answers.
    in_store: VecDeque<StepInStore>,
    /// The reason of the end of the term; `None` before the end.
    end: Option<FinishReason>,
    /// The illegal transition that ended the term.
    defect: Option<Defect>,
    /// Whether the end was announced. No output follows.
    is_finished: bool,
}

impl Outbox {
    /// Queues a step. `about` identifies the step when its answer arrives.
    pub(super) fn store(&mut self, about: StepInStore, step: StoreStep) {
        self.in_store.push_back(about);
        self.output.steps.push(step);
    }

    /// Queues an order for a worker.
    pub(super) fn order(&mut self, worker: WorkerIndex, order: Order) {
        self.output.orders.entry(worker).or_default().push(order);
    }

    /// Asks the store for tokens.
    pub(super) fn ask_for_tokens(&mut self, requests: Vec<TokenRequest>) {
        self.output.tokens = requests;
    }

    /// Drops the orders of a worker whose stream broke.
    pub(super) fn drop_orders(&mut self, worker: WorkerIndex) {
        self.output.orders.remove(&worker);
    }

    /// Queues an event for watchers.
    pub(super) fn tell(&mut self, progress: OperationEvent) {
        self.output.progress.push(progress);
    }

    /// The step that the next answer of the store belongs to.
    pub(super) fn answered(&mut self) -> Option<StepInStore> {
        self.in_store.pop_front()
    }

    /// Whether steps wait for an answer of the store.
    pub(super) fn awaits_store(&self) -> bool {
        !self.in_store.is_empty()
    }

    /// Ends the term with this step. The first reason is not replaced.
    pub(super) fn finish(&mut self, reason: FinishReason) {
        self.end.get_or_insert(reason);
    }

    /// Ends the term because of an illegal transition. The event of this step contradicts the coordinator's state in
    /// memory, so all output of the step is dropped.
    pub(super) fn fail(&mut self, defect: Defect) {
        self.output = StepOutput::default();
        self.in_store.clear();
        self.end = Some(FinishReason::Defect);
        self.defect = Some(defect);
    }

    /// The reason of the end of the term, if it ends.
    pub(super) fn end(&self) -> Option<FinishReason> {
        self.end
    }

    /// The illegal transition that ended the term.
    pub(super) fn defect(&self) -> Option<&Defect> {
        self.defect.as_ref()
    }

    /// Whether the end was announced.
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// The output of the step. A term that was fenced sends no steps.
    pub(super) fn take(&mut self) -> StepOutput {
        self.is_finished = self.end.is_some();
        let mut output = std::mem::take(&mut self.output);
        if self.end == Some(FinishReason::Fenced) {
            output.steps.clear();
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_state::OpIndex;

    fn full() -> Outbox {
        let mut outbox = Outbox::default();
        outbox.store(StepInStore::Told, StoreStep::Reopen { op: OpIndex(0) });
        outbox.order(WorkerIndex(0), Order::Drain);
        outbox
    }

    #[test]
    fn steps_and_orders_leave_once() {
        let mut outbox = full();
        let output = outbox.take();
        assert_eq!((output.steps.len(), output.orders.len()), (1, 1));
        assert!(outbox.take().steps.is_empty() && outbox.awaits_store() && !outbox.is_finished());
        assert!(matches!(outbox.answered(), Some(StepInStore::Told)));
        assert!(outbox.answered().is_none() && !outbox.awaits_store());
    }

    #[test]
    fn a_fenced_term_sends_no_steps() {
        let mut outbox = full();
        outbox.finish(FinishReason::Fenced);
        outbox.finish(FinishReason::Complete);
        let output = outbox.take();
        assert_eq!((outbox.end(), output.steps.len(), output.orders.len()), (Some(FinishReason::Fenced), 0, 1));
        assert!(outbox.is_finished());
    }

    #[test]
    fn nothing_of_a_step_with_a_defect_leaves() {
        let mut outbox = full();
        let defect = Defect {
            operation: 0,
            address: "a.b".to_owned(),
            from: "done".to_owned(),
            to: "pending".to_owned(),
            message: "it is tried again".to_owned(),
        };
        outbox.fail(defect.clone());
        let output = outbox.take();
        assert!(output.steps.is_empty() && output.orders.is_empty());
        assert_eq!((outbox.end(), outbox.defect()), (Some(FinishReason::Defect), Some(&defect)));
    }

    #[test]
    fn orders_of_a_broken_stream_are_dropped() {
        let mut outbox = full();
        outbox.drop_orders(WorkerIndex(0));
        assert!(outbox.take().orders.is_empty());
    }
}
