//! The store in Redis together with files on this machine. If there is a backend, it holds a second copy of the state.
//!
//! - A file on this machine, the write-ahead file ([`ahead`]), contains every acknowledged step of a term. The file
//!   exists until the term has ended and the copy, if there is one, contains all results. If Redis has lost its last
//!   records, the current term replays these records from the file ([`recovery`]). If the term is over, the next
//!   process that opens the store replays them. If the replay is impossible, the run is frozen in Redis, so that no
//!   other process takes over the run and repeats calls.
//! - With a backend in the configuration, locks and commits are still in Redis, and the backend holds only the second
//!   copy. When the store is opened, the copy is compared with the state in Redis ([`decision`]). If Redis is empty or
//!   has lost its last records, the store continues from the copy and from the write-ahead files. The user gets a list
//!   of the objects that are uncertain.
//! - If the store is emptied while this process carries out a run, the run is lost. Until its term ends, the
//!   write-ahead file stays with this process, and no other process uses the store. Then the results that only this
//!   process knows are added to the file, and the file is added to the state ([`RunStore::salvage`], [`emptied`]).
//! - The copy is a state of version 4. It is written at intervals during runs, before a run ends, and after each edit
//!   ([`copier`]). A write needs the lock of the backend, and the existing copy must be the one that was written last.
//!   The serial of the copy only rises.
//! - A coordinator does not know the backend. The command that submitted the run writes the copy: while it watches the
//!   run, and at the end of the run ([`SecondCopyStore::copy_at_intervals`], [`SecondCopyStore::catch_up`]).

mod ahead;
mod copier;
mod decision;
mod emptied;
mod entry;
mod leading;
mod newest;
mod notice;
mod opening;
mod origin;
mod problems;
mod record;
mod recovery;
mod settle;
mod term_file;
mod waiting;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as BlockingMutex, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use weft_sealing::Sealing;

use crate::budget::{TokenGrant, TokenRequest};
use crate::edit::{Edit, EditAnswer};
use crate::embedded::RemoteOptions;
use crate::error::StoreError;
use crate::record::Opaque;
use crate::redis::{RedisServer, RedisStore};
use crate::run::{ChainTip, Holder, JournalLine, Lease, NewRun, RunHeader, RunId, RunView};
use crate::snapshot::Snapshot;
use crate::step::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, ClaimMode, CreateAnswer, ReleaseAnswer, RenewAnswer, StoreAnswer,
    StoreStep, TermEnding,
};
use crate::store::{RunStore, Salvaged};
use crate::subject::Subject;
use crate::tfstate::StateFile;
use ahead::SharedFiles;
use copier::{Copier, blocking};
use entry::{Entry, TermStart};
pub use notice::{CopyNotices, LostStore};
use opening::{files_of, open, reach};
use origin::Origin;
use term_file::digest_of_record;
pub use waiting::{WaitingFile, waiting_files};

/// The time between two writes of the copy during runs: as often as OpenTofu writes states.
pub const COPY_INTERVAL: Duration = Duration::from_secs(20);
/// The lower limit of the timeout for taking the lock of the backend before a copy is written. Another holder of this
/// lock only writes a state, so it usually releases the lock long before this timeout.
const LEAST_LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// The options for opening a store in Redis.
#[derive(Clone, Debug)]
pub struct SecondCopyOptions {
    /// The server, as `redis://HOST/DB?state=NAME`, and how to log in to it.
    pub server: RedisServer,
    /// The workspace.
    pub workspace: String,
    /// The seal of records and states.
    pub sealing: Arc<Sealing>,
    /// The second copy, if there is a backend.
    pub copy: Option<RemoteOptions>,
    /// The directory of the write-ahead files.
    pub folder: PathBuf,
    /// The time between two writes of the copy during runs.
    pub interval: Duration,
    /// Whether the store is opened for changes. Otherwise, the store is written only to restore what it has lost, and
    /// to make it agree with the copy.
    pub change: bool,
    /// Whether the user has declared everything lost that an emptied store had and the write-ahead files do not have.
    pub declared_lost: bool,
    /// The receiver of notices for the user.
    pub notices: CopyNotices,
}

