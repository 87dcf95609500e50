//! Compares the state in Redis with its copy, and writes the copy.

use std::path::Path;
use std::sync::{Arc, Mutex as BlockingMutex, MutexGuard, PoisonError};

use tokio::sync::Mutex;
use weft_sealing::Sealing;

use super::ahead::{AheadFile, LastWrites, LeftBehind};
use super::decision::{Behind, CopyMark, CopyMarks, Decision, Difference, Front, decide};
use super::notice::{CopyNotices, LostStore};
use super::record::FrontRecord;
use crate::edit::{Edit, EditAnswer};
use crate::embedded::{Document, Medium as _, RemoteMedium, RemoteOptions, Seals, digit_of};
use crate::record::OutputWrite;
use crate::redis::RedisStore;
use crate::remote::Objects;
use crate::result::{InstanceWrite, Writes};
use crate::run::{Digest, RunId};
use crate::snapshot::Snapshot;
use crate::step::StoreStep;
use crate::store::{RunStore as _, StoreError};
use crate::tfstate::StateFile;

/// How often a comparison is repeated when the state or the copy changes meanwhile.
const LOOKS: u32 = 5;

/// The copy of a state, for one process.
pub(super) struct Copier {
    redis: RedisStore,
    medium: Arc<RemoteMedium>,
    objects: Option<Arc<dyn Objects>>,
    seals: Seals,
    notices: CopyNotices,
    ahead: BlockingMutex<AheadFile>,
    /// Only one copy is written at a time.
    writing: Mutex<()>,
}

/// The copy as it was read.
struct ReadCopy {
    file: StateFile,
    behind: Behind,
    /// Whether it would be sealed differently now.
    outdated: bool,
}

impl Copier {
    pub(super) fn new(
        redis: RedisStore,
        copy: RemoteOptions,
        sealing: Arc<Sealing>,
        notices: CopyNotices,
    ) -> Result<Copier, StoreError> {
        let objects = copy.state.objects();
        let place = format!("{}\0{}", redis.place(), copy.state.place());
        let ahead = AheadFile::new(&copy.folder, &place, Arc::clone(&sealing), redis.incarnation());
        Ok(Copier {
            redis,
            objects,
            notices,
            medium: Arc::new(RemoteMedium::new(copy)?),
            seals: Seals::new(sealing),
            ahead: BlockingMutex::new(ahead),
            writing: Mutex::default(),
        })
    }

    fn path(&self) -> &Path {
        self.medium.path()
    }

