//! The files of runs in a directory: `.weft/runs/RUN/{header, plan, journal.EPOCH, summary}`.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, fcntl_lock};

use super::lock::holding_process;
use super::medium::{JournalSink, RunFiles};
use super::private::{PRIVATE, read_all, write_private};
use super::problems;
use crate::error::StoreError;
use crate::run::RunId;

/// The mode of the directory of runs: only its owner has access.
const PRIVATE_FOLDER: u32 = 0o700;
/// The directory of the runs that were set aside, beside the directory of the other runs.
const SET_ASIDE: &str = "set-aside";
/// The file that is locked while a process uses the directory.
const LOCK: &str = "lock";
/// The start of a journal's name. The epoch follows.
const JOURNAL: &str = "journal.";

/// The directory of all runs.
#[derive(Clone, Debug)]
pub(super) struct LocalFiles {
    runs: PathBuf,
}

impl LocalFiles {
    /// The files of the runs in `weft`.
    pub(super) fn new(weft: &Path) -> LocalFiles {
        LocalFiles { runs: weft.join("runs") }
    }

    fn folder(&self, run: &RunId) -> PathBuf {
        self.runs.join(run.as_str())
    }

    /// Creates the directory of a run.
    fn create(&self, folder: &Path) -> Result<(), StoreError> {
        fs::create_dir_all(folder).map_err(problems::creating(folder))?;
        self.keep_private()?;
        sync_folder(&self.runs)
    }

    /// Hides the directory from other users and from version control, because plans and journals may hold secrets.
    fn keep_private(&self) -> Result<(), StoreError> {
        // This call fails if the directory belongs to another user. The files in the directory are private in any case.
        let _ = fs::set_permissions(&self.runs, fs::Permissions::from_mode(PRIVATE_FOLDER));
        let ignored = self.runs.with_file_name(".gitignore");
        if ignored.exists() {
            return Ok(());
        }
        fs::write(&ignored, "*\n").map_err(problems::writing(&ignored))?;
        // The directories themselves may be new. Their contents are durable only when the names of the directories are
        // durable.
        let weft = self.runs.parent().unwrap_or(Path::new("."));
        sync_folder(weft)?;
        sync_folder(weft.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new(".")))
    }

    /// Takes the lock of the directory that contains the directory of runs, for a state that is stored elsewhere. The
    /// lock is held until the returned value is dropped. The returned value also contains the text that the last holder
    /// wrote.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another process has the lock.
    pub(super) fn lock(&self) -> Result<FolderLock, StoreError> {
        let weft = self.runs.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(&self.runs).map_err(problems::creating(&self.runs))?;
        self.keep_private()?;
        let path = weft.join(LOCK);
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(PRIVATE).open(&path);
        let file = open.map_err(problems::opening(&path))?;
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => {
                let holder = problems::unknown_holder(holding_process(&file));
                return Err(StoreError::Locked { path: path.display().to_string(), holder });
            }
            Err(error) => return Err(problems::locking(&path)(error.into())),
        }
        let content = read_all(&file).map_err(problems::reading(&path))?;
        let left = String::from_utf8(content).ok().filter(|left| !left.is_empty());
        Ok(FolderLock { file, path, left })
    }

    fn journal(&self, run: &RunId, epoch: u64) -> PathBuf {
        self.folder(run).join(format!("{JOURNAL}{epoch}"))
    }
}

impl RunFiles for LocalFiles {
    fn path(&self, name: &str) -> PathBuf {
        self.runs.join(name)
    }

    fn list(&self) -> Result<Vec<String>, StoreError> {
        let mut found = Vec::new();
        for run in names(&self.runs)? {
            let folder = self.runs.join(&run);
            if folder.is_dir() {
                found.extend(names(&folder)?.into_iter().map(|name| format!("{run}/{name}")));
            }
        }
        Ok(found)
    }

    fn read(&self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        names.iter().map(|name| read_file(&self.runs.join(name))).collect()
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let path = self.runs.join(name);
        let folder = path.parent().unwrap_or(&self.runs);
        if !folder.exists() {
            self.create(folder)?;
        }
        let mut fresh = path.as_os_str().to_owned();
        fresh.push(".new");
        write_private(Path::new(&fresh), content)?;
        fs::rename(&fresh, &path).map_err(problems::writing(&path))?;
        sync_folder(folder)
    }

    fn remove(&self, names: &[String]) -> Result<(), StoreError> {
        for name in names {
            let path = self.runs.join(name);
            match fs::remove_file(&path) {
                Ok(()) => sync_folder(path.parent().unwrap_or(&self.runs))?,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(problems::removing(&path)(error)),
            }
        }
        Ok(())
    }

    fn remove_run(&self, run: &RunId) -> Result<(), StoreError> {
        let folder = self.folder(run);
        let remove = || {
            fs::remove_file(folder.join("header"))?;
            fs::remove_dir_all(&folder)
        };
        remove().map_err(problems::removing(&folder))?;
        sync_folder(&self.runs)
    }

