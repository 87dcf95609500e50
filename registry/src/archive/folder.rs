//! The directory into which an archive is unpacked, with its limits.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use weft_providers::archive::{CopyError, Limits, Quota};

use super::ArchiveError;
use super::links::{Name, link_stays_inside};

/// The bits of a mode for executable files.
const EXECUTE: u32 = 0o111;

/// The directory into which an archive is unpacked.
pub(super) struct Folder<'a> {
    path: &'a Path,
    quota: Quota,
    /// The links to create at the end.
    links: BTreeMap<Name, String>,
}

impl<'a> Folder<'a> {
    pub(super) fn new(path: &'a Path, limits: Limits) -> Folder<'a> {
        Folder { path, quota: Quota::new(limits), links: BTreeMap::new() }
    }

    fn count(&mut self) -> Result<(), ArchiveError> {
        self.quota.count().map_err(|_| ArchiveError::TooMany)
    }

    /// Creates a directory with its parents. An empty name stands for the top directory.
    pub(super) fn directory(&mut self, name: &str) -> Result<(), ArchiveError> {
        self.count()?;
        let name = Name::parse(name)?;
        make(&self.path.join(name.path()))
    }

    /// Writes a file. If the file exists, it is overwritten, as in other tools.
    pub(super) fn file(&mut self, name: &str, mode: u32, content: &mut dyn Read) -> Result<(), ArchiveError> {
        self.count()?;
        let parsed = Name::parse(name)?;
        if parsed.is_top() {
            return Err(ArchiveError::Escapes(name.to_owned()));
        }
        let path = self.path.join(parsed.path());
        if let Some(parent) = path.parent() {
            make(parent)?;
        }
        let mode = if mode & EXECUTE == 0 { 0o644 } else { 0o755 };
        let io = |error| ArchiveError::Io { path: path.clone(), error };
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&path).map_err(io)?;
        self.quota.copy(content, &mut file).map_err(|error| match error {
            CopyError::Io(error) => ArchiveError::Damaged(format!("{name:?} cannot be unpacked: {error}")),
            CopyError::Exceeded => ArchiveError::TooLarge(self.quota.limits().bytes),
        })
    }

    /// Records a link, which is created at the end.
    pub(super) fn link(&mut self, name: &str, target: &str) -> Result<(), ArchiveError> {
        self.count()?;
        let parsed = Name::parse(name)?;
        if parsed.is_top() || !link_stays_inside(&parsed, target) {
            return Err(ArchiveError::Link { name: name.to_owned(), target: target.to_owned() });
        }
        self.links.insert(parsed, target.to_owned());
        Ok(())
    }

    /// Creates the links.
    pub(super) fn finish(self) -> Result<(), ArchiveError> {
        for (name, target) in &self.links {
            // If a directory above the link is itself a link, the path leads to a different directory. Such a path is
            // refused.
            let mut above: PathBuf = self.path.to_owned();
            for part in name.parents() {
                above.push(part);
                if fs::symlink_metadata(&above).is_ok_and(|found| found.is_symlink()) {
                    return Err(ArchiveError::Twice(name.to_string()));
                }
            }
            make(&above)?;
            let path = self.path.join(name.path());
            match std::os::unix::fs::symlink(target, &path) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    return Err(ArchiveError::Twice(name.to_string()));
                }
                Err(error) => return Err(ArchiveError::Io { path, error }),
            }
        }
        Ok(())
    }
}

fn make(path: &Path) -> Result<(), ArchiveError> {
    fs::create_dir_all(path).map_err(|error| ArchiveError::Io { path: path.to_owned(), error })
}
