//! The state file, through one descriptor that is opened once. The descriptor carries the lock of the operating system,
//! and all reads and writes use it. If this process closed another descriptor of the file, the lock would be lost
//! (POSIX). The file is not replaced by a rename, because a waiting `tofu` would then lock the old file.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};

use super::backup::Backup;
use super::medium::Document;
use super::private::{PRIVATE, read_all, write_private};
use super::{pending, problems};
use crate::error::StoreError;
use crate::remote::LockInfo;
use crate::run::Holder;
use crate::tfstate::{FormatDigit, find_format_digit};

/// The state files that this process has locked. The process must not open a second descriptor of such a file: closing
/// the second descriptor would release the lock of the first one.
static LOCKED_HERE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The first pause between two attempts to lock. Each further pause is twice as long, up to [`LONGEST_PAUSE`]. The
/// first pause is short enough for a waiting user and long enough to avoid a busy loop.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause between two attempts to lock.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The state file, locked.
#[derive(Debug)]
pub(super) struct StateHandle {
    file: File,
    path: PathBuf,
    canonical: PathBuf,
    lock_info: PathBuf,
    created: bool,
}

impl StateHandle {
    /// Opens and locks the file. Creates an empty file if necessary. Waits for the lock at most for `timeout`.
    ///
    /// # Errors
    /// [`StoreError::Locked`] with the holder that the lock file names. [`StoreError::Io`]. [`StoreError::Unfit`] on a
    /// network file system, unless `network` allows it.
    pub(super) fn lock(
        path: &Path,
        timeout: Duration,
        operation: &str,
        holder: &Holder,
        network: bool,
    ) -> Result<StateHandle, StoreError> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(problems::creating(parent))?;
        }
        let canonical = canonical(path)?;
        if !register(&canonical) {
            return Err(problems::locked_here(path));
        }
        let opened = open_locked(path, timeout).and_then(|(file, created)| {
            if !network && on_network(&file) {
                return Err(problems::network_file_system(path));
            }
            Ok((file, created))
        });
        let (file, created) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                unregister(&canonical);
                return Err(error);
            }
        };
        let handle = StateHandle { file, path: path.to_owned(), canonical, lock_info: lock_info_path(path), created };
        handle.write_lock_info(operation, holder)?;
        Ok(handle)
    }

    fn write_lock_info(&self, operation: &str, holder: &Holder) -> Result<(), StoreError> {
        let mut info = LockInfo::new(operation, holder);
        info.path = self.path.display().to_string();
        write_private(&self.lock_info, &info.to_json())
    }
}

impl Document for StateHandle {
    fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the locked file is still at its path. Another program, such as a version control checkout or an editor,
    /// may have replaced the file. The new file is not locked, and writes to the locked file would be lost.
    fn is_in_place(&self) -> bool {
        let place = |file: std::fs::Metadata| (file.dev(), file.ino());
        let held = self.file.metadata().map(place).ok();
        held.is_some() && held == std::fs::metadata(&self.path).map(place).ok()
    }

    fn read(&self) -> Result<Vec<u8>, StoreError> {
        read_all(&self.file).map_err(problems::reading(&self.path))
    }

    fn set_digit(&self, found: FormatDigit, digit: u8) -> Result<(), StoreError> {
        let write = || {
            self.file.write_all_at(&[digit], found.offset as u64)?;
            self.file.sync_data()
        };
        write().map_err(problems::writing(&self.path))
    }

    /// Writes in place, because a new file would not have the lock.
    fn write(&self, content: &[u8]) -> Result<(), StoreError> {
        let write = || {
            self.file.write_all_at(content, 0)?;
            self.file.set_len(content.len() as u64)?;
            self.file.sync_all()?;
            // A new file is durable only after its directory is synced, too.
            match self.canonical.parent().filter(|_| self.created) {
                Some(folder) => File::open(folder)?.sync_all(),
                None => Ok(()),
            }
        };
        write().map_err(problems::writing(&self.path))
    }

    fn replace(&self, content: &[u8]) -> Result<(), StoreError> {
        pending::write(self, content)
    }

    fn settle(&self) -> Result<Vec<u8>, StoreError> {
        pending::settle(self, self.read()?)
    }

    fn back_up(&self, content: &[u8], at: &Backup) -> Result<(), StoreError> {
        match at.path(&self.path) {
            Some(path) => write_private(&path, content),
            None => Ok(()),
        }
    }
}

