//! The embedded store: the state file, and the journal of each run beside it. A state in a backend differs: see
//! `remote`.
//!
//! Invariants, regardless of the moment when the process dies:
//! - The store answers only after the journal line of the answer is on the disk. One fsync serves all waiting answers.
//! - Before the first intent, the format digit of the state file ([`crate::tfstate::FormatDigit`]) changes to one that
//!   OpenTofu refuses. The original digit is restored as the last step, after the journal is folded into the file. It
//!   is not restored while a run of the file can continue or has operations in doubt.
//! - The results of a run are written to the state file in place, through the one locked descriptor, and only after the
//!   complete new content is in the journal. An edit outside of any run has no journal: another file beside the state
//!   file holds the new content until the state file has it.
//! - One process holds the lock of the file. Within that process, one run at a time holds a lease.

mod backup;
mod files;
mod folder;
mod journal;
mod live;
mod local;
mod lock;
mod medium;
mod options;
mod pending;
mod private;
mod problems;
mod recovery;
mod remote;
mod repair;
mod saves;
mod saving;
mod sealed;
mod terms;
mod writer;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use weft_sealing::TargetName;

use crate::budget::{LocalBudgets, TokenGrant, TokenRequest};
use crate::content::{prepare, prepare_writes};
use crate::edit::{Edit, EditAnswer};
use crate::error::StoreError;
use crate::ledger::Ledger;
use crate::record::Opaque;
use crate::result::Writes;
use crate::run::{ChainTip, Incarnation, JournalLine, Lease, NewRun, RunHeader, RunId, RunView};
use crate::snapshot::Snapshot;
use crate::step::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, CreateAnswer, ReleaseAnswer, RenewAnswer, StoreAnswer, StoreStep,
    TermEnding,
};
use crate::store::RunStore;
use crate::tfstate::{StateFile, WRITER_VERSION, as_version_4};
pub use backup::Backup;
use files::read_file;
use folder::RunFolders;
use journal::Chain;
use live::Live;
use local::LocalMedium;
pub(crate) use lock::digit_of;
pub(crate) use medium::{Document, Medium};
pub use options::EmbeddedOptions;
use options::Mode;
use recovery::Loaded;
pub(crate) use remote::RemoteMedium;
pub use remote::RemoteOptions;
pub use saves::SAVE_INTERVAL;
use saves::Saves;
pub(crate) use sealed::Seals;
use terms::EmbeddedCore;

/// The maximum number of attempts to read without the lock. An attempt fails if the files do not match, because another
/// process may be writing them at that moment.
const LOOKS: u32 = 4;
/// The pause between two attempts to read. Writing a state file takes milliseconds.
const LOOK_PAUSE: Duration = Duration::from_millis(30);

/// A state file with its runs.
#[derive(Clone)]
pub struct EmbeddedStore {
    core: Arc<EmbeddedCore>,
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "EmbeddedStore({})", self.place())
    }
}

impl EmbeddedStore {
    /// Locks the state file, reads it, and recovers the journal of a dead run.
    ///
    /// # Errors
    /// Returns an error if another process has the lock, or if the state is unreadable or damaged. Also returns an
    /// error if a journal began from another state. [`StoreError::Io`] if a file operation fails.
    pub fn open(options: EmbeddedOptions) -> Result<EmbeddedStore, StoreError> {
        let medium = LocalMedium::new(options.clone(), true)?;
        let name = medium.name();
        EmbeddedStore::open_on(Arc::new(medium), name, options.mode())
    }

