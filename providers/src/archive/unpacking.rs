//! Writes the contents of an archive, within its limits and inside of the target.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{ArchiveError, CopyError, Limits, Quota, damaged, inside, too_large};

/// An archive being unpacked.
#[derive(Debug)]
pub(super) struct Unpacking<'a> {
    archive: &'a Path,
    target: &'a Path,
    quota: Quota,
}

impl<'a> Unpacking<'a> {
    pub(super) fn new(archive: &'a Path, target: &'a Path, limits: Limits) -> Unpacking<'a> {
        Unpacking { archive, target, quota: Quota::new(limits) }
    }

    pub(super) fn archive(&self) -> &'a Path {
        self.archive
    }

    fn too_large(&self) -> ArchiveError {
        too_large(self.archive, self.quota.limits())
    }

    /// The path of an entry.
    fn place(&mut self, name: &str) -> Result<PathBuf, ArchiveError> {
        self.quota.count().map_err(|_| self.too_large())?;
        let escapes = || ArchiveError::Escapes { path: self.archive.to_owned(), name: name.to_owned() };
        // On some systems, a backslash separates folders.
        let path = if name.contains('\\') { None } else { inside(name) };
        Ok(self.target.join(path.ok_or_else(escapes)?))
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
        self.quota.copy(content, &mut file).map_err(|error| match error {
            CopyError::Exceeded => self.too_large(),
            // If the content cannot be read, the archive is damaged.
            CopyError::Io(error) => match error.kind() {
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
                    damaged(self.archive, error)
                }
                _ => failed(error),
            },
        })?;
        set_mode(&file, &path, mode).map_err(failed)
    }
}

/// Sets the permissions of an entry. The program of the provider is always executable, because archives from Windows
/// have no permissions.
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
