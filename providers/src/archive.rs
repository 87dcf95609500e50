//! Packed packages: zip files that somebody else made.
//!
//! Nothing in an archive is believed: names that lead out of the target, links, files that are none, and sizes beyond
//! the limits are refused before or while unpacking, and what was unpacked of a refused archive does not stay. Archives
//! of modules, of which less is asked, are unpacked in `registry`.

mod unpacking;
mod zip;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::checksum::Checksum;
use unpacking::Unpacking;

/// Most entries of an archive. Real packages have fewer than ten.
pub const MAX_ENTRIES: usize = 10_000;

/// Most bytes that an archive may unpack to. The largest provider has less than 1 GiB.
pub const MAX_UNPACKED: u64 = 8 << 30;

/// How many times its own length an archive may unpack to, beyond [`RATIO_FREE`]. Programs shrink to a quarter, text to
/// a tenth; bombs reach a thousand.
pub const MAX_RATIO: u64 = 200;

/// Bytes that are never too many: small texts may shrink to next to nothing.
pub const RATIO_FREE: u64 = 16 << 20;

/// Why an archive is not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It cannot be opened, or what it holds cannot be written.
    #[error("{path}: {error}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is no zip file, or a damaged one.
    #[error("{path} is not a sound zip archive: {problem}")]
    Damaged {
        /// The archive.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// An entry whose name leads elsewhere.
    #[error("{path} has an entry named {name:?}, which leads out of the package")]
    Escapes {
        /// The archive.
        path: PathBuf,
        /// The entry.
        name: String,
    },
    /// An entry that is a link.
    #[error("{path} has a link, {name:?}, which packages must not have")]
    Link {
        /// The archive.
        path: PathBuf,
        /// The entry.
        name: String,
    },
    /// An entry that is no file, folder or link.
    #[error("{path} has an entry, {name:?}, that is neither a file nor a folder")]
    Special {
        /// The archive.
        path: PathBuf,
        /// The entry.
        name: String,
    },
    /// More than [`MAX_ENTRIES`], [`MAX_UNPACKED`] or [`MAX_RATIO`].
    #[error("{path} unpacks to more than {entries} files or {bytes} bytes, the most for an archive of its length")]
    TooLarge {
        /// The archive.
        path: PathBuf,
        /// Most entries.
        entries: usize,
        /// Most bytes.
        bytes: u64,
    },
}

/// What an archive may unpack to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    entries: usize,
    bytes: u64,
}

impl Limits {
    /// For an archive of so many bytes.
    fn of(length: u64) -> Limits {
        let bytes = length.saturating_mul(MAX_RATIO).clamp(RATIO_FREE, MAX_UNPACKED);
        Limits { entries: MAX_ENTRIES, bytes }
    }

    fn exceeded(self, archive: &Path) -> ArchiveError {
        ArchiveError::TooLarge { path: archive.to_owned(), entries: self.entries, bytes: self.bytes }
    }
}

fn open(path: &Path) -> Result<(File, Limits), ArchiveError> {
    let failed = |error| ArchiveError::Io { path: path.to_owned(), error };
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    Ok((file, Limits::of(length)))
}

fn damaged(path: &Path, problem: impl std::fmt::Display) -> ArchiveError {
    ArchiveError::Damaged { path: path.to_owned(), problem: problem.to_string() }
}

/// The `h1` checksum of what a package unpacks to.
///
/// # Errors
/// When it is no sound package or too large.
pub fn checksum(path: &Path) -> Result<Checksum, ArchiveError> {
    zip::checksum(path)
}

/// Unpacks a package into a directory that exists and is empty.
///
/// # Errors
/// When it is no sound package or too large; what was unpacked by then is to be removed.
pub fn unpack(path: &Path, target: &Path) -> Result<(), ArchiveError> {
    let (file, limits) = open(path)?;
    let mut unpacking = Unpacking::new(path, target, limits);
    zip::unpack(file, &mut unpacking)
}

/// Packs the files of a directory, folders below it included.
///
/// # Errors
/// When they cannot be read, or the archive not written.
pub fn pack(directory: &Path, target: &Path) -> Result<(), ArchiveError> {
    zip::pack(directory, target)
}

#[cfg(test)]
mod tests;
