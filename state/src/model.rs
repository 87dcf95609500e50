//! A store in memory, for simulations: the ledger alone. It is deterministic and can lose its latest writes.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::budget::{LocalBudgets, TokenGrant, TokenRequest};
use crate::content::{bytes_of, prepare, prepare_writes};
use crate::edit::{Edit, EditAnswer};
use crate::error::StoreError;
use crate::event::{Base, Began, Event, chain};
use crate::ledger::{Ledger, RevisionRule};
use crate::record::Opaque;
use crate::run::{ChainTip, Digest, Incarnation, JournalLine, Lease, NewRun, RunHeader, RunId, RunView};
use crate::snapshot::Snapshot;
use crate::step::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, CreateAnswer, ReleaseAnswer, RenewAnswer, StoreAnswer, StoreStep,
    TermEnding,
};
use crate::store::RunStore;
use crate::tfstate::StateFile;

/// The complete content of the model at one moment.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    ledger: Ledger,
    journals: std::collections::BTreeMap<RunId, Vec<(Event, Digest)>>,
}

/// The model store.
pub struct ModelStore {
    held: Mutex<Checkpoint>,
    /// Whether batches with results fail.
    broken: AtomicBool,
    budgets: LocalBudgets,
}

impl fmt::Debug for ModelStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ModelStore")
    }
}

impl ModelStore {
    /// An empty store. The incarnation and the lineage are derived from the seed.
    pub fn new(rule: RevisionRule, seed: u64) -> ModelStore {
        let mut ledger = Ledger::new(rule, true, Incarnation(u128::from(seed)));
        ledger.lineage = format!("00000000-0000-4000-8000-{:012x}", seed & 0xffff_ffff_ffff);
        ModelStore {
            held: Mutex::new(Checkpoint { ledger, journals: Default::default() }),
            broken: AtomicBool::new(false),
            budgets: LocalBudgets::default(),
        }
    }

    /// A store with the content of a state file.
    pub fn with_state(rule: RevisionRule, seed: u64, file: StateFile) -> ModelStore {
        let store = ModelStore::new(rule, seed);
        store.held().ledger.load(file);
        store
    }

    /// From now on, every batch with results fails.
    pub fn break_down(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    fn held(&self) -> MutexGuard<'_, Checkpoint> {
        // Nothing panics while the lock is held; a poisoned lock still guards sound data.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current content of the store.
    pub fn checkpoint(&self) -> Checkpoint {
        self.held().clone()
    }

    /// Returns to an earlier moment: everything acknowledged since is lost, as after a failover. If `incarnation` is
    /// given, the store knows that it was restored, and adopts this new identity.
    pub fn roll_back(&self, to: Checkpoint, incarnation: Option<Incarnation>) {
        let mut held = self.held();
        *held = to;
        if let Some(incarnation) = incarnation {
            held.ledger.incarnation = incarnation;
        }
    }
}

impl Checkpoint {
    fn append(&mut self, run: &RunId, event: Event) {
        let journal = self.journals.entry(run.clone()).or_default();
        let before = journal.last().map(|(_, hash)| *hash).unwrap_or_default();
        let hash = chain(&before, &bytes_of(&event));
        journal.push((event, hash));
    }
}

#[async_trait]
impl RunStore for ModelStore {
    fn place(&self) -> String {
        "memory".to_owned()
    }

    async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        Ok(self.held().ledger.snapshot())
    }

    async fn export(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let file = self.held().ledger.to_file();
        Ok((!file.is_empty() || file.serial > 0).then(|| file.to_bytes()))
    }

    async fn edit(&self, mut edit: Edit) -> Result<EditAnswer, StoreError> {
        prepare_writes(&mut edit.writes)?;
        let mut held = self.held();
        let answer = held.ledger.edit(&edit);
        held.ledger.serial += u64::from(answer == EditAnswer::Edited);
        Ok(answer)
    }

    async fn create_run(&self, run: NewRun) -> Result<CreateAnswer, StoreError> {
        Ok(self.held().ledger.create(run, true))
    }

    async fn acquire(&self, request: Acquire) -> Result<AcquireAnswer, StoreError> {
        let mut held = self.held();
        let before = held.ledger.epoch;
        let answer = held.ledger.acquire(&request, false);
        if let AcquireAnswer::Granted(lease) = &answer
            && held.ledger.epoch != before
        {
            let began = Began {
                run: lease.run.clone(),
                token: lease.token,
                holder: request.holder,
                base: Base {
                    lineage: held.ledger.lineage.clone(),
                    serial: held.ledger.serial,
                    digest: Digest::default(),
                    instances: Vec::new(),
                },
                sealed: None,
            };
            held.append(&lease.run, Event::Began(began));
        }
        Ok(answer)
    }