    fn ahead(&self) -> MutexGuard<'_, AheadFile> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn parsed(&self, content: &[u8]) -> Result<Option<ReadCopy>, StoreError> {
        if content.is_empty() {
            return Ok(None);
        }
        if digit_of(content, self.path())?.is_guarded() {
            return Err(self.differs(
                "a run without Redis has not ended. Finish or abandon it first, without WEFT_STORE: see `weft runs list`",
            ));
        }
        let opened = self.seals.parse(content, self.path())?;
        let (lineage, serial) = (opened.file.lineage.clone(), opened.file.serial);
        let behind = Behind { lineage, serial, digest: Digest::of(content) };
        Ok(Some(ReadCopy { file: opened.file, behind, outdated: opened.outdated }))
    }

    fn differs(&self, what: &str) -> StoreError {
        StoreError::CopyDiffers {
            store: self.redis.place(),
            copy: self.path().display().to_string(),
            what: what.to_owned(),
        }
    }

    fn difference(&self, difference: Difference) -> StoreError {
        self.differs(match difference {
            Difference::Lineage => "the copy has another lineage, so it is another state",
            Difference::BothChanged => "another tool has written the copy, and the state in Redis has changed, too",
            Difference::Older => "another tool has put an older state in the place of the copy",
        })
    }

    /// Compares the state with its copy when the store is opened, and makes them equal.
    pub(super) async fn begin(&self, change: bool) -> Result<(), StoreError> {
        for _ in 0..LOOKS {
            let (front, marks) = self.redis.front().await?;
            let medium = Arc::clone(&self.medium);
            let (content, _) = blocking(move || medium.peek()).await?;
            let copy = self.parsed(&content)?;
            let behind = copy.as_ref().map(|copy| &copy.behind);
            let lost = self.lost(front.fresh && marks == CopyMarks::default(), behind).await?;
            let decision = decide(&front, behind, &marks);
            self.ahead().set_copy(behind.map(|behind| behind.digest));
            let done = match (decision, copy) {
                (Decision::Differ(difference), _) => return Err(self.difference(difference)),
                (Decision::Read, Some(copy)) => self.read(&front, copy.file, copy.behind, &lost).await?,
                (Decision::Equal, None) if lost.has_writes() => self.restore(&front, &lost).await?,
                (Decision::Write, _) if change => self.catch_up().await.map(|()| true)?,
                _ => true,
            };
            if done {
                return self.settle(lost);
            }
        }
        Err(self.differs("both change all the time. Try again"))
    }

    /// What dead processes left behind. `empty` says that the store has nothing: it may have been in use before.
    async fn lost(&self, empty: bool, copy: Option<&Behind>) -> Result<Lost, StoreError> {
        let left = self.ahead().left_behind()?;
        let mut lost = Lost { left, copy: copy.map(|copy| copy.digest), notice: None };
        if !empty {
            return Ok(lost);
        }
        let record = match &self.objects {
            Some(objects) => FrontRecord::read(objects).await?,
            None => None,
        };
        let record = record.filter(|record| record.store == self.redis.place());
        if record.is_none() && lost.left.is_empty() {
            return Ok(lost);
        }
        let record = record.unwrap_or_default();
        let mut runs = record.runs;
        runs.extend(lost.left.iter().flat_map(|left| left.runs.clone()));
        runs.sort();
        runs.dedup();
        let mut uncertain: Vec<String> = lost.left.iter().flat_map(|left| left.uncertain.clone()).collect();
        uncertain.sort();
        lost.notice = Some(LostStore {
            store: self.redis.place(),
            copy: self.path().display().to_string(),
            serial: copy.map(|copy| copy.serial),
            since: record.written,
            runs,
            uncertain,
            ..LostStore::default()
        });
        let recovered = lost.writes().subjects().iter().map(ToString::to_string).collect();
        lost.notice.iter_mut().for_each(|notice| notice.recovered = Vec::clone(&recovered));
        Ok(lost)
    }

    /// Puts the copy, and what follows it, in the place of the state in Redis. `false` if the state has changed.
    async fn read(&self, front: &Front, file: StateFile, behind: Behind, lost: &Lost) -> Result<bool, StoreError> {
        let snapshot = self.redis.snapshot().await?;
        let mut writes = LastWrites::default();
        writes.add_writes(removed(&snapshot, &file));
        writes.add_writes(all_of(&file));
        writes.add_writes(lost.writes());
        // The serial becomes that of the copy, or the next one if more is written.
        let serial = if lost.has_writes() { behind.serial } else { behind.serial.saturating_sub(1) };
        if !self.replace(front.serial, (behind.lineage, serial), writes.into_writes()).await? {
            return Ok(false);
        }
        let (now, _) = self.redis.front().await?;
        let serial = if lost.has_writes() { now.serial.saturating_sub(1) } else { now.serial };
        let written = Some(CopyMark { serial, digest: behind.digest });
        self.redis.set_copy_marks(&CopyMarks { written, writing: None }).await?;
        if lost.has_writes() {
            self.catch_up().await?;
        }
        Ok(true)
    }

    /// Restores a state that has no copy yet from the write-ahead files.
    async fn restore(&self, front: &Front, lost: &Lost) -> Result<bool, StoreError> {
        if !self.replace(front.serial, (front.lineage.clone(), front.serial), lost.writes()).await? {
            return Ok(false);
        }
        self.catch_up().await?;
        Ok(true)
    }

    async fn replace(&self, seen: u64, identity: (String, u64), writes: Writes) -> Result<bool, StoreError> {
        match self.redis.edit(Edit { seen, writes, identity: Some(identity) }).await? {
            EditAnswer::Edited => Ok(true),
            EditAnswer::Changed { .. } => Ok(false),
            EditAnswer::Refused { .. } => {
                Err(self.differs("another tool has written the copy while a run in Redis has not ended"))
            }
        }
    }

    /// Removes the write-ahead files that are of no more use, and reports what was lost.
    fn settle(&self, lost: Lost) -> Result<(), StoreError> {
        let Lost { left, copy, mut notice } = lost;
        let current = self.redis.incarnation();
        for left in left {
            // A store that is not lost has everything that its own files have.
            let settled = if notice.is_some() { left.copy == copy } else { left.incarnation == current };
            if settled {
                left.remove()?;
                continue;
            }
            let (store, copy) = (self.redis.place(), self.path().display().to_string());
            let (runs, uncertain) = (left.runs.clone(), left.uncertain.clone());
            let unused = left.set_aside()?;
            let found = LostStore { store, copy, runs, uncertain, ..LostStore::default() };
            notice.get_or_insert(found).unused.push(unused);
        }
        notice.into_iter().for_each(|notice| self.notices.add(notice));
        Ok(())
    }

    /// Writes the copy unless it is that of the state in Redis.
    ///
    /// # Errors
    /// [`StoreError::CopyDiffers`] if another tool has written the copy; those of Redis and of the backend.
    pub(super) async fn catch_up(&self) -> Result<(), StoreError> {
        self.write(false).await
    }

    /// Writes the copy if it is sealed differently than configured now.
    ///
    /// # Errors
    /// See [`Copier::catch_up`].
    pub(super) async fn reseal(&self) -> Result<(), StoreError> {
        let medium = Arc::clone(&self.medium);
        let (content, _) = blocking(move || medium.peek()).await?;
        let outdated = self.parsed(&content)?.is_some_and(|copy| copy.outdated);
        self.write(outdated).await
    }

    async fn write(&self, always: bool) -> Result<(), StoreError> {
        let _one_at_a_time = self.writing.lock().await;
        let (front, marks) = self.redis.front().await?;
        let is_current = |marks: &CopyMarks, serial| marks.written.as_ref().is_some_and(|mark| mark.serial >= serial);
        if front.fresh || is_current(&marks, front.serial) && !always {
            return Ok(());
        }
        let medium = Arc::clone(&self.medium);
        let document = blocking(move || medium.lock()).await?;
        let (document, content) = with(document, |document| document.read()).await?;
        // Another process may have written it while this one waited for the lock.
        let (front, marks) = self.redis.front().await?;
        match decide(&front, self.parsed(&content)?.as_ref().map(|copy| &copy.behind), &marks) {
            Decision::Equal if !always => return Ok(()),
            Decision::Equal | Decision::Write => {}
            Decision::Read => return Err(self.difference(Difference::BothChanged)),
            Decision::Differ(difference) => return Err(self.difference(difference)),
        }
        let steps = self.ahead().steps();
        let file = self.redis.snapshot().await?.into_state_file();
        let serial = file.serial;
        let (seals, path) = (self.seals.clone(), self.path().to_owned());
        let bytes = blocking(move || seals.state(&file, &path)).await?;
        let digest = Digest::of(&bytes);
        let mark = Some(CopyMark { serial, digest });
        self.redis.set_copy_marks(&CopyMarks { written: marks.written, writing: mark.clone() }).await?;
        let (document, ()) = with(document, move |document| document.write(&bytes)).await?;
        self.redis.set_copy_marks(&CopyMarks { written: mark, writing: None }).await?;
        blocking(move || {
            // Releases the lock, which may take a request.
            drop(document);
            Ok(())
        })
        .await?;
        self.ahead().copied(digest, steps)
    }

    /// A term begins: what it does is written ahead from now on.
    pub(super) async fn term_begins(&self, run: &RunId) -> Result<(), StoreError> {
        self.ahead().begin(run)?;
        self.record().await
    }

    /// A term has ended, and the copy has caught up.
    pub(super) async fn term_ends(&self, run: &RunId) -> Result<(), StoreError> {
        self.ahead().end(run)?;
        self.record().await
    }

    /// Writes which store is in front of the copy.
    async fn record(&self) -> Result<(), StoreError> {
        let Some(objects) = &self.objects else { return Ok(()) };
        let runs = self.ahead().runs();
        FrontRecord::new(self.redis.place(), self.redis.incarnation(), runs).write(objects).await
    }

    /// Records steps that the store has taken, before their caller learns of them.
    pub(super) async fn write_ahead(self: &Arc<Self>, run: &RunId, steps: Vec<StoreStep>) -> Result<(), StoreError> {
        if steps.is_empty() {
            return Ok(());
        }
        let (copier, run) = (Arc::clone(self), run.clone());
        blocking(move || copier.ahead().append(&run, steps)).await
    }
}

