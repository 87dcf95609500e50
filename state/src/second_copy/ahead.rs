//! The write-ahead files: the acknowledged steps of terms, on this machine.
//!
//! A file belongs to one term of one run in one process, which holds a lock on the file. A frame consists of the length
//! of its payload (4 bytes, little-endian), the blake3 digest of the payload, and the payload. The payload is an
//! [`Entry`], sealed like a state. Reading stops at an incomplete frame. An entry is appended after the store has
//! answered, and before the caller gets the answer. Entries for the start of the term, for claims and for steps contain
//! the number and the link of the last line of the run's journal ([`crate::redis::Tip`]). So lines that the store loses
//! are detected and can be replayed.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_graph_format::framed::{first_payload, framed};
use weft_sealing::{Sealing, TargetName};

use super::entry::{Entry, TermStart};
use super::origin::Origin;
use super::problems::failed;
use super::term_file::{TermFile, UNUSED};
use crate::error::StoreError;
use crate::run::{Digest, Incarnation, RunId};
use crate::step::{StoreStep, TermEnding};

/// The start of the names of write-ahead files.
const PREFIX: &str = "ahead-";
/// The length of a digest in a name: long enough to distinguish states.
const NAME_LENGTH: usize = 16;

/// The seal of a file.
#[derive(Clone, Debug)]
struct AheadSeal {
    sealing: Arc<Sealing>,
    path: PathBuf,
}

impl AheadSeal {
    /// The context of sealed entries. It is the kind of file and not its name, because the name changes.
    const CONTEXT: &[u8] = b"write-ahead";

    fn frame(&self, entry: &Entry) -> Result<Vec<u8>, StoreError> {
        let failed = |what: String| StoreError::Record { name: self.path.display().to_string(), what };
        let plain = postcard::to_stdvec(entry).map_err(|error| failed(error.to_string()))?;
        let sealed = self.sealing.seal_record(&TargetName::State, Self::CONTEXT, &plain);
        let place = || self.path.display().to_string();
        let payload = sealed.map_err(|error| StoreError::Unsealed { place: place(), error })?;
        framed(&payload).ok_or_else(|| failed("it is too large".to_owned()))
    }

    /// The entries before the first incomplete frame or the end.
    fn entries(&self, mut bytes: &[u8]) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::new();
        while let Some((payload, rest)) = first_payload(bytes) {
            let place = || self.path.display().to_string();
            let opened = self.sealing.open_record(&TargetName::State, Self::CONTEXT, payload);
            let plain = opened.map_err(|error| StoreError::Unopened { place: place(), error })?.plain;
            let Ok(entry) = postcard::from_bytes(&plain) else { break };
            entries.push(entry);
            bytes = rest;
        }
        Ok(entries)
    }
}

/// The write-ahead files of this process for one state.
#[derive(Debug)]
pub(super) struct AheadFiles {
    folder: PathBuf,
    /// The part of the name that all files of the state share.
    name: String,
    sealing: Arc<Sealing>,
    open: BTreeMap<RunId, OpenFile>,
    /// The files of terms that have ended, with the serial of the state at their end.
    ended: Vec<(u64, OpenFile)>,
}

/// The write-ahead files of this process, shared.
#[derive(Clone, Debug)]
pub(super) struct SharedFiles(Arc<Mutex<AheadFiles>>);

impl SharedFiles {
    pub(super) fn new(files: AheadFiles) -> SharedFiles {
        SharedFiles(Arc::new(Mutex::new(files)))
    }

    /// Locks the files for one step.
    pub(super) fn get(&self) -> MutexGuard<'_, AheadFiles> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    seal: AheadSeal,
    incarnation: Incarnation,
    /// Whether the term has ended in this process, although the store has not confirmed the end.
    at_rest: bool,
}

/// The files of one state that other processes have written.
#[derive(Debug, Default)]
pub(super) struct FoundFiles {
    /// The files of dead processes, in the order in which their terms began.
    pub(super) dead: Vec<TermFile>,
    /// The files of processes that are alive.
    pub(super) alive: Vec<TermFile>,
}

