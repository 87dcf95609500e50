//! Writes the contents of an archive, within its limits and inside of the target.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use super::{ArchiveError, Limits, damaged};

/// An archive being unpacked.
#[derive(Debug)]
pub(super) struct Unpacking<'a> {
    archive: &'a Path,
    target: &'a Path,
    limits: Limits,
    entries: usize,
    written: u64,
}

impl<'a> Unpacking<'a> {
    pub(super) fn new(archive: &'a Path, target: &'a Path, limits: Limits) -> Unpacking<'a> {
        Unpacking { archive, target, limits, entries: 0, written: 0 }
    }

    pub(super) fn archive(&self) -> &'a Path {
        self.archive
    }

    /// The path of an entry.
    fn place(&mut self, name: &str) -> Result<PathBuf, ArchiveError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(self.limits.exceeded(self.archive));
        }
        let escapes = || ArchiveError::Escapes { path: self.archive.to_owned(), name: name.to_owned() };
        Ok(self.target.join(inside(name).ok_or_else(escapes)?))
    }

    pub(super) fn folder(&mut self, name: &str) -> Result<(), ArchiveError> {
        let path = self.place(name)?;
        fs::create_dir_all(&path).map_err(|error| ArchiveError::Io { path, error })
    }

    pub(super) fn file(&mut self, name: &str, mode: u32, content: &mut dyn Read) -> Result<(), ArchiveError> {
        let path = self.place(name)?;
        let failed = |error| ArchiveError::Io { path: path.clone(), error };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        // Never overwrites an earlier entry.
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
        let left = self.limits.bytes.saturating_sub(self.written);
        let length = io::copy(&mut content.take(left.saturating_add(1)), &mut file).map_err(|error| {
            // A content that cannot be read is the fault of the archive.
            match error.kind() {
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
                    damaged(self.archive, error)
                }
                _ => failed(error),
            }
        })?;
        if length > left {
            return Err(self.limits.exceeded(self.archive));
        }
        self.written += length;
        set_mode(&file, &path, mode).map_err(failed)
    }
}

/// A name as a path below the target; `None` if it could lead out of it on any system.
fn inside(name: &str) -> Option<PathBuf> {
    if name.contains(['\\', '\0']) {
        return None;
    }
    let mut path = PathBuf::new();
    for component in Path::new(name).components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// The permissions of an entry. The program is always executable, because archives from Windows have no permissions.
#[cfg(unix)]
fn set_mode(file: &File, path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let program = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("terraform-provider-"));
    let mode = (mode & 0o755) | 0o600 | if program { 0o755 } else { 0 };
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_file: &File, _path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}
