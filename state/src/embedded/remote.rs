//! The medium of a state in a backend. The document and its lock have the same form as in OpenTofu. The files of runs
//! are objects beside the document. If the backend cannot store such objects, the files are in a directory on this
//! machine.
//!
//! Three mechanisms exclude a second writer:
//! - The lock of the backend, as long as all programs respect it.
//! - If the files are objects, each frame of a journal is an object of its own, which is created only if it is absent.
//!   After a process has taken the lock, it creates the next object of every open journal
//!   ([`objects::ObjectFiles::fence`]) before it writes anything else. A slow earlier writer then fails at its next
//!   frame, before it acknowledges anything.
//! - The document is written only if it has the version that this process has read.

mod background;
mod bridge;
mod holder;
mod known;
mod objects;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::backup::Backup;
use super::files::FolderLock;
use super::lock::digit_of;
use super::medium::{Document, Medium, RunFiles, Saver};
use super::options::Mode;
use super::problems;
use crate::error::StoreError;
use crate::remote::{
    Expected, LockAnswer, LockInfo, Object, ObjectVersion, RemoteState, UnreleasedLock, UnreleasedLocks, Written,
};
use crate::run::{Digest, Holder};
use crate::tfstate::FormatDigit;
use bridge::Bridge;
use holder::{Beats, HolderRecord};
use objects::{ObjectFiles, RUNS};

/// The first pause between two attempts to lock, as in OpenTofu. It doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between two attempts to lock.
const LONGEST_PAUSE: Duration = Duration::from_secs(16);

/// The options for opening the state of a backend.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    /// The state of a workspace.
    pub state: Arc<dyn RemoteState>,
    /// Whether to take the lock (`-lock`).
    pub locks: bool,
    /// How long to wait for the lock (`-lock-timeout`).
    pub lock_timeout: Duration,
    /// The name of the operation in the lock, such as `OperationTypeApply`.
    pub operation: String,
    /// The identity of this process.
    pub holder: Holder,
    /// The seal of states, journals and plans.
    pub sealing: Arc<weft_sealing::Sealing>,
    /// The directory of journals, for a backend that cannot store them.
    pub folder: PathBuf,
    /// The receiver of locks that could not be released.
    pub unreleased: UnreleasedLocks,
    /// The time between two saves of the state during a run, for a backend that cannot store journals. `None` means no
    /// saves.
    pub save_interval: Option<Duration>,
}

impl RemoteOptions {
    pub(super) fn mode(&self) -> Mode {
        let (sealing, save_interval) = (Arc::clone(&self.sealing), self.save_interval);
        Mode { backup: Backup::Never, sealing, source: None, save_interval }
    }
}

/// A state in a backend.
pub(crate) struct RemoteMedium {
    options: RemoteOptions,
    bridge: Arc<Bridge>,
    path: PathBuf,
    files: Files,
}

/// The location of the files of runs.
enum Files {
    /// As objects beside the document.
    Objects(Arc<ObjectFiles>),
    /// In a directory on this machine.
    Local(Arc<super::files::LocalFiles>),
}

impl fmt::Debug for RemoteMedium {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RemoteMedium({})", self.path.display())
    }
}

impl RemoteMedium {
    /// The medium for these options.
    ///
    /// # Errors
    /// Returns an error if the threads for requests cannot be started.
    pub(crate) fn new(options: RemoteOptions) -> Result<RemoteMedium, StoreError> {
        let bridge = Bridge::start()?;
        let place = options.state.place();
        let path = PathBuf::from(&place);
        let files = match options.state.objects() {
            Some(objects) => Files::Objects(Arc::new(ObjectFiles::new(objects, Arc::clone(&bridge), place))),
            None => Files::Local(Arc::new(super::files::LocalFiles::new(&options.folder))),
        };
        Ok(RemoteMedium { options, bridge, path, files })
    }

    /// The name of the state in the headers of its runs.
    pub(super) fn name(&self) -> String {
        self.options.state.place()
    }

