//! The steps on their way to the store, and the remaining steps after a permanent failure of the store.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_state::{DoubtOutcome, OpIndex, StoreAnswer, StoreError, StoreStep, TokenRequest};

use crate::batch::batch_length;
use crate::timing::STORE_BATCH;

/// A batch that was sent, with its answer.
pub(super) struct SentBatch {
    /// The steps.
    pub(super) steps: Arc<Vec<StoreStep>>,
    /// The answers of the store, or the reason of its permanent failure.
    pub(super) answers: Result<Vec<StoreAnswer>, StoreError>,
}

/// The steps on their way to the store.
#[derive(Debug, Default)]
pub(super) struct Outbound {
    /// Steps that are not sent yet. After a failure, the steps that the store did not accept.
    steps: Vec<StoreStep>,
    /// The batch that was sent and has no answer yet.
    sent: Option<Arc<Vec<StoreStep>>>,
    /// The operations with an intent in the store and without a result.
    calls: BTreeSet<OpIndex>,
    /// The reason of the store's permanent failure.
    failure: Option<StoreError>,
    /// Whether results are collected after a permanent failure.
    collects: bool,
    /// Tokens to request.
    tokens: Vec<TokenRequest>,
}

impl Outbound {
    pub(super) fn new(collects: bool) -> Outbound {
        Outbound { collects, ..Outbound::default() }
    }

    /// Adds steps.
    pub(super) fn push(&mut self, steps: Vec<StoreStep>) {
        for op in steps.iter().filter_map(settled) {
            self.calls.remove(&op);
        }
        self.steps.extend(steps);
    }

    /// Sets the tokens to request. Replaces earlier requests that were not taken.
    pub(super) fn want_tokens(&mut self, requests: Vec<TokenRequest>) {
        self.tokens = requests;
    }

    /// Takes the requests for tokens.
    pub(super) fn take_wanted_tokens(&mut self) -> Vec<TokenRequest> {
        std::mem::take(&mut self.tokens)
    }

    /// Takes the next batch to send. `None` if there are no steps, or after a failure.
    pub(super) fn next_batch(&mut self) -> Option<Arc<Vec<StoreStep>>> {
        if self.steps.is_empty() || self.failure.is_some() {
            return None;
        }
        let rest = self.steps.split_off(batch_length(&self.steps, STORE_BATCH));
        let batch = Arc::new(std::mem::replace(&mut self.steps, rest));
        self.sent = Some(Arc::clone(&batch));
        Some(batch)
    }

    /// Records that the store accepted a batch. The calls for the intents of the batch begin now.
    pub(super) fn taken(&mut self, steps: &[StoreStep], answers: &[StoreAnswer]) {
        self.sent = None;
        for (step, answer) in steps.iter().zip(answers) {
            if let (StoreStep::Intent(intent), true) = (step, answer.is_ok()) {
                self.calls.insert(intent.op);
            }
        }
    }

    /// Whether the store still accepts steps. It stops when it fails permanently.
    pub(super) fn works(&self) -> bool {
        self.failure.is_none()
    }

    /// Records that the store failed permanently. `batch` has the steps that the store did not accept. It is empty if
    /// the failure was not the answer to a batch. In that case, a batch that was sent may still be answered. Returns
    /// the number of results that are still awaited.
    pub(super) fn failed(&mut self, batch: Arc<Vec<StoreStep>>, error: StoreError) -> usize {
        if !batch.is_empty() {
            self.sent = None;
        }
        let mut batch = Arc::unwrap_or_clone(batch);
        batch.append(&mut self.steps);
        self.steps = batch;
        self.failure = Some(error);
        if self.collects { self.calls.len() } else { 0 }
    }

    /// Drops the queued steps and the sent batch, and no longer waits for the results of calls. Another process has
    /// taken over the run, so these steps belong to a term that has ended.
    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.sent = None;
        self.calls.clear();
    }

    /// Whether the store has failed and no result is awaited.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some() && (self.calls.is_empty() || !self.collects)
    }

    /// Gives up waiting for the answer to the batch that was sent, if there is one. `error` is the reason, unless the
    /// store has failed before.
    pub(super) fn give_up(&mut self, error: impl FnOnce() -> StoreError) {
        if let Some(batch) = self.sent.take() {
            let error = self.failure.take().unwrap_or_else(error);
            self.failed(batch, error);
        }
    }

    /// Takes the reason of the failure, and the steps that the store did not accept.
    pub(super) fn take_rest(&mut self) -> (Option<StoreError>, Vec<StoreStep>) {
        match self.failure.take() {
            Some(error) => (Some(error), std::mem::take(&mut self.steps)),
            None => (None, Vec::new()),
        }
    }
}