impl Drop for StateHandle {
    fn drop(&mut self) {
        // Removed before the lock is released: afterwards, the file at this path could belong to another process.
        let _ = std::fs::remove_file(&self.lock_info);
        if self.created && self.file.metadata().is_ok_and(|file| file.len() == 0) {
            let _ = std::fs::remove_file(&self.path);
        }
        let _ = fcntl_lock(&self.file, FlockOperation::Unlock);
        unregister(&self.canonical);
    }
}

/// The path with its directory resolved. Neither the file nor its directory needs to exist.
pub(super) fn canonical(path: &Path) -> Result<PathBuf, StoreError> {
    if let Ok(found) = std::fs::canonicalize(path) {
        return Ok(found);
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = std::fs::canonicalize(parent).or_else(|_| std::path::absolute(parent));
    let folder = folder.map_err(problems::looking_for(parent))?;
    Ok(folder.join(path.file_name().unwrap_or_default()))
}

fn register(canonical: &Path) -> bool {
    LOCKED_HERE.lock().unwrap_or_else(PoisonError::into_inner).insert(canonical.to_owned())
}

fn unregister(canonical: &Path) {
    LOCKED_HERE.lock().unwrap_or_else(PoisonError::into_inner).remove(canonical);
}

/// Whether this process holds the lock of the file, so that it must not open the file again.
pub(super) fn is_locked_here(canonical: &Path) -> bool {
    LOCKED_HERE.lock().unwrap_or_else(PoisonError::into_inner).contains(canonical)
}

/// Opens and locks the file. If the file was replaced during the wait, opens the new file. Also returns whether the
/// file is new.
fn open_locked(path: &Path, timeout: Duration) -> Result<(File, bool), StoreError> {
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let created = !path.exists();
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(PRIVATE).open(path);
        let file = open.map_err(problems::opening(path))?;
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let held = file.metadata().map_err(problems::locking(path))?;
                let named = std::fs::metadata(path).map(|named| (named.dev(), named.ino())).ok();
                if named == Some((held.dev(), held.ino())) {
                    return Ok((file, created));
                }
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => {
                if start.elapsed() + pause > timeout {
                    let holder = who_holds(path, &file);
                    return Err(StoreError::Locked { path: path.display().to_string(), holder });
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(error) => return Err(problems::locking(path)(error.into())),
        }
    }
}

/// The holder according to the lock file and the operating system.
fn who_holds(path: &Path, file: &File) -> String {
    let process = holding_process(file);
    let info = std::fs::read(lock_info_path(path)).ok();
    let info: Option<LockInfo> = info.and_then(|text| serde_json::from_slice(&text).ok());
    match (info, process) {
        (Some(info), process) => problems::known_holder(&info.who, &info.operation, process, &info.created),
        (None, process) => problems::unknown_holder(process),
    }
}

/// The id of the process that has locked the file, if it is not this process.
pub(super) fn holding_process(file: &File) -> Option<u32> {
    let probe = Flock { start: 0, length: 0, pid: None, typ: FlockType::WriteLock, offset_type: FlockOffsetType::Set };
    let held = fcntl_getlk(file, &probe).ok().flatten()?;
    // The process id is unknown if the holder is in another process namespace.
    Some(held.pid.map(|pid| pid.as_raw_nonzero().get().unsigned_abs()).unwrap_or_default())
}

/// The path of OpenTofu's lock information for a state file: `.NAME.lock.info` beside it.
pub(super) fn lock_info_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_prefix('.').unwrap_or(&name);
    path.with_file_name(format!(".{name}.lock.info"))
}

/// Whether the file is on a network file system, if the operating system reports this.
#[cfg(target_os = "linux")]
fn on_network(file: &File) -> bool {
    /// The magic numbers that `statfs(2)` returns for NFS, SMB, CIFS, SMB2, 9P, Ceph, AFS and Coda.
    const NETWORK: [u64; 8] =
        [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x00c3_6400, 0x5346_414f, 0x7375_7245];
    rustix::fs::fstatfs(file).is_ok_and(|system| NETWORK.contains(&(system.f_type as u64 & 0xffff_ffff)))
}

#[cfg(not(target_os = "linux"))]
fn on_network(_: &File) -> bool {
    false
}

/// The format digit of the content, if it is a state.
pub(crate) fn digit_of(content: &[u8], path: &Path) -> Result<FormatDigit, StoreError> {
    Ok(find_format_digit(content, &path.display().to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_file_names() {
        assert_eq!(lock_info_path(Path::new("a/terraform.tfstate")), Path::new("a/.terraform.tfstate.lock.info"));
        assert_eq!(lock_info_path(Path::new(".x")), Path::new(".x.lock.info"));
    }
}
