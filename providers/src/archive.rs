//! Packed packages: zip files from untrusted sources.
//!
//! Nothing in an archive is trusted. Names that lead out of the target, links, special files, and sizes beyond the
//! limits are refused before or during unpacking. The caller removes the files of a refused archive.
//!
//! The crate `registry` unpacks the archives of configuration modules. These archives may have links and may repeat
//! names, so `registry` has its own rules for writing their files. It uses three parts of this Rust module: the limits
//! ([`Quota`]), the check of names ([`inside`]) and the reading of zip files ([`zip_entry`]).

mod entry;
mod limits;
mod unpacking;
mod zip;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::checksum::Checksum;
pub use entry::{EntryKind, PLAIN_MODE, ZipEntry, inside, zip_entry};
pub use limits::{CopyError, Exceeded, Limits, MAX_RATIO, Quota};
use unpacking::Unpacking;

/// The maximum number of entries. Real packages have fewer than ten.
pub const MAX_ENTRIES: usize = 10_000;

/// The maximum number of unpacked bytes. The largest provider has less than 1 GiB.
pub const MAX_UNPACKED: u64 = 8 << 30;

/// An unpacked size that is always allowed, because a small text file may shrink to almost nothing.
pub const FREE_BYTES: u64 = 16 << 20;

/// Why an archive is not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The archive cannot be opened, or its contents cannot be written.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The archive is not a zip file, or it is damaged.
    #[error("{path} is not a valid zip archive: {problem}")]
    Damaged {
        /// The archive.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// An entry whose name leads out of the package.
    #[error("{path} has an entry named {name:?}, which leads out of the package")]
    Escapes {
        /// The archive.
        path: PathBuf,
        /// The entry.
        name: String,
    },
    /// An entry that is a link.
    #[error("{path} has a link, {name:?}, which is not allowed in packages")]
    Link {
        /// The archive.
        path: PathBuf,
        /// The entry.
        name: String,
    },
    /// An entry that is not a file, a folder or a link.
    #[error("{path} has an entry, {name:?}, that is neither a file nor a folder")]
    Special {
        /// The archive.
        path: PathBuf,
        /// The entry.
        name: String,
    },
    /// The archive has more than [`MAX_ENTRIES`], [`MAX_UNPACKED`] or [`MAX_RATIO`] allow.
    #[error("{path} unpacks to more than {entries} files or {bytes} bytes, the limit for an archive of its size")]
    TooLarge {
        /// The archive.
        path: PathBuf,
        /// The maximum number of entries.
        entries: usize,
        /// The maximum number of bytes.
        bytes: u64,
    },
}

fn limits_of(length: u64) -> Limits {
    Limits::of(length, MAX_ENTRIES, FREE_BYTES, MAX_UNPACKED)
}

fn too_large(archive: &Path, limits: Limits) -> ArchiveError {
    ArchiveError::TooLarge { path: archive.to_owned(), entries: limits.entries, bytes: limits.bytes }
}

fn open(path: &Path) -> Result<(File, Limits), ArchiveError> {
    let failed = |error| ArchiveError::Io { path: path.to_owned(), error };
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    Ok((file, limits_of(length)))
}

fn damaged(path: &Path, problem: impl std::fmt::Display) -> ArchiveError {
    ArchiveError::Damaged { path: path.to_owned(), problem: problem.to_string() }
}

/// The `h1` checksum of the unpacked package.
///
/// # Errors
/// Returns an error if the archive is damaged or too large.
pub fn checksum(path: &Path) -> Result<Checksum, ArchiveError> {
    zip::checksum(path)
}

/// Unpacks a package into an existing, empty directory.
///
/// # Errors
/// Returns an error if the archive is damaged or too large. The caller must remove the files that were unpacked before
/// the error.
pub fn unpack(path: &Path, target: &Path) -> Result<(), ArchiveError> {
    let (file, limits) = open(path)?;
    let mut unpacking = Unpacking::new(path, target, limits);
    zip::unpack(file, &mut unpacking)
}

/// Packs the files of a directory and its subdirectories.
///
/// # Errors
/// Returns an error if a file cannot be read, or the archive cannot be written.
pub fn pack(directory: &Path, target: &Path) -> Result<(), ArchiveError> {
    zip::pack(directory, target)
}

#[cfg(test)]
mod tests;