/// The operation whose call ends with this step, or whose result is no longer awaited.
fn settled(step: &StoreStep) -> Option<OpIndex> {
    match step {
        StoreStep::Commit(commit) => Some(commit.op),
        StoreStep::Fail(failure) => Some(failure.op),
        StoreStep::Doubt { op, .. } => Some(*op),
        StoreStep::Resolve(resolution) => match resolution.outcome {
            DoubtOutcome::Pending => None,
            DoubtOutcome::Done(_) | DoubtOutcome::Failed(_) => Some(resolution.op),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_graph_format::operation_kind::OperationKind;
    use weft_state::{Attempt, Digest, DoubtKey, Failure, FailureKind, Intent, Opaque, WorkerId, Writes};

    fn intent(op: u32) -> StoreStep {
        StoreStep::Intent(Intent {
            op: OpIndex(op),
            attempt: Attempt(1),
            worker: WorkerId("w".to_owned()),
            target: DoubtKey::current(format!("a.b[{op}]")),
            action: OperationKind::Create.into(),
            base: None,
            planned: Digest::default(),
        })
    }

    fn failure(op: u32) -> StoreStep {
        StoreStep::Fail(Failure {
            op: OpIndex(op),
            attempt: Attempt(1),
            worker: WorkerId("w".to_owned()),
            intended: true,
            writes: Writes::default(),
            diagnostics: Opaque::default(),
            kind: FailureKind::Error,
        })
    }

    fn yes() -> StoreAnswer {
        StoreAnswer::Ok { revisions: Vec::new(), repeated: false }
    }

    #[test]
    fn results_are_awaited_after_a_failure() {
        let mut outbound = Outbound::new(true);
        outbound.push(vec![intent(0), intent(1), intent(2)]);
        let batch = outbound.next_batch().unwrap();
        assert_eq!(batch.len(), 3);
        outbound.taken(&batch, &[yes(), yes(), StoreAnswer::NotClaimed(Vec::new())]);
        outbound.push(vec![failure(0)]);
        let batch = outbound.next_batch().unwrap();
        outbound.push(vec![intent(3)]);
        assert_eq!(outbound.failed(batch, StoreError::ReadOnly), 1, "operation 1 runs, and 2 was refused");
        assert!(outbound.next_batch().is_none() && !outbound.has_failed());
        outbound.push(vec![failure(1)]);
        assert!(outbound.has_failed());
        let (error, rest) = outbound.take_rest();
        assert_eq!((error, rest), (Some(StoreError::ReadOnly), vec![failure(0), intent(3), failure(1)]));
    }

    #[test]
    fn steps_without_an_answer_are_kept() {
        let mut outbound = Outbound::new(true);
        outbound.push(vec![failure(0)]);
        assert!(outbound.next_batch().is_some());
        outbound.push(vec![failure(1)]);
        outbound.give_up(|| StoreError::ReadOnly);
        assert_eq!(outbound.take_rest(), (Some(StoreError::ReadOnly), vec![failure(0), failure(1)]));
        outbound.give_up(|| StoreError::ReadOnly);
        assert_eq!(outbound.take_rest(), (None, Vec::new()));
    }

    #[test]
    fn a_batch_on_its_way_is_kept_if_the_store_fails_meanwhile() {
        let mut outbound = Outbound::new(true);
        outbound.push(vec![intent(0)]);
        let batch = outbound.next_batch().unwrap();
        outbound.taken(&batch, &[yes()]);
        outbound.push(vec![failure(0)]);
        let batch = outbound.next_batch().unwrap();
        assert!(outbound.works());
        outbound.failed(Arc::default(), StoreError::ReadOnly);
        assert!(!outbound.works());
        outbound.push(vec![failure(1)]);
        outbound.failed(batch, StoreError::Closed("x".to_owned()));
        let (error, rest) = outbound.take_rest();
        assert_eq!((error, rest), (Some(StoreError::Closed("x".to_owned())), vec![failure(0), failure(1)]));
        // The answer to the batch never comes.
        outbound.push(vec![failure(0)]);
        outbound.next_batch().unwrap();
        outbound.failed(Arc::default(), StoreError::ReadOnly);
        outbound.give_up(|| StoreError::Closed("x".to_owned()));
        assert_eq!(outbound.take_rest(), (Some(StoreError::ReadOnly), vec![failure(0)]));
    }

    #[test]
    fn workers_that_keep_their_results_are_not_awaited() {
        let mut outbound = Outbound::new(false);
        outbound.push(vec![intent(0)]);
        let batch = outbound.next_batch().unwrap();
        outbound.taken(&batch, &[yes()]);
        assert_eq!(outbound.failed(Arc::default(), StoreError::ReadOnly), 0);
        assert!(outbound.has_failed());
    }
}
