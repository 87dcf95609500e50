//! A spool in a file, which only its owner may read.
//!
//! Each frame of the file has the length of its payload (4 bytes, little-endian), a digest of the payload, and the
//! payload. The payload is a sealed record. The record has the time in seconds since 1970 (8 bytes, little-endian) and
//! a protocol frame. A protocol frame with a greeting stores a result: the greeting names the process that made the
//! result. A protocol frame without a greeting lists tasks as [`Report::Returned`]: the results of these tasks are
//! forgotten. Reading stops at an incomplete frame of the file, because such a frame was never reported as durable.
//!
//! A lock file beside the spool is locked while the process lives, so that two processes never share a spool.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rustix::fs::{FallocateFlags, fallocate};
use weft_graph_format::framed::{first_payload, framed};
use weft_graph_format::run::RunId;
use weft_protocol::{Greeting, Report, RunReports, Task, WorkerFrame};

use super::problems::{SpoolError, UnreadableRecord};
use super::{Spool, SpoolSeal, SpoolWork, SpooledResult};

/// The start of the names of spools.
const PREFIX: &str = "results-";
/// The end of the name of the locked file.
const LOCK: &str = ".lock";
/// The end of the name of a file that is being written.
const NEW: &str = ".new";
/// Only the owner has access: results contain values.
const PRIVATE: u32 = 0o600;
/// The maximum size of a spool, in bytes. This is enough for several hundred results, even if the largest have
/// megabytes. A worker has at most 256 unacknowledged results of a run.
const LARGEST: u64 = 1 << 30;
/// The minimum size, in bytes, of a file that is rewritten to remove forgotten results. The file is rewritten if
/// forgotten results are more than half of it.
const WORTH_SHRINKING: u64 = 16 << 20;
/// The disk space that a spool reserves, in bytes. Because of this reserve, a disk that fills up during a run does not
/// cost results. The space is enough for 256 results of 64 KiB. The journal of an embedded store reserves space in
/// steps of the same size.
const ROOM: u64 = 16 << 20;
/// How long results wait for a coordinator, in seconds: 30 days. Older results are dropped when the spool is opened,
/// because their runs are unlikely to be resumed.
const LONGEST_WAIT: u64 = 30 * 24 * 3600;

/// The results in a spool when it was opened.
#[derive(Debug, Default)]
pub struct FoundResults {
    /// The results that no coordinator has acknowledged.
    pub results: Vec<SpooledResult>,
    /// The number of results that waited too long and are dropped.
    pub outdated: usize,
    /// Why no disk space is reserved for the spool. Without the reserve, results may not fit when they have to be
    /// written.
    pub without_room: Option<SpoolError>,
}

/// A spool in a file.
pub struct FileSpool {
    path: PathBuf,
    seal: Arc<dyn SpoolSeal>,
    inner: Mutex<Inner>,
    /// The lock file, which is locked while this value exists.
    _lock: File,
}

struct Inner {
    file: File,
    length: u64,
    /// The lengths of the frames whose results are still wanted.
    wanted: BTreeMap<(RunId, Task), u64>,
}

impl fmt::Debug for FileSpool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "FileSpool({})", self.path.display())
    }
}

/// A frame of the file, decoded.
struct Entry {
    since: u64,
    frame: WorkerFrame,
    /// The whole frame.
    bytes: Vec<u8>,
}

