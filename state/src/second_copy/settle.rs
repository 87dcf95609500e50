//! Handles the write-ahead files that dead processes left behind.

use super::ahead::{AheadFiles, FoundFiles, SharedFiles};
use super::copier::blocking;
use super::notice::LostStore;
use super::problems::{emptied, emptied_in_use};
use super::recovery::{Compared, restore};
use super::term_file::{Additions, TermFile};
use crate::edit::{Edit, EditAnswer};
use crate::error::StoreError;
use crate::redis::{CopyMarks, Front, RedisStore};
use crate::run::RunHeader;
use crate::snapshot::Snapshot;
use crate::store::RunStore as _;

/// The maximum number of times that the state is read, if it changes in the meantime.
const LOOKS: u32 = 5;

/// The write-ahead files whose results an empty store gets, although they belong to an earlier store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adopted {
    /// None: the empty store may still begin from a copy.
    None,
    /// All: the store has begun from its copy, or the copy was never written. `declared` means that the user has
    /// declared lost what the files do not have.
    All { declared: bool },
    /// Those of states without a copy, because this process knows no copy. `declared` as for [`Adopted::All`].
    Uncopied { declared: bool },
}

impl Adopted {
    pub(super) fn has(self, file: &TermFile) -> bool {
        match self {
            Adopted::None => false,
            Adopted::All { .. } => true,
            Adopted::Uncopied { .. } => !file.origin().copied,
        }
    }

    /// Whether the files may have only a part of the state.
    fn accepts_part(self) -> bool {
        match self {
            Adopted::None => true,
            Adopted::All { declared } | Adopted::Uncopied { declared } => declared,
        }
    }
}

/// Compares the store with the files that dead processes left behind, and restores what the store has lost. An empty
/// store gets the results in the files of an earlier store that `adopted` includes. The other files stay for a later
/// call. Returns whether the state was changed.
///
/// # Errors
/// [`StoreError::Damaged`] if the files do not have the whole state that an empty store had, or if a live process has
/// results of an earlier store. Errors of the store and of the file system.
pub(super) async fn left_behind(
    redis: &RedisStore,
    files: &SharedFiles,
    adopted: Adopted,
    lost: &mut LostStore,
) -> Result<bool, StoreError> {
    let shared = files.clone();
    let FoundFiles { dead, alive } = blocking(move || AheadFiles::of_others(&shared.get())).await?;
    let is_earlier = |file: &TermFile| file.start.incarnation != redis.incarnation();
    let front = redis.front().await?.0;
    // A file of an ended term stays until a copy has its results. Its process adds nothing.
    let goes_on = |file: &&TermFile| is_earlier(file) && file.ended().is_none() && file.follows(&front);
    if let Some(file) = alive.iter().find(goes_on) {
        return Err(emptied_in_use(redis.place(), &file.start.run, &file.shown()));
    }
    if front.fresh && !adopted.accepts_part() {
        refuse_part(redis, dead.iter().filter(|file| is_earlier(file) && adopted.has(file)).collect())?;
    }
    let mut changed = false;
    for file in dead {
        let (front, marks) = redis.front().await?;
        if is_earlier(&file) {
            if front.fresh && !adopted.has(&file) {
                continue;
            }
            lost.emptied |= front.fresh;
            changed |= bring_back(redis, file, lost).await?;
            continue;
        }
        match restore(redis, &file).await? {
            Compared::Whole(header) => done_with(file, header, &front, &marks)?,
            Compared::Replayed(header) => {
                redis.set_replayed().await?;
                lost.replayed.push(file.start.run.to_string());
                let (front, marks) = redis.front().await?;
                done_with(file, header, &front, &marks)?;
            }
            Compared::Missing => changed |= bring_back(redis, file, lost).await?,
            Compared::Diverged(words) => {
                redis.freeze(&file.start.run, &words).await?;
                lost.frozen.push(format!("{} ({words})", file.start.run));
                lost.unused.push(file.set_aside()?);
            }
        }
    }
    Ok(changed)
}

