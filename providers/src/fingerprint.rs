//! Detects whether the files of a package have changed since they were hashed, without reading them again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The identity, size and times of each file below a directory. Writing to a file or replacing it changes one of them:
/// the kernel sets the time of the last change of an inode, and an ordinary program cannot set it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    directory: PathBuf,
    files: BTreeMap<PathBuf, [i64; 7]>,
}

impl Fingerprint {
    /// The fingerprint of the current files below a directory. Take it before the files are hashed: then it covers the
    /// content that was hashed.
    ///
    /// # Errors
    /// Returns an error if a file's metadata cannot be read.
    pub fn of(directory: &Path) -> io::Result<Fingerprint> {
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

    /// Whether the files are still the same.
    pub fn holds(&self) -> bool {
        Fingerprint::of(&self.directory).is_ok_and(|now| now == *self)
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

    #[test]
    fn a_fingerprint_changes_with_every_change_of_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let (program, inner) = (folder.path().join("program"), folder.path().join("a/b"));
        std::fs::create_dir_all(inner.parent().unwrap()).unwrap();
        let reset = || {
            std::fs::write(&program, "one").unwrap();
            std::fs::write(&inner, "two").unwrap();
            Fingerprint::of(folder.path()).unwrap()
        };
        let seen = reset();
        assert!(seen.holds());
        // The same size, and the old modification time.
        let old = std::fs::metadata(&program).unwrap().modified().unwrap();
        std::fs::write(&program, "six").unwrap();
        std::fs::File::options().write(true).open(&program).unwrap().set_modified(old).unwrap();
        assert!(!seen.holds());
        let seen = reset();
        std::fs::write(folder.path().join("new"), "one").unwrap();
        std::fs::rename(folder.path().join("new"), &program).unwrap();
        assert!(!seen.holds());
        let seen = reset();
        std::fs::write(folder.path().join("more"), "").unwrap();
        assert!(!seen.holds());
        let seen = reset();
        std::fs::remove_file(&inner).unwrap();
        assert!(!seen.holds());
    }
}
