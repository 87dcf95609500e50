//! Compares the state in Redis with its copy, and writes the copy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};
use weft_sealing::Sealing;

use super::ahead::SharedFiles;
use super::decision::{Behind, Decision, Difference, decide};
use super::leading::leading_to;
use super::notice::LostStore;
use super::record::{self, FrontRecord};
use crate::edit::{Edit, EditAnswer};
use crate::embedded::{Document, Medium as _, RemoteMedium, RemoteOptions, Seals, digit_of};
use crate::error::StoreError;
use crate::redis::{CopyMark, CopyMarks, Front, RedisStore};
use crate::remote::Objects;
use crate::run::{Digest, OpStatus, RunHeader, RunId, RunStatus, RunView, Token};
use crate::step::HeldSubject;
use crate::store::RunStore as _;
use crate::subject::Subject;
use crate::tfstate::StateFile;

/// The maximum number of comparisons. A comparison is repeated if the state or the copy changes in the meantime.
const LOOKS: u32 = 5;
/// The time that the holder of a run has to replay the lost records of the store. A holder renews its lease every two
/// seconds, and notices the loss when it next renews the lease. A holder that has not renewed its lease for ten seconds
/// is dead.
const HOLDER_WAIT: Duration = Duration::from_secs(11);
/// The pause between two checks of the holders.
const HOLDER_LOOK: Duration = Duration::from_secs(1);
/// The reason for removing a run whose records are lost.
const LOST: &str = "the store was restored to an earlier moment";

/// The copier of one state in this process.
pub(super) struct Copier {
    redis: RedisStore,
    medium: Arc<RemoteMedium>,
    objects: Option<Arc<dyn Objects>>,
    seals: Seals,
    files: SharedFiles,
    /// Locked while a copy is written, so that only one copy is written at a time.
    writing: Mutex<()>,
}

/// A copy that was read.
struct ReadCopy {
    file: StateFile,
    behind: Behind,
    /// Whether the copy would be sealed differently now.
    outdated: bool,
}

impl Copier {
    pub(super) fn new(
        redis: RedisStore,
        copy: RemoteOptions,
        sealing: Arc<Sealing>,
        files: SharedFiles,
    ) -> Result<Copier, StoreError> {
        let objects = copy.state.objects();
        let (medium, seals) = (Arc::new(RemoteMedium::new(copy)?), Seals::new(sealing));
        Ok(Copier { redis, objects, files, medium, seals, writing: Mutex::default() })
    }

    fn path(&self) -> &Path {
        self.medium.path()
    }

