//! The embedded store: the state file, and the journal of each run beside it.
//!
//! What must hold, whatever moment the process dies at:
//! - An answer is given only after its line is on the disk (one fsync for all that wait).
//! - Before the first intent the state file's format digit is one that OpenTofu refuses; it is put back last, when the
//!   journal is folded into the file and no run of it may go on or is in doubt.
//! - The state file is written in place, through the one locked descriptor, after its complete new content is in the
//!   journal.
//! - One process holds the file's lock, and in it one run at a time holds a lease.

mod folder;
mod journal;
mod lock;
mod recovery;
mod writer;

use std::collections::BTreeSet;
use std::fmt;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use crate::content::prepare;
use crate::event::{Base, Began, Event, Sealed};
use crate::ledger::Ledger;
use crate::record::Opaque;
use crate::run::{
    ChainTip, Digest, Holder, Incarnation, JournalLine, Lease, NewRun, RunHeader, RunId, RunStatus, RunView,
    Token,
};
use crate::snapshot::Snapshot;
use crate::step::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, CreateAnswer, Ending, Fenced, ReleaseAnswer, RenewAnswer, StoreAnswer,
    StoreStep,
};
use crate::store::{RunStore, StoreError};
use crate::tfstate::{FORMAT, GUARDED_FORMAT, StateFile, WRITER_VERSION};
use folder::{RunFolders, SummaryFile};
use journal::{Chain, Group};
use lock::{StateHandle, digit_of, failed};
use recovery::{LastTerm, Loaded};
use writer::Writer;

/// How often a reader without the lock looks again when what it read does not fit together: the file may be just
/// being written.
const LOOKS: u32 = 4;
/// Pause between two looks: writing a state file takes milliseconds.
const LOOK_PAUSE: Duration = Duration::from_millis(30);

/// Where the previous state goes before a run first writes the file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Backup {
    /// The state's path with `.backup` behind it.
    #[default]
    Beside,
    /// `-backup=PATH`.
    At(PathBuf),
    /// `-backup=-`.
    Never,
}

/// How to open the embedded store.
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// The state file that is read (`-state`), `terraform.tfstate` or that of a workspace.
    pub state: PathBuf,
    /// The file that is written instead (`-state-out`), if another.
    pub state_out: Option<PathBuf>,
    /// Backup of the previous state.
    pub backup: Backup,
    /// The folder of runs; `None`: `.weft` beside the state file that is written.
    pub weft: Option<PathBuf>,
    /// How long to wait for the lock (`-lock-timeout`).
    pub lock_timeout: Duration,
    /// The word for the lock file, `OperationTypeApply`.
    pub operation: String,
    /// Who we are.
    pub holder: Holder,
    /// Whether a network file system is accepted.
    pub network: bool,
}

impl EmbeddedOptions {
    /// The usual way to open this state file.
    pub fn new(state: impl Into<PathBuf>, holder: Holder) -> EmbeddedOptions {
        EmbeddedOptions {
            state: state.into(),
            state_out: None,
            backup: Backup::Beside,
            weft: None,
            lock_timeout: Duration::ZERO,
            operation: "OperationTypeApply".to_owned(),
            holder,
            network: false,
        }
    }

    fn written(&self) -> &Path {
        self.state_out.as_deref().unwrap_or(&self.state)
    }

    fn folders(&self, canonical: &Path) -> RunFolders {
        let beside = self.written().with_file_name(".weft");
        RunFolders::new(self.weft.as_deref().unwrap_or(&beside), canonical)
    }
}

/// The state file with its runs.
#[derive(Clone)]
pub struct EmbeddedStore {
    core: Arc<Core>,
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "EmbeddedStore({})", self.place())
    }
}

struct Core {
    options: EmbeddedOptions,
    folders: RunFolders,
    incarnation: Incarnation,
    /// `None` when opened for reading.
    live: Option<Mutex<Live>>,
}

/// What the process that holds the lock has in memory.
struct Live {
    // Dropped in this order: the journal is finished before the lock goes.
    term: Option<Term>,
    ledger: Ledger,
    /// Digest of what the state file holds (without serial and lineage).
    folded_content: Digest,
    /// Digest of the state file's bytes.
    file_digest: Digest,
    /// Ends of last journals.
    ends: std::collections::BTreeMap<RunId, LastTerm>,
    /// Finished runs known from their summary only.
    unread: BTreeSet<RunId>,
    guarded: bool,
    /// Content of the state file when it was opened, until it is backed up.
    unsaved: Option<Vec<u8>>,
    /// Content of the file that `-state` names, to begin the still empty one of `-state-out` with.
    seed: Option<Vec<u8>>,
    handle: StateHandle,
}

