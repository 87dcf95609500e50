//! Private files: only their owner may read them, because they may hold secrets.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::problems;
use crate::error::StoreError;

/// The mode of all files that the store writes: only their owner has access.
pub(super) const PRIVATE: u32 = 0o600;

/// Writes a file that only its owner may read. Also changes the mode of an existing file.
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
    write().map_err(problems::writing(path))
}

/// Reads from the start, whatever the position of the descriptor.
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
