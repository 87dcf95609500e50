//! The store trait: the operations of every store, with one method for each atomic step of the run protocol.

use std::fmt;

use async_trait::async_trait;

use crate::budget::{TokenGrant, TokenRequest};
use crate::content::prepare;
use crate::edit::{Edit, EditAnswer};
use crate::error::StoreError;
use crate::record::Opaque;
use crate::result::{CommitRecord, Failure, Writes};
use crate::run::{ChainTip, JournalLine, Lease, NewRun, RunHeader, RunId, RunView};
use crate::snapshot::Snapshot;
use crate::step::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, CreateAnswer, Intent, ReleaseAnswer, RenewAnswer, StoreAnswer,
    StoreStep, TermEnding,
};
use crate::tfstate::StateFile;

/// The results of a run that its store has lost, after the end of its term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvaged {
    /// [`StoreError::Emptied`], which says where the results are and what to do.
    pub error: StoreError,
    /// Whether the state has all results now.
    pub complete: bool,
}

/// A state store with its runs. Every step checks incarnation, run and token first, and validates everything before its
/// first write. When a method returns, its answer is durable. An `Err` does not say whether the steps took effect: send
/// the same steps again. A step that has already taken effect is answered with `Ok` and `repeated`.
#[async_trait]
pub trait RunStore: Send + Sync + fmt::Debug {
    /// The location of the store for display, without secrets: `terraform.tfstate` or `redis://host:6379/0?state=x`.
    fn place(&self) -> String;

    /// Whether the state and the data of runs are encrypted.
    fn is_sealed(&self) -> bool {
        false
    }

    /// Whether the plans of runs are encrypted.
    fn seals_plans(&self) -> bool {
        self.is_sealed()
    }

    /// Whether another process has taken over the lock of the state, because this process did not renew the lock in
    /// time. If so, the store accepts no more writes. Always `false` for a store that locks single runs and not the
    /// state.
    fn is_superseded(&self) -> bool {
        false
    }

