//! The store: the model, with a disk that makes its steps durable late, in part, or not at all.
//!
//! A batch takes effect at once for every later step. The batch is durable, and gets its answer, only after a sync. A
//! crash before the sync loses the batch and every later step.

use std::collections::BTreeMap;

use futures::executor::block_on;
use weft_state::model::Checkpoint;
use weft_state::{
    Acquire, AcquireAnswer, Lease, LeaseView, ModelStore, ReleaseAnswer, RenewAnswer, RunHeader, RunId, RunStore,
    RunView, StoreAnswer, StoreStep, TermEnding, Token,
};

use crate::kept::DurableRecords;

/// A batch that has taken effect but is not durable yet.
struct Written {
    seat: usize,
    steps: Vec<StoreStep>,
    answers: Vec<StoreAnswer>,
    /// Whether only the beginning of the batch took effect, so that the batch gets no answer.
    torn: bool,
}

/// The store of a history.
pub(crate) struct Disk {
    store: ModelStore,
    run: RunId,
    /// The last durable state, if later writes are not durable yet.
    durable: Checkpoint,
    written: Vec<Written>,
    /// Answers that have not arrived yet, by seat.
    answers: BTreeMap<usize, Vec<StoreAnswer>>,
    pub(crate) kept: DurableRecords,
    lease: Granted,
}

/// The valid lease.
#[derive(Default)]
struct Granted {
    token: Option<Token>,
    /// When the store last received a renewal of the lease.
    moved: u64,
}

impl Disk {
    pub(crate) fn new(store: ModelStore, run: RunId) -> Disk {
        let durable = store.checkpoint();
        let (written, answers) = (Vec::new(), BTreeMap::new());
        Disk { store, run, durable, written, answers, kept: DurableRecords::default(), lease: Granted::default() }
    }

    /// The model, after a sync.
    pub(crate) fn synced(&mut self) -> &ModelStore {
        self.sync();
        &self.store
    }

    /// Applies a batch, or only its beginning.
    pub(crate) fn write(&mut self, seat: usize, lease: &Lease, batch: &[StoreStep], torn: Option<usize>) {
        if self.written.is_empty() {
            self.durable = self.store.checkpoint();
        }
        let steps = batch[..torn.unwrap_or(batch.len())].to_vec();
        let answers = block_on(self.store.step_batch(lease, steps.clone())).expect("the model answers");
        if self.lease.token != Some(lease.token) {
            let fenced = answers.iter().all(|answer| matches!(answer, StoreAnswer::Fenced(_)));
            assert!(fenced, "the store took a step of a term that has lost its lease: {steps:?}");
        }
        self.written.push(Written { seat, steps, answers, torn: torn.is_some() });
    }

    /// Makes everything that was written durable.
    pub(crate) fn sync(&mut self) {
        for Written { seat, steps, answers, torn } in std::mem::take(&mut self.written) {
            for (step, answer) in steps.iter().zip(&answers) {
                self.kept.note(step, answer);
            }
            if !torn {
                self.answers.insert(seat, answers);
            }
        }
    }

    /// Loses everything that is not durable. Returns the seats whose batches are lost or torn.
    pub(crate) fn crash(&mut self) -> Vec<usize> {
        if !self.written.is_empty() {
            self.store.roll_back(self.durable.clone(), None);
        }
        std::mem::take(&mut self.written).into_iter().map(|written| written.seat).collect()
    }

    /// Whether a sync would change anything.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.written.is_empty()
    }

    /// The answer to a seat's batch, once it has arrived.
    pub(crate) fn answer(&mut self, seat: usize) -> Option<Vec<StoreAnswer>> {
        self.answers.remove(&seat)
    }

    pub(crate) fn has_answer(&self, seat: usize) -> bool {
        self.answers.contains_key(&seat)
    }

    /// Forgets a seat that has ended, so that nothing reads its answers.
    pub(crate) fn forget(&mut self, seat: usize) {
        self.answers.remove(&seat);
    }

    /// ACQUIRE. A challenger must wait for `ttl`.
    pub(crate) fn acquire(&mut self, request: Acquire, now: u64, ttl: u64) -> AcquireAnswer {
        self.sync();
        let held = self.header().lease.is_some();
        let answer = block_on(self.store.acquire(request)).expect("the model answers");
        if let AcquireAnswer::Granted(lease) = &answer {
            let still = now - self.lease.moved;
            assert!(!held || still >= ttl, "a lease was taken {still} ms after it moved, before its TTL of {ttl} ms");
            self.lease = Granted { token: Some(lease.token), moved: now };
        }
        answer
    }

    /// RENEW.
    pub(crate) fn renew(&mut self, lease: &Lease, now: u64) -> RenewAnswer {
        self.sync();
        let answer = block_on(self.store.renew(lease)).expect("the model answers");
        if matches!(answer, RenewAnswer::Renewed { .. }) {
            assert_eq!(self.lease.token, Some(lease.token), "the store renewed a lease that was taken over");
            self.lease.moved = now;
        }
        answer
    }

    /// RELEASE.
    pub(crate) fn release(&mut self, lease: &Lease, ending: TermEnding) -> ReleaseAnswer {
        self.sync();
        block_on(self.store.release(lease, ending)).expect("the model answers")
    }

    /// The run's header.
    pub(crate) fn header(&self) -> RunHeader {
        block_on(self.store.runs()).expect("the model answers").remove(0)
    }

    /// The lease, if it is held.
    pub(crate) fn lease(&self) -> Option<LeaseView> {
        self.header().lease
    }

    /// The whole run, after a sync.
    pub(crate) fn view(&mut self) -> RunView {
        self.sync();
        block_on(self.store.run(&self.run)).expect("the model answers").expect("the run")
    }
}