/// A state and its runs in Redis, with write-ahead files on this machine. If there is a backend, it holds a second copy
/// of the state.
pub struct SecondCopyStore {
    options: SecondCopyOptions,
    files: SharedFiles,
    opened: Arc<RwLock<Opened>>,
    /// The errors of the runs that the store has lost while this process carried them out.
    lost_runs: BlockingMutex<BTreeMap<RunId, StoreError>>,
    /// The state at the beginning of the last term, if [`RunStore::keep_newest`] asks for it.
    kept: BlockingMutex<newest::Kept>,
    /// Locked while lost records are replayed, and while the store is opened again. Only one task at a time does this.
    mending: Mutex<()>,
    /// The task that writes the copy at intervals.
    task: BlockingMutex<Option<JoinHandle<()>>>,
}

/// An opened store. This value is replaced if the store turns out to have been emptied.
#[derive(Clone)]
struct Opened {
    redis: RedisStore,
    copier: Option<Arc<Copier>>,
}

impl Opened {
    /// The store that is open now.
    fn of(opened: &RwLock<Opened>) -> Opened {
        opened.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for SecondCopyStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SecondCopyStore({})", self.place())
    }
}

/// Calls the store, and repeats the call if the store had lost records that could be replayed.
macro_rules! mended {
    ($self:ident, $run:expr, $redis:ident => $call:expr) => {{
        let $redis = $self.redis();
        match $call {
            Err(StoreError::LostWrites { run, sequence }) => {
                $self.mend(&$redis, $run, StoreError::LostWrites { run, sequence }).await?;
                $call
            }
            answer => answer,
        }
    }};
}

impl SecondCopyStore {
    /// Connects to Redis, replays the records that it has lost, and compares its state with the copy.
    ///
    /// # Errors
    /// Errors of [`RedisStore::connect`] and of the backend; [`StoreError::CopyDiffers`] if the state and the copy
    /// cannot be made equal, for example because both have changed.
    pub async fn connect(mut options: SecondCopyOptions) -> Result<SecondCopyStore, StoreError> {
        if let Some(copy) = &mut options.copy {
            copy.lock_timeout = copy.lock_timeout.max(LEAST_LOCK_TIMEOUT);
        }
        let files = files_of(&options)?;
        let redis = reach(&options, &files).await?;
        let (opened, _) = open(&options, &files, redis).await?;
        let (opened, mending, task) = (Arc::new(RwLock::new(opened)), Mutex::default(), BlockingMutex::default());
        let (lost_runs, kept) = (BlockingMutex::default(), BlockingMutex::default());
        Ok(SecondCopyStore { options, files, opened, lost_runs, kept, mending, task })
    }

    fn opened(&self) -> Opened {
        Opened::of(&self.opened)
    }

    fn redis(&self) -> RedisStore {
        self.opened().redis
    }