/// The running term.
struct Term {
    run: RunId,
    epoch: u64,
    writer: Writer,
}

impl EmbeddedStore {
    /// Locks the state file, reads it and brings what a dead run left in its journal into it.
    ///
    /// # Errors
    /// Locked by another; unreadable, damaged, or not the state that a journal began from; [`StoreError::Io`].
    pub fn open(options: EmbeddedOptions) -> Result<EmbeddedStore, StoreError> {
        let handle = StateHandle::lock(
            options.written(),
            options.lock_timeout,
            &options.operation,
            &options.holder,
            options.network,
        )?;
        let canonical = lock::canonical(options.written())?;
        let folders = options.folders(&canonical);
        let incarnation = Incarnation(random_u128()?);
        let content = handle.read()?;
        let mut loaded = recovery::load(&folders, &content, handle.path(), incarnation)?;
        let unsaved = (!content.is_empty()).then(|| content.clone());
        let mut seed = None;
        if let Some(source) = options.state_out.as_ref().map(|_| &options.state).filter(|_| content.is_empty()) {
            // Nothing was written to the other file yet: the state comes from where `-state` says.
            let text = read_source(source)?;
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                loaded.ledger.load(StateFile::parse(&text, &source.display().to_string())?);
                loaded.folded_content = loaded.ledger.content_digest();
                seed = Some(text);
            }
        }
        let guarded = !content.is_empty() && digit_of(&content, handle.path()).is_ok_and(|digit| digit.is_guarded());
        let file_digest = recovery::state_digest(&content);
        let Loaded { ledger, folded_content, unfolded, terms, unread, left_behind } = loaded;
        let mut live = Live {
            term: None,
            ledger,
            folded_content,
            file_digest,
            ends: terms,
            unread,
            guarded,
            unsaved,
            seed,
            handle,
        };
        if live.ledger.lineage.is_empty() {
            live.ledger.lineage = uuid::Uuid::new_v4().to_string();
        }
        let core = Core { options, folders, incarnation, live: None };
        core.recover(&mut live, unfolded, &left_behind)?;
        Ok(EmbeddedStore { core: Arc::new(Core { live: Some(Mutex::new(live)), ..core }) })
    }

    /// For showing state and runs while another may be writing: takes no lock, changes nothing, every step answers
    /// [`StoreError::ReadOnly`]. Each question reads the files again.
    ///
    /// # Errors
    /// When the folder of the state file is not there.
    pub fn open_read_only(options: EmbeddedOptions) -> Result<EmbeddedStore, StoreError> {
        let canonical = lock::canonical(options.written())?;
        let folders = options.folders(&canonical);
        let incarnation = Incarnation(random_u128()?);
        Ok(EmbeddedStore { core: Arc::new(Core { options, folders, incarnation, live: None }) })
    }

    /// Runs what may block on a thread for it.
    async fn blocking<Answer: Send + 'static>(
        &self,
        work: impl FnOnce(&Core) -> Result<Answer, StoreError> + Send + 'static,
    ) -> Result<Answer, StoreError> {
        let core = Arc::clone(&self.core);
        match tokio::task::spawn_blocking(move || work(&core)).await {
            Ok(answer) => answer,
            Err(_) => Err(StoreError::Closed("the process is ending".to_owned())),
        }
    }
}

/// 128 random bits.
fn random_u128() -> Result<u128, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| crate::run::RandomError(error.to_string()))?;
    Ok(u128::from_le_bytes(bytes))
}

/// A file that need not exist.
fn read_source(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match std::fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(format!("reading {}", path.display()))(error)),
    }
}