/// What a store that came back empty has lost, and what is left of it.
struct Lost {
    /// The files of dead processes.
    left: Vec<LeftBehind>,
    /// The copy that is there. The writes of a file can be used if they follow it.
    copy: Option<Digest>,
    /// What was lost, if anything.
    notice: Option<LostStore>,
}

impl Lost {
    fn has_writes(&self) -> bool {
        !self.writes().subjects().is_empty()
    }

    /// The writes that are not in the copy.
    fn writes(&self) -> Writes {
        let mut writes = LastWrites::default();
        for left in self.left.iter().filter(|left| self.notice.is_some() && left.copy == self.copy) {
            writes.add_writes(left.writes.clone());
        }
        writes.into_writes()
    }
}

/// Everything in a state file.
fn all_of(file: &StateFile) -> Writes {
    let instance = |(address, record): (&String, _)| InstanceWrite { address: address.clone(), record: Some(record) };
    Writes {
        instances: file.instances.iter().map(|(address, record)| instance((address, record.clone()))).collect(),
        outputs: file
            .outputs
            .iter()
            .map(|(name, record)| OutputWrite { name: name.clone(), record: Some(record.clone()) })
            .collect(),
        checks: Some(file.checks.clone()),
    }
}

/// The removal of everything that the state file does not have.
fn removed(snapshot: &Snapshot, file: &StateFile) -> Writes {
    let names = snapshot.instances.keys().map(ToString::to_string);
    let gone = names.filter(|address| !file.instances.contains_key(address));
    let outputs = snapshot.outputs.keys().filter(|name| !file.outputs.contains_key(*name));
    Writes {
        instances: gone.map(|address| InstanceWrite { address, record: None }).collect(),
        outputs: outputs.map(|name| OutputWrite { name: name.clone(), record: None }).collect(),
        checks: None,
    }
}

/// Runs work that may block on a thread for it.
async fn blocking<Answer: Send + 'static>(
    work: impl FnOnce() -> Result<Answer, StoreError> + Send + 'static,
) -> Result<Answer, StoreError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(crate::problems::process_ending()))
}

/// Works with the locked document.
async fn with<Answer: Send + 'static>(
    document: Box<dyn Document>,
    work: impl FnOnce(&dyn Document) -> Result<Answer, StoreError> + Send + 'static,
) -> Result<(Box<dyn Document>, Answer), StoreError> {
    blocking(move || {
        let answer = work(document.as_ref())?;
        Ok((document, answer))
    })
    .await
}