    /// Starts to write the copy at intervals.
    pub fn copy_at_intervals(&self) {
        if self.opened().copier.is_none() {
            return;
        }
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let (interval, opened) = (self.options.interval, Arc::clone(&self.opened));
        *task = Some(tokio::spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                // The store may have been opened again since.
                let Some(copier) = Opened::of(&opened).copier else { continue };
                if let Err(error) = copier.catch_up().await {
                    tracing::warn!("the second copy of the state could not be written: {error}");
                }
            }
        }));
    }

    /// Writes the copy, unless it is up to date. If the store was emptied since, it first continues from the copy.
    ///
    /// # Errors
    /// [`StoreError::CopyDiffers`] if another tool has written the copy. Errors of Redis and of the backend.
    pub async fn catch_up(&self) -> Result<(), StoreError> {
        if self.opened().copier.is_none() {
            return Ok(());
        }
        self.open_again().await?;
        let Some(copier) = self.opened().copier else { return Ok(()) };
        copier.catch_up().await?;
        copier.runs_changed().await
    }

    /// Removes the workspace from Redis, if its state has this serial and its runs have ended. The copy in the backend
    /// stays.
    ///
    /// # Errors
    /// [`StoreError::InUse`]. Errors of Redis and of the backend.
    pub async fn remove(&self, serial: u64) -> Result<(), StoreError> {
        let Opened { redis, copier } = self.opened();
        redis.remove(serial, &self.options.workspace).await?;
        match copier {
            Some(copier) => copier.forget().await,
            None => Ok(()),
        }
    }

    /// Begins the write-ahead file of a term.
    async fn write_ahead_from(&self, lease: &Lease, holder: Holder) -> Result<(), StoreError> {
        let Opened { redis, copier } = self.opened();
        let (front, marks) = redis.front().await?;
        let tip = redis.known_tip(&lease.run).unwrap_or_default();
        let Lease { run, incarnation, token } = lease.clone();
        let start = TermStart { incarnation, lineage: front.lineage, run, token, holder, tip };
        let files = self.files.clone();
        let (copied, origin) = (marks.copied_serial(), Origin { serial: front.serial, copied: front.copied });
        blocking(move || {
            let mut files = files.get();
            files.copied(copied)?;
            files.begin(start, origin)
        })
        .await?;
        if let Some(copier) = copier {
            copier.runs_changed().await?;
            self.copy_at_intervals();
        }
        Ok(())
    }

    async fn append(&self, run: &RunId, entry: Entry) -> Result<(), StoreError> {
        let (files, run) = (self.files.clone(), run.clone());
        blocking(move || files.get().append(&run, &entry)).await
    }

    /// Ends the write-ahead file of a term. Removes the file, unless the copy still lacks results that the state has.
    /// In that case, the file stays until the copy has these results.
    async fn term_ends(&self, run: &RunId, ending: TermEnding) -> Result<(), StoreError> {
        let Opened { redis, copier } = self.opened();
        let (front, marks) = redis.front().await?;
        let (files, run) = (self.files.clone(), run.clone());
        let stays = front.copied && marks.copied_serial() < front.serial;
        blocking(move || match stays {
            true => files.get().end(&run, ending, front.serial),
            false => files.get().remove(&run),
        })
        .await?;
        match copier {
            Some(copier) => copier.runs_changed().await,
            None => Ok(()),
        }
    }

    /// Brings the copy up to date, if this process is responsible for it.
    async fn copy_first(&self) -> Result<(), StoreError> {
        match self.opened().copier {
            Some(copier) => copier.catch_up().await,
            None => Ok(()),
        }
    }
}

impl Drop for SecondCopyStore {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

#[async_trait]
impl RunStore for SecondCopyStore {
    fn place(&self) -> String {
        self.redis().place()
    }

    fn is_sealed(&self) -> bool {
        self.redis().is_sealed()
    }

    fn seals_plans(&self) -> bool {
        self.redis().seals_plans()
    }

    async fn reseal(&self) -> Result<(), StoreError> {
        let Opened { redis, copier } = self.opened();
        redis.reseal().await?;
        match copier {
            Some(copier) => copier.reseal().await,
            None => Ok(()),
        }
    }

    async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let snapshot = self.redis().snapshot().await?;
        self.keep(&snapshot);
        Ok(snapshot)
    }

    async fn overview(&self) -> Result<(Snapshot, Vec<RunHeader>), StoreError> {
        self.redis().overview().await
    }

    async fn export(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.redis().export().await
    }

    async fn newest(&self, unrecorded: &[StoreStep]) -> Result<Option<StateFile>, StoreError> {
        self.newest_known(unrecorded).await
    }

    async fn salvage(&self, run: &RunId, unrecorded: &[StoreStep]) -> Option<Salvaged> {
        self.salvaged(run, unrecorded).await
    }

    fn keep_newest(&self) {
        self.begin_to_keep();
    }

    fn journal_place(&self, run: &RunId) -> String {
        match self.files.get().shown(run) {
            path if path.is_empty() => self.place(),
            path => path,
        }
    }

    /// After an error, the edit may have taken effect although the copy was not written.
    async fn edit(&self, edit: Edit) -> Result<EditAnswer, StoreError> {
        let answer = self.redis().edit(edit).await?;
        if answer == EditAnswer::Edited {
            self.copy_first().await?;
        }
        Ok(answer)
    }

    async fn create_run(&self, run: NewRun) -> Result<CreateAnswer, StoreError> {
        self.open_again().await?;
        self.redis().create_run(run).await
    }

    async fn acquire(&self, request: Acquire) -> Result<AcquireAnswer, StoreError> {
        let holder = request.holder.clone();
        let answer = mended!(self, &request.run, redis => redis.acquire(request.clone()).await)?;
        if let AcquireAnswer::Granted(lease) = &answer {
            self.write_ahead_from(lease, holder).await?;
        }
        Ok(answer)
    }

    async fn take_tokens(&self, requests: &[TokenRequest]) -> Result<Vec<TokenGrant>, StoreError> {
        self.redis().take_tokens(requests).await
    }