impl Core {
    fn live(&self) -> Result<MutexGuard<'_, Live>, StoreError> {
        let live = self.live.as_ref().ok_or(StoreError::ReadOnly)?;
        Ok(live.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Settles what a dead process left: folds its journal, puts back the digit if nothing keeps it.
    fn recover(
        &self,
        live: &mut Live,
        unfolded: Option<recovery::Unfolded>,
        left_behind: &BTreeSet<Digest>,
    ) -> Result<(), StoreError> {
        let dead: Vec<RunId> = live
            .ledger
            .runs
            .iter()
            .filter(|(_, run)| run.status == RunStatus::Running)
            .map(|(id, _)| id.clone())
            .collect();
        for run in &dead {
            if let Some(run) = live.ledger.runs.get_mut(run) {
                run.status = RunStatus::Stopped;
            }
        }
        if let Some(found) = unfolded {
            let ended = live.ledger.runs.get(&found.run).map(|run| run.status);
            let token = Token { epoch: live.ledger.epoch + 1, term: random_u128()? };
            live.ledger.epoch = token.epoch;
            let image = match found.image {
                Some(image) => {
                    if found.written {
                        // The file may be torn; its old content was backed up before that.
                        live.guarded = true;
                        live.unsaved = None;
                    }
                    Some(image.0)
                }
                None => live.image(),
            };
            let first = image.clone().map(|image| Event::Image(Opaque(image)));
            self.begin(live, &found.run, token, first)?;
            if let Some(image) = image {
                self.write_image(live, &image)?;
            }
            live.append_now(&[
                Event::Folded(live.file_digest),
                Event::Ended { status: ended.unwrap_or(RunStatus::Stopped), abandoned: false },
            ])?;
            live.end_term();
        }
        let finished: Vec<RunId> = live
            .ledger
            .runs
            .iter()
            .filter(|(id, run)| run.status.is_final() && !live.unread.contains(*id))
            .map(|(id, _)| id.clone())
            .collect();
        for run in finished {
            self.summarise(live, &run)?;
        }
        if live.guarded && !recovery::guards(&live.ledger) {
            if !dead.is_empty() || left_behind.contains(&live.file_digest) {
                live.unguard()?;
            } else {
                return Err(StoreError::Damaged {
                    place: live.handle.path().display().to_string(),
                    what: "it is guarded by a run (format version 9) whose files are not here".to_owned(),
                    way_out: "Put the folder .weft back beside it; if it is lost, look at what the run was doing and \
                              set `version` to 4 by hand"
                        .to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Starts a term's journal with its first frame durable.
    fn begin(&self, live: &mut Live, run: &RunId, token: Token, also: Option<Event>) -> Result<(), StoreError> {
        let folder = self.folders.folder(run);
        let known = live.ends.get(run).copied();
        // A journal without a sound frame never began; it would only be in the way.
        for epoch in folder::epochs(&folder)? {
            if known.is_none_or(|last| epoch > last.epoch) {
                let path = folder::journal_path(&folder, epoch);
                std::fs::remove_file(&path).map_err(failed(format!("removing {}", path.display())))?;
            }
        }
        folder::remove_summary(&folder)?;
        if let Some(seed) = live.seed.take() {
            let mut guarded = seed;
            let found = digit_of(&guarded, live.handle.path())?;
            guarded[found.offset] = GUARDED_FORMAT;
            live.handle.write(&guarded)?;
            live.guarded = true;
            live.file_digest = recovery::state_digest(&guarded);
        }
        let holder = live.ledger.runs.get(run).map(|run| run.holder.clone()).unwrap_or_default();
        let began = Began {
            run: run.clone(),
            token,
            holder,
            base: Base {
                lineage: live.ledger.lineage.clone(),
                serial: live.ledger.serial,
                digest: live.file_digest,
                instances: live.ledger.instance_revisions(),
            },
            sealed: known.map(|last| Sealed { epoch: last.epoch, length: last.length, hash: last.chain.hash }),
        };
        let mut chain = known.map(|last| last.chain).unwrap_or_default();
        let mut group = Group::default();
        group.push(&mut chain, &Event::Began(began));
        if let Some(event) = also {
            group.push(&mut chain, &event);
        }
        let path = folder::journal_path(&folder, token.epoch);
        let create = || {
            use std::os::unix::fs::OpenOptionsExt as _;
            let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
            let frame = group.frame();
            journal::append(&file, 0, &frame)?;
            file.sync_all()?;
            Ok((file, frame.len() as u64))
        };
        let (file, length) = create().map_err(failed(format!("writing {}", path.display())))?;
        folder::sync_folder(&folder)?;
        let writer = Writer::start(file, &path, token.epoch, length, chain)?;
        live.term = Some(Term { run: run.clone(), epoch: token.epoch, writer });
        Ok(())
    }

    /// Brings the state file up to date with the ledger, if it is not.
    fn fold(&self, live: &mut Live) -> Result<(), StoreError> {
        if let Some(image) = live.image() {
            live.append_now(&[Event::Image(Opaque(image.clone()))])?;
            self.write_image(live, &image)?;
        }
        live.append_now(&[Event::Folded(live.file_digest)])
    }

    /// Backs up the old content once, and writes the new one in place.
    fn write_image(&self, live: &mut Live, image: &[u8]) -> Result<(), StoreError> {
        live.guard()?;
        if let Some(old) = live.unsaved.take() {
            let path = match &self.options.backup {
                Backup::Never => None,
                Backup::At(path) => Some(path.clone()),
                Backup::Beside => {
                    let mut name = live.handle.path().as_os_str().to_owned();
                    name.push(".backup");
                    Some(PathBuf::from(name))
                }
            };
            if let Some(path) = path {
                let mut plain = old;
                if let Ok(found) = digit_of(&plain, &path) {
                    plain[found.offset] = FORMAT;
                }
                std::fs::write(&path, plain).map_err(failed(format!("writing {}", path.display())))?;
            }
        }
        let mut guarded = image.to_vec();
        if let Ok(found) = digit_of(&guarded, live.handle.path()) {
            guarded[found.offset] = GUARDED_FORMAT;
        }
        live.handle.write(&guarded)?;
        live.folded_content = live.ledger.content_digest();
        live.file_digest = recovery::state_digest(image);
        Ok(())
    }

    /// Leaves the summary of a finished run.
    fn summarise(&self, live: &mut Live, run: &RunId) -> Result<(), StoreError> {
        let Some(state) = live.ledger.runs.get(run) else { return Ok(()) };
        let header = state.header(run);
        let summary = SummaryFile {
            status: header.status.word().to_owned(),
            counts: header.counts,
            epoch: live.ends.get(run).map(|last| last.epoch).unwrap_or_default(),
            state: live.file_digest.hex(),
        };
        folder::write_summary(&self.folders.folder(run), &summary)
    }

    /// After RELEASE or ABANDON in memory: journal, fold, summary, digit, in this order.
    fn finish(&self, live: &mut Live, header: &RunHeader, abandoned: bool) -> Result<(), StoreError> {
        self.fold(live)?;
        live.append_now(&[Event::Ended { status: header.status, abandoned }])?;
        live.end_term();
        if header.status.is_final() {
            self.summarise(live, &header.id)?;
        }
        if live.guarded && !recovery::guards(&live.ledger) {
            live.unguard()?;
        }
        for removed in self.folders.prune()? {
            live.ledger.runs.remove(&removed);
            live.unread.remove(&removed);
            live.ends.remove(&removed);
        }
        Ok(())
    }

    /// ACQUIRE.
    fn acquire(&self, request: &Acquire) -> Result<AcquireAnswer, StoreError> {
        let mut live = self.live()?;
        let live = &mut *live;
        if let Some(term) = &live.term {
            let run = live.ledger.runs.get(&term.run);
            let token = run.and_then(|run| run.lease.as_ref()).map(|lease| lease.token);
            if term.run == request.run && token.is_some_and(|token| token.term == request.term) {
                return Ok(live.ledger.acquire(request, true));
            }
            let view = run.and_then(|run| run.header(&term.run).lease);
            if live.ledger.runs.contains_key(&request.run)
                && let Some(view) = view
            {
                return Ok(AcquireAnswer::Held(view));
            }
        }
        if !live.ledger.runs.contains_key(&request.run) {
            return Ok(AcquireAnswer::NoRun);
        }
        if live.unread.contains(&request.run) {
            self.read_in(live, &request.run)?;
        }
        let before = live.ledger.runs.get(&request.run).cloned();
        let answer = live.ledger.acquire(request, true);
        if let AcquireAnswer::Granted(lease) = &answer
            && let Err(error) = self.begin(live, &request.run, lease.token, None)
        {
            if let Some(before) = before {
                live.ledger.runs.insert(request.run.clone(), before);
            }
            return Err(error);
        }
        Ok(answer)
    }

    /// Reads the journals of a finished run that goes on after all.
    fn read_in(&self, live: &mut Live, run: &RunId) -> Result<(), StoreError> {
        if let Some((mut ledger, last)) = recovery::load_run(&self.folders, run, self.incarnation)?
            && let Some(state) = ledger.runs.remove(run)
        {
            live.ledger.runs.insert(run.clone(), state);
            live.ends.extend(last.map(|last| (run.clone(), last)));
        }
        live.unread.remove(run);
        Ok(())
    }

    /// Reads the files anew, for a store that was opened for reading. The second answer: whether another process has
    /// the state locked.
    fn look(&self) -> Result<(Loaded, bool), StoreError> {
        let mut left = LOOKS;
        loop {
            left -= 1;
            match self.look_once() {
                // The holder of the lock may be writing the file at this moment.
                Err(StoreError::StateFile(_) | StoreError::StateMismatch { .. }) if left > 0 => {
                    std::thread::sleep(LOOK_PAUSE);
                }
                answer => return answer,
            }
        }
    }

    fn look_once(&self) -> Result<(Loaded, bool), StoreError> {
        let path = self.options.written();
        let canonical = lock::canonical(path)?;
        if lock::is_locked_here(&canonical) {
            return Err(StoreError::Locked {
                path: path.display().to_string(),
                holder: "this very process: ask the store that has it open".to_owned(),
            });
        }
        let source = if self.options.state_out.is_some() && !path.exists() { &self.options.state } else { path };
        let (content, held) = match std::fs::File::open(source) {
            Ok(file) => {
                let content = lock::read_all(&file).map_err(failed(format!("reading {}", source.display())))?;
                (content, lock::holding_process(&file).is_some())
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (Vec::new(), false),
            Err(error) => return Err(failed(format!("reading {}", source.display()))(error)),
        };
        let mut loaded = recovery::load(&self.folders, &content, source, self.incarnation)?;
        for run in loaded.ledger.runs.values_mut() {
            if run.status == RunStatus::Running {
                match held {
                    true => {
                        let token = Token { epoch: loaded.ledger.epoch, term: 0 };
                        run.lease = Some(crate::ledger::LeaseState { token, heartbeat: 0 });
                    }
                    false => run.status = RunStatus::Stopped,
                }
            }
        }
        Ok((loaded, held))
    }

    /// Asks the ledger, that of the lock's holder or one read just now.
    fn ask<Answer>(&self, question: impl FnOnce(&Ledger) -> Answer) -> Result<Answer, StoreError> {
        match self.live {
            Some(_) => Ok(question(&self.live()?.ledger)),
            None => Ok(question(&self.look()?.0.ledger)),
        }
    }

    /// Waits until everything that was put into the journal is in it.
    fn settle(&self) -> Result<(), StoreError> {
        match &self.live {
            Some(_) => self.live()?.append_now(&[]),
            None => Ok(()),
        }
    }
}

impl Live {
    /// The new content of the state file, if it differs from what the file holds; the serial goes up.
    fn image(&mut self) -> Option<Vec<u8>> {
        if self.ledger.content_digest() == self.folded_content {
            return None;
        }
        self.ledger.serial += 1;
        self.ledger.terraform_version = WRITER_VERSION.to_owned();
        Some(self.ledger.to_file().to_bytes())
    }

    /// Lines into the journal of the running term, and waits for them. Without a term: nothing to wait for.
    fn append_now(&self, events: &[Event]) -> Result<(), StoreError> {
        match &self.term {
            Some(term) => term.writer.append(events).wait_blocking(),
            None => Ok(()),
        }
    }

    /// Keeps OpenTofu off the file.
    fn guard(&mut self) -> Result<(), StoreError> {
        if self.guarded {
            return Ok(());
        }
        let content = self.handle.read()?;
        if content.is_empty() {
            let empty = StateFile { lineage: self.ledger.lineage.clone(), ..StateFile::create() };
            let mut bytes = empty.to_bytes();
            let found = digit_of(&bytes, self.handle.path())?;
            bytes[found.offset] = GUARDED_FORMAT;
            self.handle.write(&bytes)?;
            self.file_digest = recovery::state_digest(&bytes);
        } else {
            let found = digit_of(&content, self.handle.path())?;
            self.handle.set_digit(found, GUARDED_FORMAT)?;
        }
        self.guarded = true;
        Ok(())
    }

    /// Lets OpenTofu have the file again. One that never got any content becomes empty.
    fn unguard(&mut self) -> Result<(), StoreError> {
        let content = self.handle.read()?;
        let found = digit_of(&content, self.handle.path())?;
        let file = StateFile::parse(&content, &self.handle.path().display().to_string())?;
        if file.is_empty() && file.serial == 0 && self.unsaved.is_none() {
            self.handle.write(&[])?;
            self.file_digest = recovery::state_digest(&[]);
        } else {
            self.handle.set_digit(found, FORMAT)?;
        }
        self.guarded = false;
        Ok(())
    }

    /// Closes the journal of the running term.
    fn end_term(&mut self) {
        if let Some(term) = self.term.take() {
            let chain = term.writer.chain();
            let (run, epoch) = (term.run.clone(), term.epoch);
            let length = term.writer.finish();
            self.ends.insert(run, LastTerm { epoch, length, chain });
        }
    }

    /// Steps in memory, with the journal lines put on their way.
    fn steps(
        &mut self,
        lease: &Lease,
        steps: Vec<StoreStep>,
    ) -> Result<(Vec<StoreAnswer>, Option<writer::Durable>), StoreError> {
        if let Err(fenced) = self.ledger.check(lease) {
            return Ok((vec![StoreAnswer::Fenced(fenced); steps.len()], None));
        }
        let Some(term) = &self.term else {
            return Ok((vec![StoreAnswer::Fenced(Fenced::Token { now: None }); steps.len()], None));
        };
        term.writer.check()?;
        let intents = steps.iter().filter(|step| matches!(step, StoreStep::Intent(_))).count() as u64;
        if intents > 0 {
            let open = self.ledger.runs.get(&lease.run).map(|run| run.counts.running).unwrap_or_default();
            term.writer.reserve(u64::from(open) + intents)?;
        }
        if intents > 0 || steps.iter().any(recovery::writes_state) {
            self.guard()?;
        }
        let mut answers = Vec::with_capacity(steps.len());
        let mut events = Vec::with_capacity(steps.len());
        for step in steps {
            let answer = self.ledger.step(lease, &step);
            if matches!(answer, StoreAnswer::Ok { repeated: false, .. }) {
                events.push(Event::Step(step));
            }
            answers.push(answer);
        }
        let durable = self.term.as_ref().map(|term| term.writer.append(&events));
        Ok((answers, durable))
    }
}

#[async_trait]
impl RunStore for EmbeddedStore {
    fn place(&self) -> String {
        self.core.options.written().display().to_string()
    }

    async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.blocking(|core| core.ask(Ledger::snapshot)).await
    }

    async fn export(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.blocking(|core| {
            // What is in the file goes out as it is, byte for byte, unless a journal has more.
            let (content, unfolded, mut file) = match core.live {
                Some(_) => {
                    let live = core.live()?;
                    let unfolded = live.ledger.content_digest() != live.folded_content;
                    (live.handle.read()?, unfolded, live.ledger.to_file())
                }
                None => {
                    let (loaded, _) = core.look()?;
                    let path = core.options.written();
                    let content = read_source(path)?.unwrap_or_default();
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
            if file.is_empty() && file.serial == 0 {
                return Ok(None);
            }
            let found = digit_of(&content, core.options.written())?;
            let mut content = content;
            content[found.offset] = FORMAT;
            Ok(Some(content))
        })
        .await
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
        Ok(self.core.live()?.ledger.renew(lease))
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
                live.append_now(&[Event::Claimed(claims)])?;
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
        Ok(answers)
    }

    async fn release(&self, lease: &Lease, ending: Ending) -> Result<ReleaseAnswer, StoreError> {
        let lease = lease.clone();
        self.blocking(move |core| {
            let mut live = core.live()?;
            let answer = live.ledger.release(&lease, ending);
            if let ReleaseAnswer::Released(header) = &answer {
                core.finish(&mut live, header, false)?;
            }
            Ok(answer)
        })
        .await
    }

    async fn abandon(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        let lease = lease.clone();
        self.blocking(move |core| {
            let mut live = core.live()?;
            let answer = live.ledger.abandon(&lease);
            if let ReleaseAnswer::Released(header) = &answer {
                core.finish(&mut live, header, true)?;
            }
            Ok(answer)
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
            let Some((ledger, _)) = recovery::load_run(&core.folders, &run, core.incarnation)? else {
                return Ok(None);
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