    /// Like [`EmbeddedStore::open`], over any medium. `name` is the name of the state in the headers of its runs.
    fn open_on(medium: Arc<dyn Medium>, name: String, mode: Mode) -> Result<EmbeddedStore, StoreError> {
        let handle = medium.lock()?;
        let folders = RunFolders::new(medium.files(), name, Seals::new(Arc::clone(&mode.sealing)));
        let incarnation = Incarnation(random_u128()?);
        let content = current_form(handle.settle()?, handle.path())?;
        let mut loaded = recovery::load(&folders, &content, handle.path(), incarnation)?;
        let unsaved = (!content.is_empty()).then(|| content.clone());
        let mut seed = None;
        if let Some(source) = mode.source.as_ref().filter(|_| content.is_empty()) {
            // The output file is still empty, so the state comes from the file of `-state`.
            let text = read_file(source)?;
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                let opened = folders.seals.parse(&text, source)?;
                seed = Some(if opened.outdated { folders.seals.state(&opened.file, source)? } else { text });
                loaded.ledger.load(opened.file);
                loaded.folded_content = loaded.ledger.content_digest();
            }
        }
        let guarded = !content.is_empty() && digit_of(&content, handle.path()).is_ok_and(|digit| digit.is_guarded());
        let file_digest = recovery::state_digest(&content);
        let Loaded { ledger, folded_content, unfolded, terms, unread, left_behind, outdated } = loaded;
        let mut live = Live {
            term: None,
            ledger,
            folded_content,
            file_digest,
            ends: terms,
            unread,
            guarded,
            outdated,
            imaged: None,
            unsaved,
            seed,
            interrupted: BTreeSet::new(),
            seals: folders.seals.clone(),
            handle,
        };
        if live.ledger.lineage.is_empty() {
            live.ledger.lineage = uuid::Uuid::new_v4().to_string();
        }
        let interval = mode.save_interval;
        let saves = interval.and_then(|interval| Some(Arc::new(Saves::new(live.handle.saver()?, interval))));
        let budgets = LocalBudgets::default();
        let core = EmbeddedCore { medium, mode, folders, incarnation, saves, live: None, budgets };
        core.recover(&mut live, unfolded, &left_behind)?;
        Ok(EmbeddedStore { core: Arc::new(EmbeddedCore { live: Some(Mutex::new(live)), ..core }) })
    }

    /// Opens the store to show the state and the runs while another process may write. The opened store takes no lock
    /// and changes nothing, and every step answers [`StoreError::ReadOnly`]. Each query reads the files again.
    ///
    /// # Errors
    /// Returns an error if the directory of the state file does not exist.
    pub fn open_read_only(options: EmbeddedOptions) -> Result<EmbeddedStore, StoreError> {
        let medium = LocalMedium::new(options.clone(), false)?;
        let name = medium.name();
        EmbeddedStore::read_on(Arc::new(medium), name, options.mode())
    }

    /// Like [`EmbeddedStore::open`], for a state in a backend. Takes over the lock of a dead process of Weft.
    ///
    /// # Errors
    /// See [`EmbeddedStore::open`]. Errors of the backend.
    pub fn open_remote(options: RemoteOptions) -> Result<EmbeddedStore, StoreError> {
        let mode = options.mode();
        let medium = RemoteMedium::new(options)?;
        let name = medium.name();
        EmbeddedStore::open_on(Arc::new(medium), name, mode)
    }

    /// Like [`EmbeddedStore::open_read_only`], for a state in a backend.
    ///
    /// # Errors
    /// Errors of the backend.
    pub fn read_remote(options: RemoteOptions) -> Result<EmbeddedStore, StoreError> {
        let mode = options.mode();
        let medium = RemoteMedium::new(options)?;
        let name = medium.name();
        EmbeddedStore::read_on(Arc::new(medium), name, mode)
    }

    /// Like [`EmbeddedStore::open_read_only`], over any medium.
    fn read_on(medium: Arc<dyn Medium>, name: String, mode: Mode) -> Result<EmbeddedStore, StoreError> {
        let folders = RunFolders::new(medium.files(), name, Seals::new(Arc::clone(&mode.sealing)));
        let incarnation = Incarnation(random_u128()?);
        let budgets = LocalBudgets::default();
        let core = EmbeddedCore { medium, mode, folders, incarnation, saves: None, live: None, budgets };
        Ok(EmbeddedStore { core: Arc::new(core) })
    }

    /// Saves the state on a separate thread if a save is due.
    fn save_if_due(&self) {
        if let Some(under_way) = self.core.saves.as_ref().and_then(Saves::begin_if_due) {
            let core = Arc::clone(&self.core);
            tokio::task::spawn_blocking(move || core.save(&under_way));
        }
    }

    /// Runs work that may block on a thread of its own.
    async fn blocking<Answer: Send + 'static>(
        &self,
        work: impl FnOnce(&EmbeddedCore) -> Result<Answer, StoreError> + Send + 'static,
    ) -> Result<Answer, StoreError> {
        let core = Arc::clone(&self.core);
        match tokio::task::spawn_blocking(move || work(&core)).await {
            Ok(answer) => answer,
            Err(_) => Err(crate::problems::process_ending()),
        }
    }
}