    fn parsed(&self, content: &[u8]) -> Result<Option<ReadCopy>, StoreError> {
        if content.is_empty() {
            return Ok(None);
        }
        if digit_of(content, self.path())?.is_guarded() {
            return Err(self.differs(
                "a run that began without Redis has not ended. Unset WEFT_STORE, then finish or abandon that run: see \
                 `weft runs list`",
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
            Difference::Lineage => "the copy has another lineage, so it belongs to another state",
            Difference::BothChanged => "another tool has written the copy, and the state in Redis has changed, too",
            Difference::Older => "another tool has replaced the copy by an older state",
        })
    }

    /// Compares the state with its copy when the store is opened, and makes them equal. If `change` is false, a missing
    /// or older copy may stay as it is. Adds the losses of the store to `lost`. Returns whether the store was empty.
    pub(super) async fn begin(&self, change: bool, lost: &mut LostStore) -> Result<bool, StoreError> {
        for _ in 0..LOOKS {
            let (front, marks) = self.redis.front().await?;
            let medium = Arc::clone(&self.medium);
            let (content, _) = blocking(move || medium.peek()).await?;
            let copy = self.parsed(&content)?;
            let behind = copy.as_ref().map(|copy| &copy.behind);
            let record = self.recorded().await?;
            let own = self.is_own(record.as_ref(), behind);
            let decision = decide(&front, behind, &marks, own);
            let empty = front.fresh && marks.is_empty();
            let done = match (decision, &copy) {
                (Decision::Differ(difference), _) => return Err(self.difference(difference)),
                (Decision::Read, Some(copy)) => self.read(&front, copy).await?,
                (Decision::Behind, Some(copy)) => self.go_back(&front, copy, lost).await?,
                (Decision::Adopt, Some(copy)) => {
                    let Behind { serial, digest, .. } = copy.behind;
                    let written = Some(CopyMark { serial, digest });
                    self.redis.adopt_copy(&CopyMarks { written, writing: None }).await?;
                    false
                }
                (Decision::Write, _) if change => self.catch_up().await.map(|()| true)?,
                (Decision::Write, _) if front.copied => self.catch_up_later().await.map(|()| true)?,
                _ => true,
            };
            if !done {
                continue;
            }
            if empty && let Some(record) = record {
                lost.emptied = true;
                lost.copy = self.path().display().to_string();
                lost.serial = copy.map(|copy| copy.behind.serial);
                lost.since = record.written;
                lost.runs.extend(record.runs);
            }
            if change && !front.copied {
                self.redis.set_copied().await?;
            }
            return Ok(empty);
        }
        Err(self.differs("the state and the copy keep changing. Try again"))
    }

    /// Writes the copy if an earlier command did not finish writing it, and no run is in progress. If the copy cannot
    /// be written, this is only logged: a command that only reads may lack the permission to write the copy, and does
    /// not need a current copy.
    ///
    /// # Errors
    /// Returns an error if the runs cannot be read.
    async fn catch_up_later(&self) -> Result<(), StoreError> {
        let goes_on = |header: &RunHeader| header.status == RunStatus::Running;
        if self.redis.runs().await?.iter().any(goes_on) {
            return Ok(());
        }
        if let Err(error) = self.catch_up().await {
            tracing::warn!("the second copy of the state could not be written: {error}");
        }
        Ok(())
    }

    /// The record beside the copy, if the record names this store.
    async fn recorded(&self) -> Result<Option<FrontRecord>, StoreError> {
        let Some(objects) = &self.objects else { return Ok(None) };
        let record = FrontRecord::read(objects).await?;
        Ok(record.filter(|record| record.store == self.redis.place()))
    }

    /// Whether this store has written the copy.
    fn is_own(&self, record: Option<&FrontRecord>, copy: Option<&Behind>) -> bool {
        let (Some(record), Some(copy)) = (record, copy) else { return false };
        record.incarnation == self.redis.incarnation().to_string() && record.copy == copy.digest.hex()
    }

    /// Replaces the state in Redis with the copy. Returns `false` if the state has changed in the meantime.
    ///
    /// # Errors
    /// Returns an error if a run has claimed a part of the state.
    async fn read(&self, front: &Front, copy: &ReadCopy) -> Result<bool, StoreError> {
        match self.replace(front, copy).await? {
            EditAnswer::Edited => Ok(true),
            EditAnswer::Changed { .. } => Ok(false),
            EditAnswer::Refused { .. } => {
                Err(self.differs("another tool has written the copy while a run in Redis has not ended"))
            }
        }
    }

    async fn replace(&self, front: &Front, copy: &ReadCopy) -> Result<EditAnswer, StoreError> {
        let snapshot = self.redis.snapshot().await?;
        let writes = leading_to(&copy.file, &snapshot);
        // The edit increments the serial, so that the result equals the serial of the copy.
        let identity = Some((copy.behind.lineage.clone(), copy.behind.serial.saturating_sub(1)));
        let answer = self.redis.edit(Edit { seen: front.serial, writes, identity }).await?;
        if answer == EditAnswer::Edited {
            let (now, _) = self.redis.front().await?;
            let written = Some(CopyMark { serial: now.serial, digest: copy.behind.digest });
            self.redis.adopt_copy(&CopyMarks { written, writing: None }).await?;
        }
        Ok(answer)
    }

    /// Replaces the state in Redis with the copy, because the store has lost its last records. Returns `false` if the
    /// state and the copy must be compared again.
    async fn go_back(&self, front: &Front, copy: &ReadCopy, lost: &mut LostStore) -> Result<bool, StoreError> {
        if !self.is_left_alone(front).await? {
            return Ok(false);
        }
        match self.replace(front, copy).await? {
            EditAnswer::Edited => {
                lost.copy = self.path().display().to_string();
                lost.serial = Some(copy.behind.serial);
                Ok(true)
            }
            EditAnswer::Changed { .. } => Ok(false),
            EditAnswer::Refused { held, doubts } => {
                let of_doubts = doubts.into_iter().map(|doubt| doubt.run);
                let mut runs: Vec<RunId> =
                    held.into_iter().map(|HeldSubject { run, .. }| run).chain(of_doubts).collect();
                runs.sort();
                runs.dedup();
                for run in runs {
                    self.give_up(&run, copy, lost).await?;
                }
                Ok(false)
            }
        }
    }

    /// Waits for the holders of runs, which may replay the lost records of the store. Returns `false` if the state has
    /// changed.
    ///
    /// # Errors
    /// [`StoreError::CopyDiffers`] if a holder is alive and has not replayed the records.
    async fn is_left_alone(&self, front: &Front) -> Result<bool, StoreError> {
        let beats = |headers: Vec<RunHeader>| -> BTreeMap<RunId, (Token, u64)> {
            let running = headers.into_iter().filter(|header| header.status == RunStatus::Running);
            running.filter_map(|header| Some((header.id, header.lease.map(|l| (l.token, l.heartbeat))?))).collect()
        };
        let (first, start) = (beats(self.redis.runs().await?), Instant::now());
        let mut moved = false;
        while !first.is_empty() && start.elapsed() < HOLDER_WAIT {
            sleep(HOLDER_LOOK).await;
            if self.redis.front().await?.0 != *front {
                return Ok(false);
            }
            moved |= beats(self.redis.runs().await?) != first;
        }
        if moved {
            return Err(
                self.differs("the store has lost its last records, but a run still uses the store. Stop that run")
            );
        }
        Ok(true)
    }

    /// Removes a run whose records are lost. Adds the objects that it may have changed to `lost`.
    async fn give_up(&self, run: &RunId, copy: &ReadCopy, lost: &mut LostStore) -> Result<(), StoreError> {
        if let Some(RunView { ops, claims, .. }) = self.redis.run(run).await? {
            let target = |status: OpStatus| {
                let of_status = ops.values().filter(move |op| op.status == status);
                of_status.filter_map(|op| op.target.as_ref())
            };
            let done: BTreeSet<&str> = target(OpStatus::Done).map(|target| target.address.as_str()).collect();
            let snapshot = self.redis.snapshot().await?;
            for address in claims.iter().filter(|(_, exclusive)| **exclusive).filter_map(|(subject, _)| match subject {
                Subject::Instance(address) => Some(address),
                _ => None,
            }) {
                let here = snapshot.instance(address).map(|stored| &stored.record);
                // A difference between the state and the copy means that the copy has a result that the store has lost.
                let settled = here != copy.file.instances.get(address) || done.contains(address.as_str());
                if !settled {
                    lost.uncertain.push(address.clone());
                }
            }
            lost.uncertain.extend(target(OpStatus::Intended).map(ToString::to_string));
        }
        lost.runs.push(run.to_string());
        self.redis.drop_run(run, LOST).await
    }

    /// Writes the copy, unless it already contains the state that is in Redis.
    ///
    /// # Errors
    /// [`StoreError::CopyDiffers`] if another tool has written the copy. Errors of Redis and of the backend.
    pub(super) async fn catch_up(&self) -> Result<(), StoreError> {
        self.write(false).await
    }

    /// Writes the copy if it is out of date or would be sealed differently now.
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
        // Another process may have written the copy while this process waited for the lock.
        let (front, marks) = self.redis.front().await?;
        let copy = self.parsed(&content)?.map(|copy| copy.behind);
        let own = self.is_own(self.recorded().await?.as_ref(), copy.as_ref());
        match decide(&front, copy.as_ref(), &marks, own) {
            Decision::Equal if !always => return Ok(()),
            Decision::Equal | Decision::Write => {}
            Decision::Behind => return Err(self.differs("the store has lost its last records")),
            Decision::Read | Decision::Adopt => return Err(self.difference(Difference::BothChanged)),
            Decision::Differ(difference) => return Err(self.difference(difference)),
        }
        let file = self.redis.snapshot().await?.into_state_file();
        let serial = file.serial;
        let (seals, path) = (self.seals.clone(), self.path().to_owned());
        let bytes = blocking(move || seals.state(&file, &path)).await?;
        let digest = Digest::of(&bytes);
        let mark = Some(CopyMark { serial, digest });
        self.redis.set_copy_marks(&CopyMarks { written: marks.written, writing: mark.clone() }).await?;
        let (document, ()) = with(document, move |document| document.write(&bytes)).await?;
        self.redis.adopt_copy(&CopyMarks { written: mark, writing: None }).await?;
        blocking(move || {
            // Dropping the document releases the lock, which may need a request to the backend.
            drop(document);
            Ok(())
        })
        .await?;
        self.files.get().copied(serial)?;
        self.record(Some(digest)).await
    }