    /// Takes the lock, and waits for it as long as the options allow. Takes over the lock of a dead process. Records
    /// this process before the first request for the lock: without this record, other processes could not find out that
    /// the holder is dead.
    fn take_lock(&self, folder: Option<&FolderLock>) -> Result<(Option<LockInfo>, Option<Beats>), StoreError> {
        let RemoteOptions { state, locks, operation, holder, .. } = &self.options;
        if !locks || !state.locks() {
            return Ok((None, None));
        }
        let wanted = LockInfo::new(operation, holder);
        let Files::Objects(files) = &self.files else {
            // The lock is recorded before it is taken, so that the next process knows which lock this process may have
            // left behind.
            let left = folder.and_then(|folder| folder.left.clone());
            self.release_left(left.as_deref(), &wanted)?;
            folder.map(|folder| folder.note(&wanted.id)).transpose()?;
            return Ok((Some(self.wait_for_lock(&wanted)?), None));
        };
        let beats = Beats::start(files, &self.bridge, HolderRecord::new(&wanted.id, holder))?;
        match self.wait_for_lock(&wanted) {
            Ok(info) => Ok((Some(info), Some(beats))),
            Err(error) => {
                beats.end();
                holder::forget(files, &self.bridge, &wanted.id)?;
                Err(error)
            }
        }
    }

    /// Releases a lock that an earlier process of this machine left behind. The current process has the lock of the
    /// directory, so the earlier process no longer uses the lock of the backend.
    fn release_left(&self, left: Option<&str>, wanted: &LockInfo) -> Result<(), StoreError> {
        let Some(left) = left else { return Ok(()) };
        let (remote, info) = (Arc::clone(&self.options.state), wanted.clone());
        if let LockAnswer::Held { holder, .. } = self.bridge.wait(async move { remote.lock(&info).await })?? {
            if holder.asked() == left {
                let (remote, id) = (Arc::clone(&self.options.state), holder.id);
                self.bridge.wait(async move { remote.unlock(&id).await })??;
            }
            return Ok(());
        }
        let (remote, id) = (Arc::clone(&self.options.state), wanted.id.clone());
        Ok(self.bridge.wait(async move { remote.unlock(&id).await })??)
    }