/// The content of a state file in version 4, converted from any earlier version.
fn current_form(content: Vec<u8>, path: &Path) -> Result<Vec<u8>, StoreError> {
    Ok(as_version_4(&content, &path.display().to_string())?.unwrap_or(content))
}

/// 128 random bits.
fn random_u128() -> Result<u128, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| crate::run::RandomError)?;
    Ok(u128::from_le_bytes(bytes))
}

#[async_trait]
impl RunStore for EmbeddedStore {
    fn place(&self) -> String {
        self.core.medium.path().display().to_string()
    }

    fn is_sealed(&self) -> bool {
        self.core.mode.sealing.seals(&TargetName::State)
    }

    fn seals_plans(&self) -> bool {
        self.is_sealed() || self.core.mode.sealing.seals(&TargetName::Plan)
    }

    fn is_superseded(&self) -> bool {
        self.core.medium.is_superseded()
    }

    fn interrupted(&self) -> Vec<RunId> {
        self.core.live().map(|live| live.interrupted.iter().cloned().collect()).unwrap_or_default()
    }

    async fn reseal(&self) -> Result<(), StoreError> {
        self.blocking(|core| {
            let seen = core.live()?.ledger.serial;
            core.edit(&Edit { seen, identity: None, writes: Writes::default() }).map(|_| ())
        })
        .await
    }

