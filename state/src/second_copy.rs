//! Redis in front of a backend: locks and commits are in Redis, and the backend holds a second copy of the state.
//!
//! - When the store is opened, the copy is compared with the state in Redis ([`decision`]). A store that is empty begins
//!   from the copy, and so does one whose copy another tool has changed since.
//! - The copy is a state of version 4. It is written at intervals while runs go on, before a run ends, and after each
//!   edit ([`copier`]): under the lock of the backend, and only if it is the one that was written last. Its serial only
//!   rises.
//! - What a run was told since the last copy is in a file of this machine ([`ahead`]). A Redis that comes back empty
//!   begins from the copy and from that file, and whatever is uncertain is named.

mod ahead;
mod copier;
mod decision;
mod notice;
mod record;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::task::JoinHandle;
use weft_sealing::Sealing;

use crate::edit::{Edit, EditAnswer};
use crate::embedded::RemoteOptions;
use crate::record::Opaque;
use crate::redis::RedisStore;
use crate::run::{ChainTip, JournalLine, Lease, NewRun, RunHeader, RunId, RunView};
use crate::snapshot::Snapshot;
use crate::step::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, CreateAnswer, ReleaseAnswer, RenewAnswer, StoreAnswer, StoreStep,
    TermEnding,
};
use crate::store::{RunStore, StoreError};
use crate::tfstate::StateFile;
use copier::Copier;
pub(crate) use decision::{CopyMarks, Front};
pub use notice::{CopyNotices, LostStore};

/// How often the copy is written while runs go on, as often as OpenTofu writes states.
pub const COPY_INTERVAL: Duration = Duration::from_secs(20);
/// How long to wait for the lock of the backend before a copy is written. Whoever holds it writes a state at most.
const LEAST_LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// The options for opening a store in Redis with a second copy in a backend.
#[derive(Clone, Debug)]
pub struct SecondCopyOptions {
    /// The address of Redis: `redis://HOST/DB?state=NAME`.
    pub url: String,
    /// The workspace.
    pub workspace: String,
    /// The seal of records and states.
    pub sealing: Arc<Sealing>,
    /// The second copy.
    pub copy: RemoteOptions,
    /// How often the copy is written while runs go on.
    pub interval: Duration,
    /// Whether the store is opened for changes. Otherwise only an empty store is written to, from its copy.
    pub change: bool,
    /// Where to report what the user must know.
    pub notices: CopyNotices,
}

/// State and runs in Redis, with a second copy of the state in a backend.
pub struct SecondCopyStore {
    redis: RedisStore,
    copier: Arc<Copier>,
    /// Writes the copy at intervals. Begins with the first term.
    task: std::sync::Mutex<Option<JoinHandle<()>>>,
    interval: Duration,
}

impl fmt::Debug for SecondCopyStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SecondCopyStore({})", self.place())
    }
}

impl SecondCopyStore {
    /// Connects to Redis, and compares its state with the copy.
    ///
    /// # Errors
    /// Those of [`RedisStore::connect`] and of the backend; [`StoreError::CopyDiffers`] if both states were changed.
    pub async fn connect(options: SecondCopyOptions) -> Result<SecondCopyStore, StoreError> {
        let SecondCopyOptions { url, workspace, sealing, mut copy, interval, change, notices } = options;
        let redis = match RedisStore::connect(&url, &workspace, change, Arc::clone(&sealing)).await {
            // There is nothing to read unless the backend has something.
            Err(StoreError::NoState(_)) if copy.state.read().await?.is_some() => {
                RedisStore::connect(&url, &workspace, true, Arc::clone(&sealing)).await?
            }
            connected => connected?,
        };
        copy.lock_timeout = copy.lock_timeout.max(LEAST_LOCK_TIMEOUT);
        let copier = Arc::new(Copier::new(redis.clone(), copy, sealing, notices)?);
        copier.begin(change).await?;
        Ok(SecondCopyStore { redis, copier, task: std::sync::Mutex::default(), interval })
    }

    /// Begins to write the copy at intervals.
    fn copy_at_intervals(&self) {
        let mut task = self.task.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if task.is_some() {
            return;
        }
        let (copier, interval) = (Arc::clone(&self.copier), self.interval);
        *task = Some(tokio::spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                if let Err(error) = copier.catch_up().await {
                    tracing::warn!("the second copy of the state could not be written: {error}");
                }
            }
        }));
    }
}