    async fn renew(&self, lease: &Lease) -> Result<RenewAnswer, StoreError> {
        let answer = mended!(self, &lease.run, redis => redis.renew(lease).await)?;
        if let RenewAnswer::Fenced(fenced) = &answer {
            self.still_has(&lease.run, fenced)?;
        }
        Ok(answer)
    }

    async fn claim(&self, lease: &Lease, claims: &[Claim]) -> Result<ClaimAnswer, StoreError> {
        let answer = mended!(self, &lease.run, redis => redis.claim(lease, claims).await)?;
        if let ClaimAnswer::Fenced(fenced) = &answer {
            self.still_has(&lease.run, fenced)?;
        }
        if answer == ClaimAnswer::Claimed {
            let redis = self.redis();
            let snapshot = redis.snapshot().await?;
            let exclusive = claims.iter().filter(|claim| claim.mode == ClaimMode::Exclusive);
            let base = |claim: &Claim| match &claim.subject {
                Subject::Instance(address) => {
                    Some((address.clone(), digest_of_record(&snapshot.instance(address)?.record)))
                }
                _ => None,
            };
            let bases: BTreeMap<_, _> = exclusive.filter_map(base).collect();
            self.append(&lease.run, Entry::Bases(bases)).await?;
            let tip = redis.known_tip(&lease.run).unwrap_or_default();
            self.append(&lease.run, Entry::Claimed { claims: claims.to_vec(), tip }).await?;
        }
        Ok(answer)
    }

    async fn step_batch(&self, lease: &Lease, steps: Vec<StoreStep>) -> Result<Vec<StoreAnswer>, StoreError> {
        let run = &lease.run;
        let answers = mended!(self, run, redis => redis.step_batch(lease, steps.clone()).await)?;
        if let Some(StoreAnswer::Fenced(fenced)) = answers.last() {
            self.still_has(run, fenced)?;
        }
        let taken = steps.into_iter().zip(&answers).filter(|(_, answer)| answer.is_ok());
        let steps: Vec<StoreStep> = taken.map(|(step, _)| step).collect();
        if !steps.is_empty() {
            let tip = self.redis().known_tip(run).unwrap_or_default();
            self.append(run, Entry::Steps { steps, tip }).await?;
        }
        Ok(answers)
    }

    /// The copy is written first: if the write fails, the lease stays, and the run can be resumed and released later.
    async fn release(&self, lease: &Lease, ending: TermEnding) -> Result<ReleaseAnswer, StoreError> {
        if self.opened().copier.is_some() && !self.redis().is_current().await? {
            return Err(self.emptied(&lease.run));
        }
        self.copy_first().await?;
        let answer = mended!(self, &lease.run, redis => redis.release(lease, ending).await)?;
        match &answer {
            ReleaseAnswer::Released(_) => self.term_ends(&lease.run, ending).await?,
            ReleaseAnswer::Fenced(fenced) => self.still_has(&lease.run, fenced)?,
            ReleaseAnswer::Open(_) => {}
        }
        Ok(answer)
    }

    async fn withdraw(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        self.copy_first().await?;
        let answer = self.redis().withdraw(lease).await?;
        self.term_ends(&lease.run, TermEnding::Finished).await?;
        Ok(answer)
    }

    async fn abandon(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        self.copy_first().await?;
        let answer = self.redis().abandon(lease).await?;
        self.term_ends(&lease.run, TermEnding::Finished).await?;
        Ok(answer)
    }

    async fn prune(&self, before_unix_ms: u64) -> Result<Vec<RunId>, StoreError> {
        self.redis().prune(before_unix_ms).await
    }

    async fn runs(&self) -> Result<Vec<RunHeader>, StoreError> {
        self.redis().runs().await
    }

    async fn header(&self, run: &RunId) -> Result<Option<RunHeader>, StoreError> {
        self.redis().header(run).await
    }

    async fn thaw(&self, run: &RunId) -> Result<Option<String>, StoreError> {
        self.redis().thaw(run).await
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunView>, StoreError> {
        self.redis().run(run).await
    }

    async fn plan(&self, run: &RunId) -> Result<Opaque, StoreError> {
        self.redis().plan(run).await
    }

    async fn journal(&self, run: &RunId) -> Result<Vec<JournalLine>, StoreError> {
        self.redis().journal(run).await
    }

    async fn tip(&self, run: &RunId) -> Result<ChainTip, StoreError> {
        self.redis().tip(run).await
    }
}