impl AheadFiles {
    /// The files in this directory for the state at `place`. Nothing is written before a term begins.
    pub(super) fn new(folder: &Path, place: &str, sealing: Arc<Sealing>) -> AheadFiles {
        let digest = Digest::of(place.as_bytes()).hex();
        let name = format!("{PREFIX}{}-", digest.get(..NAME_LENGTH).unwrap_or_default());
        AheadFiles { folder: folder.to_owned(), name, sealing, open: BTreeMap::new(), ended: Vec::new() }
    }

    /// Begins the file of a term. `origin` describes the state at this moment.
    pub(super) fn begin(&mut self, start: TermStart, origin: Origin) -> Result<(), StoreError> {
        let path = self.folder.join(format!("{}{}{origin}", self.name, uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&self.folder).map_err(failed("creating", &self.folder))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(failed("creating", &path))?;
        file.try_lock().map_err(|error| StoreError::Io {
            doing: format!("locking {}", path.display()),
            error: error.to_string(),
        })?;
        let seal = AheadSeal { sealing: Arc::clone(&self.sealing), path };
        let mut open = OpenFile { file, seal, incarnation: start.incarnation, at_rest: false };
        let run = start.run.clone();
        open.write(&Entry::Began(start))?;
        self.open.insert(run, open);
        Ok(())
    }

    /// Appends an entry durably to the file of a run.
    pub(super) fn append(&mut self, run: &RunId, entry: &Entry) -> Result<(), StoreError> {
        match self.open.get_mut(run) {
            Some(open) => open.write(entry),
            None => Ok(()),
        }
    }

    /// Removes the file of a term that has ended.
    pub(super) fn remove(&mut self, run: &RunId) -> Result<(), StoreError> {
        self.open.remove(run).map_or(Ok(()), OpenFile::remove)
    }

    /// Ends the file of a term. The file stays until the copy has the state of this serial.
    pub(super) fn end(&mut self, run: &RunId, ending: TermEnding, serial: u64) -> Result<(), StoreError> {
        let Some(mut open) = self.open.remove(run) else { return Ok(()) };
        open.write(&Entry::Ended { stopped: ending == TermEnding::Stopped, serial })?;
        self.ended.push((serial, open));
        Ok(())
    }

    /// Removes the files of ended terms that are no longer needed, because the copy has the state of this serial.
    pub(super) fn copied(&mut self, serial: u64) -> Result<(), StoreError> {
        let (done, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.ended).into_iter().partition(|(at, _)| *at <= serial);
        self.ended = left;
        done.into_iter().try_for_each(|(_, open)| open.remove())
    }

    /// The contents of the files of the current terms.
    pub(super) fn going_on(&self) -> Result<Vec<TermFile>, StoreError> {
        self.open.values().filter_map(|open| open.read().transpose()).collect()
    }

    /// The path of the file of a run's current term.
    pub(super) fn path(&self, run: &RunId) -> Option<&Path> {
        Some(&self.open.get(run)?.seal.path)
    }

    /// The path of the file of a run's current term, for messages. Empty if there is none.
    pub(super) fn shown(&self, run: &RunId) -> String {
        let path = self.path(run).map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        path.map(|path| path.display().to_string()).unwrap_or_default()
    }

    /// Whether the state of a run's current term has a second copy.
    pub(super) fn is_copied(&self, run: &RunId) -> bool {
        self.path(run).is_some_and(|path| Origin::of(path).copied)
    }

    /// Records that the term of a run has ended in this process. If the file still exists, it stays. Other processes
    /// treat it as the file of a dead process.
    pub(super) fn rest(&mut self, run: &RunId) {
        if let Some(open) = self.open.get_mut(run) {
            open.at_rest = true;
            // Another process may add the results now.
            let _ = open.file.unlock();
        }
    }

    /// A term of this process that has not ended and whose store is no longer the current one. Returns its run, and the
    /// path of its file. `None` as `current` means that there is no store now.
    pub(super) fn lost(&self, current: Option<Incarnation>) -> Option<(RunId, String)> {
        let (run, _) = self.open.iter().find(|(_, open)| Some(open.incarnation) != current && !open.at_rest)?;
        Some((run.clone(), self.shown(run)))
    }

    /// Appends steps of a run that the store has lost. They follow the last line that the store had acknowledged.
    pub(super) fn append_last(&mut self, run: &RunId, steps: Vec<StoreStep>) -> Result<(), StoreError> {
        let Some(open) = self.open.get_mut(run) else { return Ok(()) };
        let Some(tip) = open.read()?.map(|file| file.tip().clone()) else { return Ok(()) };
        open.write(&Entry::Steps { steps, tip })
    }

    /// Releases the file of a run, so that it counts as the file of a dead process.
    pub(super) fn disown(&mut self, run: &RunId) {
        self.open.remove(run);
    }

    /// Releases the files of ended terms in another store, so that they count as the files of a dead process.
    pub(super) fn disown_ended(&mut self, current: Incarnation) {
        self.ended.retain(|(_, open)| open.incarnation == current);
        self.open.retain(|_, open| open.incarnation == current || !open.at_rest);
    }

    fn is_own(&self, path: &Path) -> bool {
        let ended = self.ended.iter().map(|(_, open)| open);
        self.open.values().chain(ended).any(|open| open.seal.path == path)
    }

    /// The files of this state that other processes have written.
    pub(super) fn of_others(&self) -> Result<FoundFiles, StoreError> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(FoundFiles::default()),
            entries => entries.map_err(failed("listing", &self.folder))?,
        };
        let mut found = FoundFiles::default();
        for entry in entries {
            let path = entry.map_err(failed("listing", &self.folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with(&self.name) || name.ends_with(UNUSED) || self.is_own(&path) {
                continue;
            }
            let Some(file) = read_left(&path, &self.sealing)? else { continue };
            if file.is_locked() { found.dead.push(file) } else { found.alive.push(file) }
        }
        found.dead.sort_by(|one: &TermFile, other| one.order().cmp(&other.order()));
        Ok(found)
    }
}

impl FoundFiles {
    /// Whether an empty store gets results from these files. Without its copy, a state that has one does not.
    pub(super) fn has_results(&self, with_copy: bool) -> bool {
        self.dead.iter().chain(&self.alive).any(|file| with_copy || !file.origin().copied)
    }
}

impl OpenFile {
    fn write(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let frame = self.seal.frame(entry)?;
        let written = self.file.write_all(&frame).and_then(|()| self.file.sync_data());
        written.map_err(failed("writing", &self.seal.path))
    }

    fn read(&self) -> Result<Option<TermFile>, StoreError> {
        let path = &self.seal.path;
        let bytes = match std::fs::read(path) {
            // Another process has added the results of a term at rest.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(failed("reading", path))?,
        };
        Ok(TermFile::new(path.clone(), None, self.seal.entries(&bytes)?))
    }

    fn remove(self) -> Result<(), StoreError> {
        match std::fs::remove_file(&self.seal.path) {
            // Another process has added the results of a term at rest.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(failed("removing", &self.seal.path)),
        }
    }
}

/// Reads a file, and locks it unless its process is alive. `None` if the file is empty.
fn read_left(path: &Path, sealing: &Arc<Sealing>) -> Result<Option<TermFile>, StoreError> {
    let mut file = match File::open(path) {
        // The process of the file has just ended.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed("opening", path))?,
    };
    let dead = match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(error)) => return Err(failed("locking", path)(error)),
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed("reading", path))?;
    let seal = AheadSeal { sealing: Arc::clone(sealing), path: path.to_owned() };
    Ok(TermFile::new(path.to_owned(), dead.then_some(file), seal.entries(&bytes)?))
}