    fn wait_for_lock(&self, wanted: &LockInfo) -> Result<LockInfo, StoreError> {
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let (remote, info) = (Arc::clone(&self.options.state), wanted.clone());
            let held = match self.bridge.wait(async move { remote.lock(&info).await })?? {
                LockAnswer::Locked(info) => return Ok(info),
                LockAnswer::Held { holder, message } => (holder, message),
            };
            if let Some(info) = self.take_over(&held.0, wanted)? {
                return Ok(info);
            }
            if held.0.id.is_empty() || start.elapsed() + pause > self.options.lock_timeout {
                return Err(problems::held(&self.path, &held.0, wanted, &held.1));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Takes the lock from a dead process of Weft.
    fn take_over(&self, held: &LockInfo, wanted: &LockInfo) -> Result<Option<LockInfo>, StoreError> {
        let Files::Objects(files) = &self.files else { return Ok(None) };
        if held.id.is_empty() || !holder::is_dead(files, &self.bridge, held.asked())? {
            return Ok(None);
        }
        let (remote, dead, info) = (Arc::clone(&self.options.state), held.clone(), wanted.clone());
        match self.bridge.wait(async move { remote.take_over(&dead, &info).await })?? {
            LockAnswer::Locked(info) => {
                holder::replace(files, &self.bridge, held.asked())?;
                Ok(Some(info))
            }
            LockAnswer::Held { .. } => Ok(None),
        }
    }
}

impl Medium for RemoteMedium {
    fn path(&self) -> &Path {
        &self.path
    }

    fn lock(&self) -> Result<Box<dyn Document>, StoreError> {
        let folder = match &self.files {
            Files::Local(files) => Some(files.lock()?),
            Files::Objects(_) => None,
        };
        let (lock, beats) = self.take_lock(folder.as_ref())?;
        let content = RemoteContent {
            state: Arc::clone(&self.options.state),
            bridge: Arc::clone(&self.bridge),
            path: self.path.clone(),
            lock: lock.as_ref().map(|lock| lock.id.clone()),
            known: Mutex::default(),
        };
        let document = RemoteDocument {
            content: Arc::new(content),
            lock,
            files: match &self.files {
                Files::Objects(files) => Some(Arc::clone(files)),
                Files::Local(_) => None,
            },
            beats,
            folder,
            unreleased: self.options.unreleased.clone(),
        };
        if let Files::Objects(files) = &self.files {
            let (objects, state) = (Arc::clone(files.objects()), Arc::clone(&self.options.state));
            let found = self.bridge.wait(async move { tokio::try_join!(objects.list(RUNS), state.read()) })?;
            let (names, content) = found?;
            // `fence` returns whether there was an unfinished run. The earlier writer of such a run may have written
            // the document after `content` was read.
            if !files.fence(names)? {
                document.content.found(content);
            }
        }
        Ok(Box::new(document))
    }

    fn peek(&self) -> Result<(Vec<u8>, bool), StoreError> {
        let state = Arc::clone(&self.options.state);
        let found = self.bridge.wait(async move { state.read().await })??;
        let content = found.map(|found| found.content.to_vec()).unwrap_or_default();
        let guarded = digit_of(&content, &self.path).is_ok_and(FormatDigit::is_guarded);
        let held = match &self.files {
            Files::Objects(files) if guarded => holder::any_alive(files, &self.bridge)?,
            _ => false,
        };
        Ok((content, held))
    }

    fn is_superseded(&self) -> bool {
        matches!(&self.files, Files::Objects(files) if files.is_superseded())
    }

    fn files(&self) -> Arc<dyn RunFiles> {
        match &self.files {
            Files::Objects(files) => Arc::clone(files) as Arc<dyn RunFiles>,
            Files::Local(files) => Arc::clone(files) as Arc<dyn RunFiles>,
        }
    }
}

/// The locked document of a backend.
struct RemoteDocument {
    content: Arc<RemoteContent>,
    lock: Option<LockInfo>,
    files: Option<Arc<ObjectFiles>>,
    beats: Option<Beats>,
    folder: Option<FolderLock>,
    unreleased: UnreleasedLocks,
}

impl fmt::Debug for RemoteDocument {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RemoteDocument({})", self.content.path.display())
    }
}

/// The content of a document. The holder of the lock writes it, from one thread at a time.
struct RemoteContent {
    state: Arc<dyn RemoteState>,
    bridge: Arc<Bridge>,
    path: PathBuf,
    /// The id of the lock that this process holds.
    lock: Option<String>,
    known: Mutex<KnownDocument>,
}

/// What this process knows about the document.
#[derive(Default)]
struct KnownDocument {
    /// The content and version that this process has last read or written, or `None` if there is no document.
    now: Option<(Bytes, ObjectVersion)>,
    /// The digests of contents that were sent after `now` was read or written, with an unknown outcome.
    unsure: Vec<Digest>,
    /// Whether the content was read with the lock and has not been requested since.
    is_fresh: bool,
}

impl KnownDocument {
    /// The content, or empty if there is no document.
    fn content(&self) -> Vec<u8> {
        self.now.as_ref().map(|(content, _)| content.to_vec()).unwrap_or_default()
    }
}

impl RemoteContent {
    fn known(&self) -> MutexGuard<'_, KnownDocument> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the document that was read with the lock.
    fn found(&self, found: Option<Object>) {
        let now = found.map(|found| (found.content, found.version));
        *self.known() = KnownDocument { now, unsure: Vec::new(), is_fresh: true };
    }

    fn fetch(&self) -> Result<Option<(Bytes, ObjectVersion)>, StoreError> {
        let state = Arc::clone(&self.state);
        let found = self.bridge.wait(async move { state.read().await })??;
        Ok(found.map(|found| (found.content, found.version)))
    }

    fn send(&self, content: Bytes, known: &KnownDocument) -> Result<Written, StoreError> {
        let expected = known.now.as_ref().map_or(Expected::Absent, |(_, version)| Expected::Version(version.clone()));
        let (state, lock) = (Arc::clone(&self.state), self.lock.clone());
        Ok(self.bridge.wait(async move { state.write(content, &expected, lock.as_deref()).await })??)
    }