    /// Rewrites the state if it is sealed differently than configured now. So a change of the encryption settings takes
    /// effect even if nothing else changes.
    async fn reseal(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The whole state with revisions and open doubts.
    async fn snapshot(&self) -> Result<Snapshot, StoreError>;

    /// The whole state, and the headers of all runs, newest first. The state and the headers come from one consistent
    /// view if the store can provide such a view.
    async fn overview(&self) -> Result<(Snapshot, Vec<RunHeader>), StoreError> {
        Ok((self.snapshot().await?, self.runs().await?))
    }

    /// The state as a file of version 4, as `weft state pull` prints it, or `None` if there is no state yet.
    async fn export(&self) -> Result<Option<Vec<u8>>, StoreError>;

    /// The newest known state, for a run whose store has failed. It includes the results in `unrecorded`: steps that
    /// the store did not accept. `None` if every process can read the whole state from the store.
    async fn newest(&self, unrecorded: &[StoreStep]) -> Result<Option<StateFile>, StoreError> {
        let mut unrecorded = unrecorded.to_vec();
        prepare(&mut unrecorded)?;
        let writes: Vec<&Writes> =
            unrecorded.iter().filter_map(StoreStep::writes).filter(|writes| !writes.is_empty()).collect();
        if writes.is_empty() {
            return Ok(None);
        }
        let mut file = self.snapshot().await?.into_state_file();
        file.serial += 1;
        writes.into_iter().for_each(|writes| file.write(writes));
        Ok(Some(file))
    }

    /// Ends a term in this process. The caller calls this once for each term when no more results can come, whether or
    /// not the store has confirmed the end. If the store has lost the run, adds to the state the results that only this
    /// process has: those in its write-ahead file, and those in `unrecorded`. Returns `None` if the store has not lost
    /// the run.
    async fn salvage(&self, run: &RunId, unrecorded: &[StoreStep]) -> Option<Salvaged> {
        let _ = (run, unrecorded);
        None
    }

    /// Makes the store remember what [`RunStore::newest`] needs if the store no longer responds.
    fn keep_newest(&self) {}

    /// The location of the journal of a run, for display.
    fn journal_place(&self, run: &RunId) -> String {
        let _ = run;
        self.place()
    }

    /// The runs whose process had already ended when this store was opened. While the store is open, no other process
    /// can continue these runs.
    fn interrupted(&self) -> Vec<RunId> {
        Vec::new()
    }

    /// The failure since the last call, if there was one. Such a failure does not stop the run.
    fn take_trouble(&self) -> Option<StoreError> {
        None
    }

    /// EDIT: changes the state outside of any run. Either the whole edit is applied, or nothing changes.
    async fn edit(&self, edit: Edit) -> Result<EditAnswer, StoreError>;

    /// Stores a new run with its plan, as `stopped` and without claims.
    async fn create_run(&self, run: NewRun) -> Result<CreateAnswer, StoreError>;

    /// ACQUIRE: requests the lease of a run.
    async fn acquire(&self, request: Acquire) -> Result<AcquireAnswer, StoreError>;

    /// RENEW: increments the heartbeat.
    async fn renew(&self, lease: &Lease) -> Result<RenewAnswer, StoreError>;

    /// CLAIM: claims everything that the plan changes or reads. A resumed run, which claims again, gets the union of
    /// its old and new claims. Its new claims never conflict with its old ones.
    async fn claim(&self, lease: &Lease, claims: &[Claim]) -> Result<ClaimAnswer, StoreError>;

    /// Records steps of many operations, in order, with one wait for durability. Each step has its own answer. A
    /// refused step does not stop the steps after it.
    async fn step_batch(&self, lease: &Lease, steps: Vec<StoreStep>) -> Result<Vec<StoreAnswer>, StoreError>;

    /// Reserves tokens of budgets of provider calls. Returns one grant for each request. All users of this store share
    /// the budgets. Tokens are not durable, and need no lease.
    async fn take_tokens(&self, requests: &[TokenRequest]) -> Result<Vec<TokenGrant>, StoreError>;

    /// RELEASE: releases the lease.
    async fn release(&self, lease: &Lease, ending: TermEnding) -> Result<ReleaseAnswer, StoreError>;

    /// WITHDRAW: removes a run that has begun no operation, with its claims, its lease and every record of it. A run
    /// that has begun an operation is ended as by RELEASE.
    async fn withdraw(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError>;

    /// ABANDON: open intents become doubts. Other claims and the lease are released.
    async fn abandon(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError>;

    /// Removes the plans, journals and records of finished runs that began before this moment, in milliseconds since
    /// 1970, because they may hold secrets. The state keeps the results of these runs. Returns the removed runs.
    async fn prune(&self, before_unix_ms: u64) -> Result<Vec<RunId>, StoreError>;

    /// All runs in the store, newest first.
    async fn runs(&self) -> Result<Vec<RunHeader>, StoreError>;

    /// The header of one run.
    async fn header(&self, run: &RunId) -> Result<Option<RunHeader>, StoreError> {
        Ok(self.runs().await?.into_iter().find(|header| header.id == *run))
    }

    /// Accepts the loss of the records of a frozen run ([`StoreError::Frozen`]), so that the run can be abandoned.
    /// Returns a description of the lost records, or `None` if the run is not frozen.
    async fn thaw(&self, run: &RunId) -> Result<Option<String>, StoreError> {
        let _ = run;
        Ok(None)
    }

    /// One run with its operations.
    async fn run(&self, run: &RunId) -> Result<Option<RunView>, StoreError>;

    /// The plan file of a run.
    async fn plan(&self, run: &RunId) -> Result<Opaque, StoreError>;

    /// The journal of a run, oldest first.
    async fn journal(&self, run: &RunId) -> Result<Vec<JournalLine>, StoreError>;

    /// The last line of the journal of a run.
    async fn tip(&self, run: &RunId) -> Result<ChainTip, StoreError>;

    /// Records the INTENTs of several operations.
    async fn intents(&self, lease: &Lease, intents: Vec<Intent>) -> Result<Vec<StoreAnswer>, StoreError> {
        self.step_batch(lease, intents.into_iter().map(StoreStep::Intent).collect()).await
    }

    /// Records the COMMITs of several operations.
    async fn commits(&self, lease: &Lease, commits: Vec<CommitRecord>) -> Result<Vec<StoreAnswer>, StoreError> {
        self.step_batch(lease, commits.into_iter().map(StoreStep::Commit).collect()).await
    }

    /// Records the FAILs of several operations.
    async fn failures(&self, lease: &Lease, failures: Vec<Failure>) -> Result<Vec<StoreAnswer>, StoreError> {
        self.step_batch(lease, failures.into_iter().map(StoreStep::Fail).collect()).await
    }
}
