//! The state file itself: one descriptor, opened once, that carries the operating system's lock and through which
//! everything is read and written. Closing any other descriptor of the file in this process would drop the lock
//! (POSIX), and a rename would leave a waiting `tofu` on the old file.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};
use serde::{Deserialize, Serialize};

use crate::run::Holder;
use crate::store::StoreError;
use crate::tfstate::{FormatDigit, WRITER_VERSION, find_format_digit};

/// State files that this process has locked: a second descriptor must not even be opened, since closing it would drop
/// the lock of the first.
static LOCKED_HERE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// First pause between two tries for the lock, doubled up to [`LONGEST_PAUSE`]: soon enough for people, and no busy
/// loop.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Longest pause between two tries for the lock.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// An error of the file system with what was being done.
pub(super) fn failed(doing: impl Into<String>) -> impl FnOnce(io::Error) -> StoreError {
    let doing = doing.into();
    move |error| StoreError::Io { doing, error: error.to_string() }
}

/// The state file, locked.
#[derive(Debug)]
pub(super) struct StateHandle {
    file: File,
    path: PathBuf,
    canonical: PathBuf,
    lock_info: PathBuf,
    created: bool,
}

/// What OpenTofu writes beside a locked state file; its own words as keys.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct LockInfo {
    #[serde(rename = "ID")]
    id: String,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    info: String,
    #[serde(default)]
    who: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    created: String,
    #[serde(default)]
    path: String,
}

impl StateHandle {
    /// Opens (creating an empty file if there is none) and locks, waiting at most `timeout`.
    ///
    /// # Errors
    /// [`StoreError::Locked`] with the holder as the lock file names it; [`StoreError::Io`];
    /// [`StoreError::Unfit`] on a network file system, unless `network` allows it.
    pub(super) fn lock(
        path: &Path,
        timeout: Duration,
        operation: &str,
        holder: &Holder,
        network: bool,
    ) -> Result<StateHandle, StoreError> {
        let shown = path.display();
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(failed(format!("creating {}", parent.display())))?;
        }
        let canonical = canonical(path)?;
        if !register(&canonical) {
            return Err(StoreError::Locked { path: shown.to_string(), holder: "this very process".to_owned() });
        }
        let opened = open_locked(path, timeout).and_then(|(file, created)| {
            if !network && on_network(&file) {
                return Err(StoreError::Unfit(format!(
                    "{shown} is on a network file system, whose locks do not reliably keep two runs apart. Keep the \
                     state on a local disk or in Redis, or allow it with WEFT_ALLOW_NETWORK_STATE=1"
                )));
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
        let info = LockInfo {
            id: uuid::Uuid::new_v4().to_string(),
            operation: operation.to_owned(),
            info: format!("process {}", holder.process),
            who: format!("{}@{}", holder.user, holder.machine),
            version: WRITER_VERSION.to_owned(),
            created: now_rfc3339(),
            path: self.path.display().to_string(),
        };
        let text = serde_json::to_vec(&info).unwrap_or_default();
        write_private(&self.lock_info, &text)
    }

    /// The path as given.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path still names the locked file. A file that another program has put there (a version control
    /// checkout, an editor) is not locked, and what is written to the locked one would be lost.
    pub(super) fn is_in_place(&self) -> bool {
        let place = |file: std::fs::Metadata| (file.dev(), file.ino());
        let held = self.file.metadata().map(place).ok();
        held.is_some() && held == std::fs::metadata(&self.path).map(place).ok()
    }

    /// The whole content.
    pub(super) fn read(&self) -> Result<Vec<u8>, StoreError> {
        read_all(&self.file).map_err(failed(format!("reading {}", self.path.display())))
    }

    /// Overwrites the format digit, durably.
    pub(super) fn set_digit(&self, found: FormatDigit, digit: u8) -> Result<(), StoreError> {
        let write = || {
            self.file.write_all_at(&[digit], found.offset as u64)?;
            self.file.sync_data()
        };
        write().map_err(failed(format!("writing {}", self.path.display())))
    }

    /// Replaces the whole content in place, durably.
    pub(super) fn write(&self, content: &[u8]) -> Result<(), StoreError> {
        let write = || {
            self.file.write_all_at(content, 0)?;
            self.file.set_len(content.len() as u64)?;
            self.file.sync_all()?;
            // The name of a new file lasts only when its folder is written too.
            match self.canonical.parent().filter(|_| self.created) {
                Some(folder) => File::open(folder)?.sync_all(),
                None => Ok(()),
            }
        };
        write().map_err(failed(format!("writing {}", self.path.display())))
    }
}

impl Drop for StateHandle {
    fn drop(&mut self) {
        // Before the lock goes: afterwards both could be another's.
        let _ = std::fs::remove_file(&self.lock_info);
        if self.created && self.file.metadata().is_ok_and(|file| file.len() == 0) {
            let _ = std::fs::remove_file(&self.path);
        }
        let _ = fcntl_lock(&self.file, FlockOperation::Unlock);
        unregister(&self.canonical);
    }
}

/// The path with its folder resolved; neither need exist.
pub(super) fn canonical(path: &Path) -> Result<PathBuf, StoreError> {
    if let Ok(found) = std::fs::canonicalize(path) {
        return Ok(found);
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = std::fs::canonicalize(parent).or_else(|_| std::path::absolute(parent));
    let folder = folder.map_err(failed(format!("looking for {}", parent.display())))?;
    Ok(folder.join(path.file_name().unwrap_or_default()))
}

fn register(canonical: &Path) -> bool {
    LOCKED_HERE.lock().unwrap_or_else(PoisonError::into_inner).insert(canonical.to_owned())
}

fn unregister(canonical: &Path) {
    LOCKED_HERE.lock().unwrap_or_else(PoisonError::into_inner).remove(canonical);
}

/// Whether this process holds the lock of the file, so that nobody here may open it again.
pub(super) fn is_locked_here(canonical: &Path) -> bool {
    LOCKED_HERE.lock().unwrap_or_else(PoisonError::into_inner).contains(canonical)
}

/// Opens and locks; also says whether the file was made just now. A file that was replaced while we waited is opened
/// anew.
fn open_locked(path: &Path, timeout: Duration) -> Result<(File, bool), StoreError> {
    let doing = || format!("locking {}", path.display());
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let created = !path.exists();
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(PRIVATE).open(path);
        let file = open.map_err(failed(format!("opening {}", path.display())))?;
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let held = file.metadata().map_err(failed(doing()))?;
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
            Err(error) => return Err(failed(doing())(error.into())),
        }
    }
}

/// The holder, from the lock file and from the operating system.
fn who_holds(path: &Path, file: &File) -> String {
    let process = holding_process(file).map(|process| format!("process {process}"));
    let info = std::fs::read(lock_info_path(path)).ok();
    let info: Option<LockInfo> = info.and_then(|text| serde_json::from_slice(&text).ok());
    match (info, process) {
        (Some(info), process) => format!(
            "{} ({}, {}{})",
            info.who,
            info.operation,
            process.map(|process| process + ", since ").unwrap_or_default(),
            info.created
        ),
        (None, Some(process)) => process,
        (None, None) => "another process".to_owned(),
    }
}

/// The process that has the file locked, if another one has.
pub(super) fn holding_process(file: &File) -> Option<u32> {
    let probe = Flock { start: 0, length: 0, pid: None, typ: FlockType::WriteLock, offset_type: FlockOffsetType::Set };
    let held = fcntl_getlk(file, &probe).ok().flatten()?;
    // A lock held in another process namespace has no number here, and is held all the same.
    Some(held.pid.map(|pid| pid.as_raw_nonzero().get().unsigned_abs()).unwrap_or_default())
}

/// Where OpenTofu keeps the lock information of a state file: `.NAME.lock.info` beside it.
pub(super) fn lock_info_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_prefix('.').unwrap_or(&name);
    path.with_file_name(format!(".{name}.lock.info"))
}