    async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.blocking(|core| core.ask(Ledger::snapshot)).await
    }

    async fn overview(&self) -> Result<(Snapshot, Vec<RunHeader>), StoreError> {
        self.blocking(|core| core.ask(|ledger| (ledger.snapshot(), ledger.headers()))).await
    }

    async fn export(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.blocking(|core| {
            // The content of the file is exported byte for byte, unless a journal contains newer results.
            let (content, unfolded, mut file) = match core.live {
                Some(_) => {
                    let live = core.live()?;
                    let unfolded = live.ledger.content_digest() != live.folded_content;
                    (live.handle.read()?, unfolded, live.ledger.to_file())
                }
                None => {
                    let (loaded, _) = core.look()?;
                    let (content, _) = core.medium.peek()?;
                    let unfolded = loaded.ledger.content_digest() != loaded.folded_content
                        || loaded.unfolded.as_ref().is_some_and(|found| found.image.is_some());
                    (content, unfolded, loaded.ledger.to_file())
                }
            };
            if unfolded {
                file.serial += 1;
                file.terraform_version = WRITER_VERSION.to_owned();
                return Ok(Some(file.to_bytes()));
            }
            if content.is_empty() {
                return Ok((!file.is_empty()).then(|| file.to_bytes()));
            }
            let content = current_form(content, core.medium.path())?;
            core.folders.seals.plain(&content, core.medium.path()).map(Some)
        })
        .await
    }

    async fn newest(&self, unrecorded: &[StoreStep]) -> Result<Option<StateFile>, StoreError> {
        let mut unrecorded = unrecorded.to_vec();
        prepare(&mut unrecorded)?;
        self.blocking(move |core| {
            if let Some(saves) = &core.saves {
                saves.wait();
            }
            Ok(core.live()?.newest(&unrecorded))
        })
        .await
    }

    fn journal_place(&self, run: &RunId) -> String {
        self.core.folders.files.path(run.as_str()).display().to_string()
    }

    fn take_trouble(&self) -> Option<StoreError> {
        self.core.saves.as_ref()?.take_trouble()
    }

    async fn edit(&self, mut edit: Edit) -> Result<EditAnswer, StoreError> {
        prepare_writes(&mut edit.writes)?;
        self.blocking(move |core| core.edit(&edit)).await
    }

    async fn create_run(&self, run: NewRun) -> Result<CreateAnswer, StoreError> {
        self.blocking(move |core| {
            let mut live = core.live()?;
            let known = live.ledger.runs.contains_key(&run.id);
            if !known {
                core.folders.create(&run)?;
            }
            Ok(live.ledger.create(run, false))
        })
        .await
    }

    async fn acquire(&self, request: Acquire) -> Result<AcquireAnswer, StoreError> {
        self.blocking(move |core| core.acquire(&request)).await
    }

    async fn renew(&self, lease: &Lease) -> Result<RenewAnswer, StoreError> {
        let answer = self.core.live()?.ledger.renew(lease);
        self.save_if_due();
        Ok(answer)
    }

    async fn take_tokens(&self, requests: &[TokenRequest]) -> Result<Vec<TokenGrant>, StoreError> {
        Ok(self.core.budgets.take(requests))
    }

    async fn claim(&self, lease: &Lease, claims: &[Claim]) -> Result<ClaimAnswer, StoreError> {
        let (lease, claims) = (lease.clone(), claims.to_vec());
        self.blocking(move |core| {
            let mut live = core.live()?;
            if let Some(term) = &live.term {
                term.writer.check()?;
            }
            let answer = live.ledger.claim(&lease, &claims);
            if answer == ClaimAnswer::Claimed {
                live.claimed(claims)?;
            }
            Ok(answer)
        })
        .await
    }

    async fn step_batch(&self, lease: &Lease, mut steps: Vec<StoreStep>) -> Result<Vec<StoreAnswer>, StoreError> {
        prepare(&mut steps)?;
        let (answers, durable) = self.core.live()?.steps(lease, steps)?;
        if let Some(durable) = durable {
            durable.wait().await?;
        }
        self.save_if_due();
        Ok(answers)
    }

    async fn release(&self, lease: &Lease, ending: TermEnding) -> Result<ReleaseAnswer, StoreError> {
        let lease = lease.clone();
        self.blocking(move |core| {
            let mut live = core.live_at_end()?;
            let answer = live.ledger.release(&lease, ending);
            if let ReleaseAnswer::Released(header) = &answer {
                core.finish(&mut live, header, false)?;
            }
            Ok(answer)
        })
        .await
    }

    async fn withdraw(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        let lease = lease.clone();
        self.blocking(move |core| core.withdraw(&lease)).await
    }

    async fn abandon(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        let lease = lease.clone();
        self.blocking(move |core| {
            let mut live = core.live_at_end()?;
            let answer = live.ledger.abandon(&lease);
            if let ReleaseAnswer::Released(header) = &answer {
                core.finish(&mut live, header, true)?;
            }
            Ok(answer)
        })
        .await
    }

    async fn prune(&self, before_unix_ms: u64) -> Result<Vec<RunId>, StoreError> {
        self.blocking(move |core| {
            let mut live = core.live()?;
            let removed = core.folders.prune_before(before_unix_ms)?;
            removed.iter().for_each(|run| live.forget(run));
            Ok(removed)
        })
        .await
    }

    async fn runs(&self) -> Result<Vec<RunHeader>, StoreError> {
        self.blocking(|core| core.ask(Ledger::headers)).await
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunView>, StoreError> {
        let run = run.clone();
        self.blocking(move |core| {
            core.settle()?;
            let header = core.ask(|ledger| ledger.runs.get(&run).map(|state| state.header(&run)))?;
            let Some(header) = header else { return Ok(None) };
            let (ledger, _) = match recovery::load_run(&core.folders, &run, core.incarnation) {
                Ok(Some(loaded)) => loaded,
                Ok(None) => return Ok(None),
                // The run ended before the encryption keys of the state changed, so only its header can be read.
                Err(StoreError::Unopened { .. }) if header.status.is_final() => {
                    return Ok(Some(RunView::of(header)));
                }
                Err(error) => return Err(error),
            };
            let view = ledger.runs.get(&run).map(|state| state.view(&run));
            Ok(view.map(|view| RunView { header, ..view }))
        })
        .await
    }

    async fn plan(&self, run: &RunId) -> Result<Opaque, StoreError> {
        let run = run.clone();
        self.blocking(move |core| {
            let digest = core.ask(|ledger| ledger.runs.get(&run).map(|state| state.plan))?;
            let digest = digest.ok_or_else(|| StoreError::NoRun(run.clone()))?;
            core.folders.plan(&run, digest)
        })
        .await
    }

    async fn journal(&self, run: &RunId) -> Result<Vec<JournalLine>, StoreError> {
        let run = run.clone();
        self.blocking(move |core| {
            core.settle()?;
            Ok(recovery::lines(&core.folders, &run)?.0)
        })
        .await
    }

    async fn tip(&self, run: &RunId) -> Result<ChainTip, StoreError> {
        let run = run.clone();
        self.blocking(move |core| {
            core.settle()?;
            let Chain { lines, hash } = recovery::lines(&core.folders, &run)?.1;
            Ok(ChainTip { incarnation: core.incarnation, sequence: lines, hash })
        })
        .await
    }
}