impl Drop for SecondCopyStore {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

#[async_trait]
impl RunStore for SecondCopyStore {
    fn place(&self) -> String {
        self.redis.place()
    }

    fn is_sealed(&self) -> bool {
        self.redis.is_sealed()
    }

    fn seals_plans(&self) -> bool {
        self.redis.seals_plans()
    }

    async fn reseal(&self) -> Result<(), StoreError> {
        self.redis.reseal().await?;
        self.copier.reseal().await
    }

    async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.redis.snapshot().await
    }

    async fn overview(&self) -> Result<(Snapshot, Vec<RunHeader>), StoreError> {
        self.redis.overview().await
    }

    async fn export(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.redis.export().await
    }

    async fn newest(&self, unrecorded: &[StoreStep]) -> Result<Option<StateFile>, StoreError> {
        self.redis.newest(unrecorded).await
    }

    /// An error may also mean that the edit is done, and that the copy could not be written.
    async fn edit(&self, edit: Edit) -> Result<EditAnswer, StoreError> {
        let answer = self.redis.edit(edit).await?;
        if answer == EditAnswer::Edited {
            self.copier.catch_up().await?;
        }
        Ok(answer)
    }

    async fn create_run(&self, run: NewRun) -> Result<CreateAnswer, StoreError> {
        self.redis.create_run(run).await
    }

    async fn acquire(&self, request: Acquire) -> Result<AcquireAnswer, StoreError> {
        let answer = self.redis.acquire(request).await?;
        if let AcquireAnswer::Granted(lease) = &answer {
            self.copier.term_begins(&lease.run).await?;
            self.copy_at_intervals();
        }
        Ok(answer)
    }

    async fn renew(&self, lease: &Lease) -> Result<RenewAnswer, StoreError> {
        self.redis.renew(lease).await
    }

    async fn claim(&self, lease: &Lease, claims: &[Claim]) -> Result<ClaimAnswer, StoreError> {
        self.redis.claim(lease, claims).await
    }

    async fn step_batch(&self, lease: &Lease, steps: Vec<StoreStep>) -> Result<Vec<StoreAnswer>, StoreError> {
        let answers = self.redis.step_batch(lease, steps.clone()).await?;
        let taken = steps.into_iter().zip(&answers).filter(|(_, answer)| answer.is_ok());
        self.copier.write_ahead(&lease.run, taken.map(|(step, _)| step).collect()).await?;
        Ok(answers)
    }

    /// The copy is written first: if that fails, the lease stays, and the run can be resumed and released later.
    async fn release(&self, lease: &Lease, ending: TermEnding) -> Result<ReleaseAnswer, StoreError> {
        self.copier.catch_up().await?;
        let answer = self.redis.release(lease, ending).await?;
        if matches!(answer, ReleaseAnswer::Released(_)) {
            self.copier.term_ends(&lease.run).await?;
        }
        Ok(answer)
    }

    async fn withdraw(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        self.copier.catch_up().await?;
        let answer = self.redis.withdraw(lease).await?;
        self.copier.term_ends(&lease.run).await?;
        Ok(answer)
    }

    async fn abandon(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        self.copier.catch_up().await?;
        let answer = self.redis.abandon(lease).await?;
        self.copier.term_ends(&lease.run).await?;
        Ok(answer)
    }

    async fn prune(&self, before_unix_ms: u64) -> Result<Vec<RunId>, StoreError> {
        self.redis.prune(before_unix_ms).await
    }

    async fn runs(&self) -> Result<Vec<RunHeader>, StoreError> {
        self.redis.runs().await
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunView>, StoreError> {
        self.redis.run(run).await
    }

    async fn plan(&self, run: &RunId) -> Result<Opaque, StoreError> {
        self.redis.plan(run).await
    }

    async fn journal(&self, run: &RunId) -> Result<Vec<JournalLine>, StoreError> {
        self.redis.journal(run).await
    }

    async fn tip(&self, run: &RunId) -> Result<ChainTip, StoreError> {
        self.redis.tip(run).await
    }
}