/// Who may read what is written here: its owner alone, since all of it may hold secrets.
pub(super) const PRIVATE: u32 = 0o600;

/// Writes a file that only its owner may read, also when it was there and others could read it.
pub(super) fn write_private(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    use std::io::Write as _;
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).mode(PRIVATE).open(path)?;
        let kind = file.metadata()?;
        if kind.is_file() && kind.mode() & 0o777 != PRIVATE {
            file.set_permissions(std::fs::Permissions::from_mode(PRIVATE))?;
        }
        if kind.is_file() {
            file.set_len(0)?;
        }
        file.write_all(content)?;
        file.sync_all()
    };
    write().map_err(failed(format!("writing {}", path.display())))
}

/// Reads from the start whatever the descriptor's position.
pub(super) fn read_all(file: &File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let mut content = vec![0; usize::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?];
    let mut filled = 0;
    while filled < content.len() {
        match file.read_at(&mut content[filled..], filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    content.truncate(filled);
    Ok(content)
}

/// Whether the file lives on a network file system, as far as the operating system tells.
#[cfg(target_os = "linux")]
fn on_network(file: &File) -> bool {
    /// NFS, SMB, CIFS, SMB2, 9P, Ceph, AFS, Coda: magic numbers of `statfs(2)`.
    const NETWORK: [u64; 8] =
        [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x00c3_6400, 0x5346_414f, 0x7375_7245];
    rustix::fs::fstatfs(file).is_ok_and(|system| NETWORK.contains(&(system.f_type as u64 & 0xffff_ffff)))
}

#[cfg(not(target_os = "linux"))]
fn on_network(_: &File) -> bool {
    false
}

/// The time as OpenTofu writes it into the lock file.
fn now_rfc3339() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:09}Z", since.subsec_nanos())
}

/// Year, month and day of a number of days since 1970 in the Gregorian calendar: whole 400-year cycles first, counted
/// from a first of March, so that the leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (cycle, day_of_cycle) = (shifted / 146_097, shifted % 146_097);
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (cycle * 400 + year_of_cycle + u64::from(month <= 2), month, day)
}

/// The format digit of a content, if it is a state at all.
pub(super) fn digit_of(content: &[u8], path: &Path) -> Result<FormatDigit, StoreError> {
    Ok(find_format_digit(content, &path.display().to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(11_017), (2000, 3, 1));
        assert_eq!(civil(20_453), (2025, 12, 31));
    }

    #[test]
    fn lock_file_names() {
        assert_eq!(lock_info_path(Path::new("a/terraform.tfstate")), Path::new("a/.terraform.tfstate.lock.info"));
        assert_eq!(lock_info_path(Path::new(".x")), Path::new(".x.lock.info"));
    }
}