    async fn take_tokens(&self, requests: &[TokenRequest]) -> Result<Vec<TokenGrant>, StoreError> {
        Ok(self.budgets.take(requests))
    }

    async fn renew(&self, lease: &Lease) -> Result<RenewAnswer, StoreError> {
        Ok(self.held().ledger.renew(lease))
    }

    async fn claim(&self, lease: &Lease, claims: &[Claim]) -> Result<ClaimAnswer, StoreError> {
        let mut held = self.held();
        let answer = held.ledger.claim(lease, claims);
        if answer == ClaimAnswer::Claimed {
            held.append(&lease.run, Event::Claimed(claims.to_vec()));
        }
        Ok(answer)
    }

    async fn step_batch(&self, lease: &Lease, mut steps: Vec<StoreStep>) -> Result<Vec<StoreAnswer>, StoreError> {
        if self.broken.load(Ordering::Relaxed) && steps.iter().any(|step| matches!(step, StoreStep::Commit(_))) {
            return Err(StoreError::Closed("the disk is full".to_owned()));
        }
        prepare(&mut steps)?;
        let mut held = self.held();
        let answers = held.ledger.steps(lease, &steps);
        for (step, answer) in steps.into_iter().zip(&answers) {
            if let StoreAnswer::Ok { repeated: false, revisions } = answer {
                held.ledger.serial += u64::from(!revisions.is_empty());
                held.append(&lease.run, Event::Step(step));
            }
        }
        Ok(answers)
    }

    async fn release(&self, lease: &Lease, ending: TermEnding) -> Result<ReleaseAnswer, StoreError> {
        let mut held = self.held();
        let answer = held.ledger.release(lease, ending);
        if let ReleaseAnswer::Released(header) = &answer {
            let event = Event::Ended { status: header.status, abandoned: false };
            held.append(&lease.run, event);
        }
        Ok(answer)
    }

    async fn withdraw(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        let untouched = self.held().ledger.is_untouched(&lease.run);
        let answer = self.release(lease, TermEnding::Finished).await?;
        if untouched && matches!(answer, ReleaseAnswer::Released(_)) {
            self.held().ledger.runs.remove(&lease.run);
        }
        Ok(answer)
    }

    async fn abandon(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        let mut held = self.held();
        let answer = held.ledger.abandon(lease);
        if let ReleaseAnswer::Released(header) = &answer {
            let event = Event::Ended { status: header.status, abandoned: true };
            held.append(&lease.run, event);
        }
        Ok(answer)
    }

    async fn prune(&self, before_unix_ms: u64) -> Result<Vec<RunId>, StoreError> {
        let mut held = self.held();
        let old: Vec<RunId> = held
            .ledger
            .runs
            .iter()
            .filter(|(_, run)| run.status.is_final() && run.started_unix_ms < before_unix_ms)
            .map(|(id, _)| id.clone())
            .collect();
        old.iter().for_each(|run| drop(held.ledger.runs.remove(run)));
        Ok(old)
    }

    async fn runs(&self) -> Result<Vec<RunHeader>, StoreError> {
        Ok(self.held().ledger.headers())
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunView>, StoreError> {
        Ok(self.held().ledger.runs.get(run).map(|state| state.view(run)))
    }

    async fn plan(&self, run: &RunId) -> Result<Opaque, StoreError> {
        let held = self.held();
        let state = held.ledger.runs.get(run).ok_or_else(|| StoreError::NoRun(run.clone()))?;
        Ok(state.plan_bytes.clone())
    }

    async fn journal(&self, run: &RunId) -> Result<Vec<JournalLine>, StoreError> {
        let held = self.held();
        let lines = held.journals.get(run).map(Vec::as_slice).unwrap_or_default();
        Ok(lines.iter().zip(0..).map(|((event, hash), sequence)| event.line(sequence, *hash)).collect())
    }

    async fn tip(&self, run: &RunId) -> Result<ChainTip, StoreError> {
        let held = self.held();
        let lines = held.journals.get(run).map(Vec::as_slice).unwrap_or_default();
        Ok(ChainTip {
            incarnation: held.ledger.incarnation,
            sequence: lines.len() as u64,
            hash: lines.last().map(|(_, hash)| *hash).unwrap_or_default(),
        })
    }
}
