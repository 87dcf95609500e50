//! Detects whether the files of a package have changed since they were hashed, without reading them again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::checksum::{self, Checksum};

/// The files of a package, with the checksum that they had when they were read.
#[derive(Debug)]
pub struct HashedFiles {
    checksum: Checksum,
    seen: Mutex<Fingerprint>,
}

impl HashedFiles {
    /// `fingerprint` was taken before the files with this checksum were read.
    pub(crate) fn new(fingerprint: Fingerprint, checksum: Checksum) -> HashedFiles {
        HashedFiles { checksum, seen: Mutex::new(fingerprint) }
    }

    /// Whether the files still have their checksum. If the fingerprint differs, the files are read again, because a new
    /// hard link or another owner changes the fingerprint without changing the contents.
    pub fn are_unchanged(&self) -> bool {
        let mut seen = self.seen.lock();
        let Ok(now) = Fingerprint::of(&seen.directory) else { return false };
        if *seen == now {
            return true;
        }
        let same = checksum::of_directory(&seen.directory).is_ok_and(|checksum| checksum == self.checksum);
        if same {
            *seen = now;
        }
        same
    }
}

/// Two packages are equal if their contents are equal.
impl PartialEq for HashedFiles {
    fn eq(&self, other: &HashedFiles) -> bool {
        self.checksum == other.checksum
    }
}

impl Eq for HashedFiles {}

/// Identity, size and times of each file below a directory. Writing to a file or replacing it changes one of these. In
/// particular, the kernel sets the time of the last change of an inode, and an ordinary program cannot set this time
/// back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    directory: PathBuf,
    files: BTreeMap<PathBuf, [i64; 7]>,
}

impl Fingerprint {
    /// The fingerprint of the current files below a directory. Take the fingerprint before the files are hashed, so
    /// that it covers the content that is hashed.
    ///
    /// # Errors
    /// Returns an error if a directory cannot be listed, or if a file's metadata cannot be read.
    pub(crate) fn of(directory: &Path) -> io::Result<Fingerprint> {
        let mut files = BTreeMap::new();
        let mut pending = vec![directory.canonicalize()?];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    pending.push(entry.path());
                } else {
                    files.insert(entry.path(), identity(&std::fs::metadata(entry.path())?));
                }
            }
        }
        Ok(Fingerprint { directory: directory.to_owned(), files })
    }
}

#[cfg(unix)]
fn identity(file: &std::fs::Metadata) -> [i64; 7] {
    use std::os::unix::fs::MetadataExt as _;
    let (device, inode, size) = (file.dev() as i64, file.ino() as i64, file.size() as i64);
    [device, inode, size, file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()]
}

#[cfg(not(unix))]
fn identity(file: &std::fs::Metadata) -> [i64; 7] {
    let time = |time: io::Result<std::time::SystemTime>| {
        let since = time.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
        [since.as_secs() as i64, i64::from(since.subsec_nanos())]
    };
    let ([modified, modified_ns], [created, created_ns]) = (time(file.modified()), time(file.created()));
    [0, 0, file.len() as i64, modified, modified_ns, created, created_ns]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(folder: &Path) -> HashedFiles {
        let fingerprint = Fingerprint::of(folder).unwrap();
        HashedFiles::new(fingerprint, checksum::of_directory(folder).unwrap())
    }

    #[test]
    fn every_change_of_the_contents_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (program, inner) = (folder.path().join("program"), folder.path().join("a/b"));
        std::fs::create_dir_all(inner.parent().unwrap()).unwrap();
        let reset = || {
            std::fs::write(&program, "one").unwrap();
            std::fs::write(&inner, "two").unwrap();
            hashed(folder.path())
        };
        let seen = reset();
        assert!(seen.are_unchanged());
        // The new content has the same size, and the file gets its old modification time.
        let old = std::fs::metadata(&program).unwrap().modified().unwrap();
        std::fs::write(&program, "six").unwrap();
        std::fs::File::options().write(true).open(&program).unwrap().set_modified(old).unwrap();
        assert!(!seen.are_unchanged());
        let seen = reset();
        std::fs::write(folder.path().join("new"), "six").unwrap();
        std::fs::rename(folder.path().join("new"), &program).unwrap();
        assert!(!seen.are_unchanged());
        let seen = reset();
        std::fs::write(folder.path().join("more"), "").unwrap();
        assert!(!seen.are_unchanged());
        std::fs::remove_file(folder.path().join("more")).unwrap();
        let seen = reset();
        std::fs::remove_file(&inner).unwrap();
        assert!(!seen.are_unchanged());
    }

    #[test]
    fn a_new_link_or_copy_of_the_same_contents_is_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir_in(folder.path().parent().unwrap()).unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, "one").unwrap();
        let seen = hashed(folder.path());
        let before = Fingerprint::of(folder.path()).unwrap();
        std::fs::hard_link(&program, elsewhere.path().join("backup")).unwrap();
        assert_ne!(Fingerprint::of(folder.path()).unwrap(), before);
        assert!(seen.are_unchanged());
        std::fs::copy(&program, folder.path().join("new")).unwrap();
        std::fs::rename(folder.path().join("new"), &program).unwrap();
        assert!(seen.are_unchanged());
    }
}
