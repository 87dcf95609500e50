//! The two formats of archives with several files: zip and tar.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};

use weft_providers::archive::{EntryKind, PLAIN_MODE, ZipEntry, zip_entry};

use super::folder::Folder;
use super::{ArchiveError, MAX_ENTRIES};

/// The maximum length of a link's target in a zip archive, in bytes.
const LONGEST_TARGET: u64 = 4096;
/// The maximum number of bytes between the contents of two files in a tar archive.
const HEADER_BYTES: u64 = 1 << 20;

fn damaged(error: impl std::fmt::Display) -> ArchiveError {
    ArchiveError::Damaged(error.to_string())
}

pub(super) fn zip(file: BufReader<File>, folder: &mut Folder<'_>) -> Result<(), ArchiveError> {
    let mut archive = zip::ZipArchive::new(file).map_err(damaged)?;
    if archive.len() > MAX_ENTRIES {
        return Err(ArchiveError::TooMany);
    }
    for index in 0..archive.len() {
        let ZipEntry { name, mode, kind, mut content } = zip_entry(&mut archive, index).map_err(damaged)?;
        match kind {
            EntryKind::Link => {
                let mut target = String::new();
                content.take(LONGEST_TARGET).read_to_string(&mut target).map_err(damaged)?;
                folder.link(&name, &target)?;
            }
            EntryKind::Folder => folder.directory(&name)?,
            // The contents of special entries are written as plain files.
            EntryKind::File | EntryKind::Special => folder.file(&name, mode, &mut content)?,
        }
    }
    Ok(())
}

/// A stream that can be read up to a limit. The limit can be raised.
struct Metered<'a, R> {
    inner: R,
    allowed: &'a Cell<u64>,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.allowed.get().checked_sub(read as u64);
        self.allowed.set(left.ok_or_else(|| io::Error::other("a header is too long"))?);
        Ok(read)
    }
}

pub(super) fn tar(content: impl Read, folder: &mut Folder<'_>) -> Result<(), ArchiveError> {
    use tar::EntryType;
    // Long names and other headers are read into memory before their entry is returned.
    let allowed = Cell::new(HEADER_BYTES);
    let mut archive = tar::Archive::new(Metered { inner: content, allowed: &allowed });
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| damaged("a name is not UTF-8"));
        let name = text(&entry.path_bytes())?;
        match entry.header().entry_type() {
            // In old archives, a directory is a file whose name ends with a slash.
            EntryType::Regular if name.ends_with('/') => folder.directory(&name)?,
            EntryType::Regular | EntryType::Continuous => {
                let mode = entry.header().mode().unwrap_or(PLAIN_MODE);
                // The `Folder` has its own limits for contents.
                allowed.set(u64::MAX);
                folder.file(&name, mode, &mut entry)?;
            }
            EntryType::Directory => folder.directory(&name)?,
            EntryType::Symlink => {
                let target = entry.link_name_bytes().map(|bytes| text(&bytes)).transpose()?.unwrap_or_default();
                folder.link(&name, &target)?;
            }
            // These headers describe the entries that follow.
            EntryType::XGlobalHeader | EntryType::XHeader => {}
            _ => return Err(ArchiveError::Special(name)),
        }
        allowed.set(HEADER_BYTES);
    }
    Ok(())
}