    /// Updates the record beside the copy: the runs that have not ended.
    pub(super) async fn runs_changed(&self) -> Result<(), StoreError> {
        let (_, marks) = self.redis.front().await?;
        self.record(marks.written.map(|mark| mark.digest)).await
    }

    /// Writes the record beside the copy, which names this store.
    async fn record(&self, copy: Option<Digest>) -> Result<(), StoreError> {
        let Some(objects) = &self.objects else { return Ok(()) };
        let unfinished = self.redis.runs().await?.into_iter().filter(|header| !header.status.is_final());
        let runs = unfinished.map(|header| header.id.to_string()).collect();
        FrontRecord::new(self.redis.place(), self.redis.incarnation(), runs, copy).write(objects).await
    }

    /// Removes the record beside the copy.
    pub(super) async fn forget(&self) -> Result<(), StoreError> {
        let Some(objects) = &self.objects else { return Ok(()) };
        Ok(objects.remove(&[record::NAME.to_owned()]).await?)
    }
}

/// Runs work that may block on a thread of its own.
pub(super) async fn blocking<Answer: Send + 'static>(
    work: impl FnOnce() -> Result<Answer, StoreError> + Send + 'static,
) -> Result<Answer, StoreError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(crate::problems::process_ending()))
}

/// Calls `work` with the locked document, on a thread that may block.
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