    fn set_aside(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        let target = self.runs.with_file_name(SET_ASIDE);
        fs::create_dir_all(&target).map_err(problems::creating(&target))?;
        let target = target.join(run.as_str());
        fs::rename(self.folder(run), &target).map_err(problems::moving(run, &target))?;
        sync_folder(&self.runs)?;
        sync_folder(&self.runs.with_file_name(SET_ASIDE))?;
        Ok(target)
    }

    fn epochs(&self, run: &RunId) -> Result<Vec<u64>, StoreError> {
        epochs(&self.folder(run))
    }

    fn read_journal(&self, run: &RunId, epoch: u64) -> Result<Vec<u8>, StoreError> {
        let path = self.journal(run, epoch);
        fs::read(&path).map_err(problems::reading(&path))
    }

    fn remove_journal(&self, run: &RunId, epoch: u64) -> Result<(), StoreError> {
        let path = self.journal(run, epoch);
        fs::remove_file(&path).map_err(problems::removing(&path))
    }

    fn start_journal(&self, run: &RunId, epoch: u64, frame: &[u8]) -> Result<Box<dyn JournalSink>, StoreError> {
        let path = self.journal(run, epoch);
        let create = || {
            let file = OpenOptions::new().read(true).write(true).create_new(true).mode(PRIVATE).open(&path)?;
            append(&file, 0, frame)?;
            file.sync_all()?;
            Ok(file)
        };
        let file = create().map_err(problems::writing(&path))?;
        sync_folder(&self.folder(run))?;
        if let Some(before) = self.epochs(run)?.into_iter().rfind(|before| *before < epoch) {
            free_room(&self.journal(run, before));
        }
        Ok(Box::new(LocalJournal { file, path, epoch }))
    }

    fn pack(&self, _run: &RunId) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The lock of a directory of runs.
#[derive(Debug)]
pub(super) struct FolderLock {
    file: File,
    path: PathBuf,
    /// The lock of the backend, if the last holder did not release it.
    pub(super) left: Option<String>,
}

impl FolderLock {
    /// Records the lock of the backend that this process holds. An empty `lock` means that this process holds none.
    pub(super) fn note(&self, lock: &str) -> Result<(), StoreError> {
        let write = || {
            self.file.write_all_at(lock.as_bytes(), 0)?;
            self.file.set_len(lock.len() as u64)?;
            self.file.sync_all()
        };
        write().map_err(problems::writing(&self.path))
    }
}

/// The journal of one term.
struct LocalJournal {
    file: File,
    path: PathBuf,
    epoch: u64,
}

impl JournalSink for LocalJournal {
    fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a frame, waits for fsync, and checks whether a later term has begun.
    fn append(&self, offset: u64, frame: &[u8]) -> Result<(), StoreError> {
        append(&self.file, offset, frame).map_err(|error| problems::write_failed(&self.path, &error))?;
        match epochs(self.path.parent().unwrap_or(Path::new("."))) {
            Ok(found) if found.last().is_some_and(|last| *last > self.epoch) => Err(problems::superseded(&self.path)),
            Ok(_) => Ok(()),
            Err(error) => Err(StoreError::Closed(error.to_string())),
        }
    }

    fn reserve(&self, from: u64, upto: u64) -> Result<(), StoreError> {
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, from, upto - from) {
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
            Err(error) => Err(problems::reserving_room(&self.path)(error.into())),
        }
    }

    fn close(&self, end: u64) {
        // If this call fails, the reserved room is freed when the file is removed.
        let _ = self.file.set_len(end);
    }
}

/// Frees the room that a journal has reserved behind its content. The process that wrote the journal must have died,
/// because a concurrent append could be cut off. If the journal cannot be opened, the room stays reserved until the run
/// is removed.
fn free_room(journal: &Path) {
    if let Ok(file) = OpenOptions::new().write(true).open(journal)
        && let Ok(found) = file.metadata()
    {
        let _ = file.set_len(found.len());
    }
}

/// Appends a frame durably. If the write fails, truncates the file durably to `offset`, so that no partial frame
/// remains.
///
/// # Errors
/// Returns an error unless the frame is durable. After an error, the caller must not append to this journal again.
fn append(file: &File, offset: u64, frame: &[u8]) -> io::Result<()> {
    if let Err(error) = file.write_all_at(frame, offset) {
        file.set_len(offset)?;
        file.sync_all()?;
        return Err(error);
    }
    // After a failed fsync, the contents of the pages are unknown, so even a truncation would not be reliable.
    file.sync_data()
}

/// The epochs with a journal in a run's directory, in ascending order.
fn epochs(folder: &Path) -> Result<Vec<u64>, StoreError> {
    let mut found: Vec<u64> =
        names(folder)?.iter().filter_map(|name| name.strip_prefix(JOURNAL)?.parse().ok()).collect();
    found.sort_unstable();
    Ok(found)
}

/// The names in a directory, sorted. Empty if the directory does not exist.
fn names(folder: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(problems::reading(folder)(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        found.push(entry.map_err(problems::reading(folder))?.file_name().to_string_lossy().into_owned());
    }
    found.sort();
    Ok(found)
}

/// The content of a file, or `None` if it does not exist.
pub(super) fn read_file(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(problems::reading(path)(error)),
    }
}

/// Makes the names in a directory durable.
fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    let sync = || File::open(folder)?.sync_all();
    sync().map_err(problems::writing(folder))
}