/// Refuses an empty store if its files on this machine have only a part of its former state.
fn refuse_part(redis: &RedisStore, mut files: Vec<&TermFile>) -> Result<(), StoreError> {
    let Some(serial) = gap(&mut files) else { return Ok(()) };
    let files: Vec<_> = files.iter().map(|file| (&file.start.run, file.shown())).collect();
    Err(emptied(redis.place(), serial, &files))
}

/// Looks for results that none of these files has. Every result increments the serial of the state by one. For example,
/// if the files have three results before a term that began with serial 5, something else wrote the state before this
/// term. Returns the serial at the beginning of the first such term. If two terms overlapped, all results of the
/// earlier term count as results before the later term, so a gap can stay hidden. Sorts the files by the beginning of
/// their terms.
pub(super) fn gap(files: &mut [&TermFile]) -> Option<u64> {
    files.sort_by_key(|file| file.origin().serial);
    let mut known = 0;
    for file in files.iter() {
        let before = file.origin().serial;
        if before > known {
            return Some(before);
        }
        known += file.writes().filter(|writes| !writes.is_empty()).count() as u64;
    }
    None
}

/// Removes a file whose run has ended, unless the copy still lacks results of the run.
fn done_with(file: TermFile, header: Option<RunHeader>, front: &Front, marks: &CopyMarks) -> Result<(), StoreError> {
    let runs_on = header.is_some_and(|header| !header.status.is_final());
    let copy_lacks = front.copied && file.ended().is_some_and(|(serial, _)| marks.copied_serial() < serial);
    if runs_on && file.ended().is_none() || copy_lacks { Ok(()) } else { file.remove() }
}

/// Adds the results in the file of a lost run to the state. Adds uncertain objects to `lost`. Returns whether the state
/// was changed.
async fn bring_back(redis: &RedisStore, file: TermFile, lost: &mut LostStore) -> Result<bool, StoreError> {
    for _ in 0..LOOKS {
        let (front, _) = redis.front().await?;
        let snapshot = redis.snapshot().await?;
        let same_store = file.start.incarnation == redis.incarnation();
        let is_later = |file: &TermFile| same_store && file.is_followed(&snapshot);
        if is_later(&file) {
            // The run has ended and was removed, and later runs have changed its objects.
            file.remove()?;
            return Ok(false);
        }
        let follows = file.follows(&front);
        let Additions { writes, changed } = if follows { file.additions(&snapshot) } else { Additions::default() };
        let subjects: Vec<String> = writes.subjects().iter().map(ToString::to_string).collect();
        if !subjects.is_empty() {
            let identity = front.fresh.then(|| (file.start.lineage.clone(), snapshot.serial));
            match redis.edit(Edit { seen: snapshot.serial, writes, identity }).await? {
                EditAnswer::Edited => lost.recovered.extend(subjects.iter().cloned()),
                EditAnswer::Changed { .. } => continue,
                // Other runs already use these objects.
                EditAnswer::Refused { .. } => return set_aside(file, subjects, lost),
            }
        }
        lost.runs.push(file.start.run.to_string());
        lost.uncertain.extend(file.uncertain());
        if !follows || !changed.is_empty() {
            lost.changed.extend(changed);
            lost.unused.push(file.set_aside()?);
        } else {
            file.remove()?;
        }
        return Ok(!subjects.is_empty());
    }
    // The state changed during every attempt. The file stays, and a later call tries again.
    Ok(false)
}

fn set_aside(file: TermFile, subjects: Vec<String>, lost: &mut LostStore) -> Result<bool, StoreError> {
    lost.runs.push(file.start.run.to_string());
    lost.uncertain.extend(file.uncertain());
    lost.changed.extend(subjects);
    lost.unused.push(file.set_aside()?);
    Ok(false)
}

impl TermFile {
    /// Whether the file belongs to this state.
    fn follows(&self, front: &Front) -> bool {
        front.fresh || front.lineage == self.start.lineage
    }

    /// Whether all instances that the run wrote have been written again since, in the store of the run.
    fn is_followed(&self, now: &Snapshot) -> bool {
        let claimed = self.claimed();
        let mut written = self.written().peekable();
        written.peek().is_some()
            && written.all(|subject| claimed.get(&subject).is_some_and(|expected| now.revision(&subject) > *expected))
    }
}