    fn put(&self, content: Bytes) -> Result<(), StoreError> {
        let mut known = self.known();
        let mut answer = self.send(content.clone(), &known);
        if matches!(answer, Ok(Written::Conflict)) && !known.unsure.is_empty() {
            // An earlier write may have taken effect, although it reported an error.
            let found = self.fetch()?;
            if found.as_ref().is_some_and(|(found, _)| known.unsure.contains(&Digest::of(found))) {
                known.now = found;
                known.unsure.clear();
                answer = self.send(content.clone(), &known);
            }
        }
        match answer {
            Ok(Written::Done(version)) => {
                *known = KnownDocument { now: Some((content, version)), ..KnownDocument::default() };
                Ok(())
            }
            Ok(Written::Conflict) => Err(StoreError::Overtaken(self.path.display().to_string())),
            Err(error) => {
                known.unsure.push(Digest::of(&content));
                Err(error)
            }
        }
    }
}

impl Saver for RemoteContent {
    fn save(&self, content: Bytes) -> Result<(), StoreError> {
        self.put(content)
    }
}

impl Document for RemoteDocument {
    fn path(&self) -> &Path {
        &self.content.path
    }

    /// Always `true`: the next write detects whether the document was replaced.
    fn is_in_place(&self) -> bool {
        true
    }

    fn read(&self) -> Result<Vec<u8>, StoreError> {
        let mut known = self.content.known();
        *known = KnownDocument { now: self.content.fetch()?, ..KnownDocument::default() };
        Ok(known.content())
    }

    fn current(&self) -> Result<Vec<u8>, StoreError> {
        let known = self.content.known();
        if known.unsure.is_empty() {
            return Ok(known.content());
        }
        drop(known);
        self.read()
    }

    /// Always `true`: the service replaces an object as a whole.
    fn is_atomic(&self) -> bool {
        self.files.is_some()
    }

    fn set_digit(&self, found: FormatDigit, digit: u8) -> Result<(), StoreError> {
        let content = self.content.known().now.as_ref().map(|(content, _)| content.to_vec());
        let Some(mut content) = content else { return Ok(()) };
        if let Some(at) = content.get_mut(found.offset) {
            *at = digit;
        }
        self.content.put(content.into())
    }

    /// Writes an empty state instead of empty content, because other tools consider an empty object damaged.
    fn write(&self, content: &[u8]) -> Result<(), StoreError> {
        if !content.is_empty() {
            return self.content.put(Bytes::copy_from_slice(content));
        }
        let known = self.content.known().now.as_ref().map(|(content, _)| content.clone());
        match known.map(|content| digit_of(&content, self.path())) {
            Some(found) => {
                let found = found?;
                self.set_digit(found, found.unguarded())
            }
            None => Ok(()),
        }
    }

    fn replace(&self, content: &[u8]) -> Result<(), StoreError> {
        self.write(content)
    }

    fn settle(&self) -> Result<Vec<u8>, StoreError> {
        let mut known = self.content.known();
        if std::mem::take(&mut known.is_fresh) {
            return Ok(known.content());
        }
        drop(known);
        self.read()
    }

    /// Does nothing: backends keep versions themselves.
    fn back_up(&self, _content: &[u8], _at: &Backup) -> Result<(), StoreError> {
        Ok(())
    }

    fn saver(&self) -> Option<Arc<dyn Saver>> {
        let needed = self.files.is_none() && self.content.state.is_saved_midway();
        needed.then(|| Arc::clone(&self.content) as Arc<dyn Saver>)
    }
}

impl Drop for RemoteDocument {
    /// Releases the lock. If the release fails, the record of the holder stays. From this record, the next process
    /// recognizes that the holder is dead, and takes over the lock.
    fn drop(&mut self) {
        // The segments of packed journals are removed at the same time.
        let _removal = self.files.as_ref().map(|files| {
            let packed = files.background().finish_packing();
            files.forget();
            files.background().remove_packed(packed)
        });
        let Some(lock) = self.lock.take() else { return };
        let RemoteContent { state, bridge, path, .. } = self.content.as_ref();
        let (state, id) = (Arc::clone(state), lock.id.clone());
        let released = match bridge.wait(async move { state.unlock(&id).await }) {
            Ok(released) => released.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Some(beats) = self.beats.take() {
            beats.end();
        }
        // If another process has taken over, this process no longer has the lock.
        let is_ours = !self.files.as_ref().is_some_and(|files| files.is_superseded());
        if let Err(error) = released
            && is_ours
        {
            let place = path.display().to_string();
            self.unreleased.add(UnreleasedLock { place, id: lock.id, error });
            return;
        }
        if let Some(folder) = &self.folder {
            let _ = folder.note("");
        }
        if let Some(files) = &self.files {
            let _ = holder::forget(files, bridge, lock.asked());
        }
    }
}