fn io_error(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> SpoolError {
    move |error| SpoolError::Io { doing, path: path.display().to_string(), error }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

impl FileSpool {
    /// Opens the spool of the worker with this name in a folder, and reads the results that earlier processes left.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be used, another process uses the spool, or its records cannot be
    /// decrypted.
    pub fn open(folder: &Path, name: &str, seal: Arc<dyn SpoolSeal>) -> Result<(FileSpool, FoundResults), SpoolError> {
        std::fs::create_dir_all(folder).map_err(io_error("cannot create", folder))?;
        let path = folder.join(format!("{PREFIX}{name}"));
        let lock = lock(&folder.join(format!("{PREFIX}{name}{LOCK}")), &path)?;
        let mut wanted: BTreeMap<(RunId, Task), Entry> = BTreeMap::new();
        for entry in read(&path, seal.as_ref())? {
            match entry.kept() {
                Some(SpooledResult { run, task, .. }) => drop(wanted.insert((run, task), entry)),
                None => entry.forgotten().for_each(|key| drop(wanted.remove(&key))),
            }
        }
        let before = wanted.len();
        let oldest = now().saturating_sub(LONGEST_WAIT);
        wanted.retain(|_, entry| entry.since >= oldest);
        let outdated = before - wanted.len();
        let results = wanted.values().filter_map(Entry::kept).collect();
        let lengths = wanted.iter().map(|(key, entry)| (key.clone(), entry.bytes.len() as u64)).collect();
        let frames: Vec<Vec<u8>> = wanted.into_values().map(|entry| entry.bytes).collect();
        let file = replace(&path, &frames)?;
        let length = frames.iter().map(|frame| frame.len() as u64).sum();
        let without_room = reserve(&file, length).err().map(io_error("cannot reserve room for", &path));
        let found = FoundResults { results, outdated, without_room };
        let inner = Mutex::new(Inner { file, length, wanted: lengths });
        Ok((FileSpool { path, seal, inner, _lock: lock }, found))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn frame(&self, since: u64, frame: WorkerFrame) -> Result<Vec<u8>, SpoolError> {
        let mut plain = since.to_le_bytes().to_vec();
        plain.extend(frame.encode());
        let payload = self.seal.seal(&plain).map_err(SpoolError::Unsealed)?;
        framed(&payload).ok_or(SpoolError::ResultTooLarge)
    }

    fn append(&self, inner: &mut Inner, frames: &[Vec<u8>], durable: bool) -> Result<(), SpoolError> {
        let bytes = frames.concat();
        let written = inner.file.write_all(&bytes).and_then(|()| if durable { inner.file.sync_data() } else { Ok(()) });
        if let Err(error) = written {
            // Readers would stop at a partly written frame, and not find later frames.
            let _ = inner.file.set_len(inner.length);
            return Err(io_error("cannot write", &self.path)(error));
        }
        inner.length += bytes.len() as u64;
        Ok(())
    }

    /// Shrinks the file: empties it if no result is needed, or rewrites it if forgotten results are most of it.
    fn shrink(&self, inner: &mut Inner) -> Result<(), SpoolError> {
        let wanted: u64 = inner.wanted.values().sum();
        if inner.wanted.is_empty() && inner.length > 0 {
            inner.file.set_len(0).map_err(io_error("cannot truncate", &self.path))?;
            inner.length = 0;
            self.reserve_again(inner);
        } else if inner.length > WORTH_SHRINKING && wanted * 2 < inner.length {
            let mut latest: BTreeMap<(RunId, Task), Vec<u8>> = BTreeMap::new();
            for entry in read(&self.path, self.seal.as_ref())? {
                if let Some(SpooledResult { run, task, .. }) = entry.kept()
                    && inner.wanted.contains_key(&(run.clone(), task))
                {
                    latest.insert((run, task), entry.bytes);
                }
            }
            let frames: Vec<Vec<u8>> = latest.into_values().collect();
            inner.file = replace(&self.path, &frames)?;
            inner.length = frames.iter().map(|frame| frame.len() as u64).sum();
            self.reserve_again(inner);
        }
        Ok(())
    }

    /// Reserves disk space again after the file became shorter, because shortening the file frees its reserve.
    fn reserve_again(&self, inner: &Inner) {
        if let Err(error) = reserve(&inner.file, inner.length) {
            tracing::warn!("{}", io_error("cannot reserve room for", &self.path)(error));
        }
    }
}

impl Spool for FileSpool {
    fn is_sealed(&self) -> bool {
        self.seal.seals()
    }

    fn write(&self, work: &SpoolWork) -> Result<(), SpoolError> {
        let mut inner = self.inner.lock();
        let forget: Vec<_> = work.forget.iter().filter(|key| inner.wanted.remove(*key).is_some()).cloned().collect();
        if inner.wanted.is_empty() {
            self.shrink(&mut inner)?;
        } else if !forget.is_empty() {
            let returned = forget.into_iter().map(|(run, task)| (run, Report::Returned(task)));
            let frame = self.frame(now(), WorkerFrame::of_reports(returned))?;
            // If this frame is lost, the only effect is that a result appears again and is acknowledged again.
            self.append(&mut inner, &[frame], false)?;
            self.shrink(&mut inner)?;
        }
        let mut frames = Vec::new();
        for kept in &work.keep {
            frames.push(self.frame(now(), frame_of(kept))?);
        }
        let size: u64 = frames.iter().map(|frame| frame.len() as u64).sum();
        if inner.length + size > LARGEST {
            return Err(SpoolError::Full { path: self.path.display().to_string(), most: LARGEST });
        }
        if !frames.is_empty() {
            self.append(&mut inner, &frames, true)?;
        }
        for (kept, frame) in work.keep.iter().zip(&frames) {
            inner.wanted.insert((kept.run.clone(), kept.task), frame.len() as u64);
        }
        Ok(())
    }
}

/// A result as a frame of the protocol.
fn frame_of(kept: &SpooledResult) -> WorkerFrame {
    let SpooledResult { run, task, maker, result } = kept;
    let report = Report::Result { task: *task, result: Arc::clone(result) };
    WorkerFrame {
        greeting: Some(Greeting { incarnation: maker.clone(), ..Greeting::default() }),
        reports: vec![RunReports { run: run.clone(), reports: vec![report] }],
        ..WorkerFrame::default()
    }
}

impl Entry {
    /// The result that the frame stores, if it stores a result.
    fn kept(&self) -> Option<SpooledResult> {
        let maker = self.frame.greeting.as_ref()?.incarnation.clone();
        let RunReports { run, reports } = self.frame.reports.first()?;
        let Some(Report::Result { task, result }) = reports.first() else { return None };
        Some(SpooledResult { run: run.clone(), task: *task, maker, result: Arc::clone(result) })
    }

    /// The tasks that the frame forgets.
    fn forgotten(&self) -> impl Iterator<Item = (RunId, Task)> {
        self.frame.reports.iter().flat_map(|of_run| {
            of_run.reports.iter().filter_map(move |report| match report {
                Report::Returned(task) => Some((of_run.run.clone(), *task)),
                _ => None,
            })
        })
    }
}

/// Locks a spool for this process.
fn lock(path: &Path, spool: &Path) -> Result<File, SpoolError> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(PRIVATE).open(path);
    let file = file.map_err(io_error("cannot open", path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(SpoolError::InUse(spool.display().to_string())),
        Err(TryLockError::Error(error)) => Err(io_error("cannot lock", path)(error)),
    }
}

/// The complete frames of a file. A missing file has no frames.
fn read(path: &Path, seal: &dyn SpoolSeal) -> Result<Vec<Entry>, SpoolError> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file.and_then(|mut file| file.read_to_end(&mut bytes)).map_err(io_error("cannot read", path))?,
    };
    let (mut entries, mut rest) = (Vec::new(), bytes.as_slice());
    while let Some((payload, behind)) = first_payload(rest) {
        let failed = |error| SpoolError::Sealed { path: path.display().to_string(), error };
        let plain = seal.open(payload).map_err(|error| failed(UnreadableRecord::Sealed(error)))?;
        let unknown = || failed(UnreadableRecord::Newer);
        let (since, frame) = plain.split_first_chunk().ok_or_else(unknown)?;
        let frame = WorkerFrame::decode(frame).map_err(|_| unknown())?;
        let bytes = rest[..rest.len() - behind.len()].to_vec();
        entries.push(Entry { since: u64::from_le_bytes(*since), frame, bytes });
        rest = behind;
    }
    Ok(entries)
}

/// Reserves disk space after the end of a file. Does nothing on file systems that cannot reserve space.
fn reserve(file: &File, length: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::KEEP_SIZE, length, ROOM) {
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Replaces a file as a whole, durably. Returns the new file, positioned at its end.
fn replace(path: &Path, frames: &[Vec<u8>]) -> Result<File, SpoolError> {
    let new = path.with_file_name(format!("{}{NEW}", path.file_name().unwrap_or_default().to_string_lossy()));
    let write = || -> io::Result<File> {
        let mut file = OpenOptions::new().append(true).create(true).mode(PRIVATE).open(&new)?;
        file.set_len(0)?;
        file.write_all(&frames.concat())?;
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(file)
    };
    write().map_err(io_error("cannot write", path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use weft_graph_format::stored::Opaque;
    use weft_protocol::TaskResult;

    use super::super::{PlainSpool, SealError};
    use super::*;

    /// Encrypts with a single byte.
    struct Key(u8);

    impl SpoolSeal for Key {
        fn seals(&self) -> bool {
            true
        }

        fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, SealError> {
            Ok([self.0].into_iter().chain(plain.iter().map(|byte| byte ^ self.0)).collect())
        }

        fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
            match sealed.split_first() {
                Some((key, rest)) if *key == self.0 => Ok(rest.iter().map(|byte| byte ^ self.0).collect()),
                _ => Err("wrong key".into()),
            }
        }
    }

    fn result(operation: u32, text: &str) -> SpooledResult {
        let result = Arc::new(TaskResult::failed(Opaque(text.as_bytes().to_vec())));
        SpooledResult {
            run: RunId::parse("r").unwrap(),
            task: Task::new(operation, 1),
            maker: "one".to_owned(),
            result,
        }
    }

    fn keep(results: &[SpooledResult]) -> SpoolWork {
        SpoolWork { keep: results.to_vec(), forget: Vec::new() }
    }

    fn forget(results: &[SpooledResult]) -> SpoolWork {
        SpoolWork { keep: Vec::new(), forget: results.iter().map(|kept| (kept.run.clone(), kept.task)).collect() }
    }

    fn open(folder: &Path) -> (FileSpool, Vec<SpooledResult>) {
        let (spool, found) = FileSpool::open(folder, "w", Arc::new(PlainSpool)).unwrap();
        assert_eq!(found.outdated, 0);
        (spool, found.results)
    }

    #[test]
    fn results_outlive_the_process_until_they_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (result(1, "a"), result(2, "b"));
        let (spool, found) = open(folder.path());
        assert_eq!(found, []);
        spool.write(&keep(&[one.clone(), two.clone()])).unwrap();
        assert_eq!(std::fs::metadata(spool.path()).unwrap().permissions().mode() & 0o777, PRIVATE);
        drop(spool);
        let (spool, found) = open(folder.path());
        assert_eq!(found, [one.clone(), two.clone()]);
        spool.write(&forget(std::slice::from_ref(&one))).unwrap();
        drop(spool);
        let (spool, found) = open(folder.path());
        assert_eq!(found, std::slice::from_ref(&two));
        spool.write(&forget(&[two])).unwrap();
        assert_eq!(std::fs::metadata(spool.path()).unwrap().len(), 0);
        drop(spool);
        assert_eq!(open(folder.path()).1, []);
    }

    #[test]
    fn an_incomplete_frame_ends_the_file_and_nothing_before_it_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (result(1, "a"), result(2, "b"));
        let (spool, _) = open(folder.path());
        spool.write(&keep(std::slice::from_ref(&one))).unwrap();
        let whole = std::fs::metadata(spool.path()).unwrap().len() as usize;
        spool.write(&keep(std::slice::from_ref(&two))).unwrap();
        let path = spool.path().to_owned();
        drop(spool);
        let bytes = std::fs::read(&path).unwrap();
        for length in whole..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let (spool, found) = open(folder.path());
            assert_eq!(found, std::slice::from_ref(&one), "{length} bytes");
            // Frames that are written after the incomplete frame are found.
            spool.write(&keep(std::slice::from_ref(&two))).unwrap();
            drop(spool);
            assert_eq!(open(folder.path()).1.len(), 2);
        }
    }

    #[test]
    fn room_is_reserved_before_results_need_it() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let (spool, found) = FileSpool::open(folder.path(), "w", Arc::new(PlainSpool)).unwrap();
        assert!(found.without_room.is_none());
        let allocated = || std::fs::metadata(spool.path()).map(|found| (found.blocks() * 512, found.len())).unwrap();
        if allocated().0 == 0 {
            return println!("SKIPPED: this file system reserves no room");
        }
        let one = result(1, "a");
        for (step, work) in [SpoolWork::default(), keep(std::slice::from_ref(&one)), forget(&[one])].iter().enumerate()
        {
            spool.write(work).unwrap();
            let (blocks, length) = allocated();
            assert!(blocks >= ROOM && length < 4096, "step {step}: {blocks} bytes are allocated for {length}");
        }
    }

    #[test]
    fn two_processes_do_not_share_a_spool() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = open(folder.path());
        let again = FileSpool::open(folder.path(), "w", Arc::new(PlainSpool)).map(|_| ());
        assert!(matches!(again, Err(SpoolError::InUse(used)) if used == spool.path().display().to_string()));
        assert!(FileSpool::open(folder.path(), "v", Arc::new(PlainSpool)).is_ok());
    }

    #[test]
    fn sealed_results_need_their_key_and_stay_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = FileSpool::open(folder.path(), "w", Arc::new(Key(7))).unwrap();
        spool.write(&keep(&[result(1, "a secret")])).unwrap();
        let path = spool.path().to_owned();
        drop(spool);
        assert!(!String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains("secret"));
        let wrong = FileSpool::open(folder.path(), "w", Arc::new(Key(8))).map(|_| ());
        assert!(matches!(wrong, Err(SpoolError::Sealed { .. })), "{wrong:?}");
        let (_, found) = FileSpool::open(folder.path(), "w", Arc::new(Key(7))).unwrap();
        assert_eq!(found.results.len(), 1);
    }

    #[test]
    fn results_that_waited_for_too_long_are_dropped_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = open(folder.path());
        let old = spool.frame(now() - LONGEST_WAIT - 10, frame_of(&result(1, "a"))).unwrap();
        spool.write(&keep(&[result(2, "b")])).unwrap();
        spool.append(&mut spool.inner.lock(), &[old], true).unwrap();
        drop(spool);
        let (_, found) = FileSpool::open(folder.path(), "w", Arc::new(PlainSpool)).unwrap();
        assert_eq!((found.results, found.outdated), (vec![result(2, "b")], 1));
    }

    #[test]
    fn a_file_does_not_grow_with_forgotten_results() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = open(folder.path());
        spool.write(&keep(&[result(0, "kept")])).unwrap();
        let large = "x".repeat(1 << 20);
        for operation in 1..40 {
            let next = result(operation, &large);
            spool.write(&keep(std::slice::from_ref(&next))).unwrap();
            spool.write(&forget(&[next])).unwrap();
        }
        assert!(std::fs::metadata(spool.path()).unwrap().len() < 2 * WORTH_SHRINKING);
        drop(spool);
        assert_eq!(open(folder.path()).1, [result(0, "kept")]);
    }
}
