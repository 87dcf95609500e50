//! Archives of modules from untrusted sources. Each archive is unpacked into a new directory.
//!
//! An archive is refused if it has devices, too many bytes or files, or names or links that lead out of the directory.
//! The checks happen before or during writing. After a refusal, the directory is removed if possible. Links are created
//! last, so that no file is ever written through a link. Packages of providers have stricter rules: see
//! [`weft_providers::archive`]. That module also has the code that both kinds of packages share.

mod bundle;
mod folder;
mod links;

use std::fs::{self, File};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use folder::Folder;
use weft_providers::archive::Limits;
pub use weft_providers::archive::MAX_RATIO;

/// The maximum number of files, directories and links. The largest module repositories have a tenth of this number.
pub const MAX_ENTRIES: usize = 100_000;

/// The maximum number of unpacked bytes.
pub const MAX_UNPACKED: u64 = 2 << 30;

/// An unpacked size that is allowed at any compression ratio. Small files that compress extremely well are harmless.
pub const FREE_BYTES: u64 = 32 << 20;

/// The memory limit for unpacking xz, in KiB. The highest usual level needs 65 MiB.
const XZ_MEMORY_KIB: u32 = 256 << 10;

/// The number of bytes that identify the format of a file.
const LONGEST_MAGIC: u64 = 6;

const _: () = assert!(FREE_BYTES < MAX_UNPACKED);

/// The format of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// zip
    Zip,
    /// tar in gzip
    TarGzip,
    /// tar in bzip2
    TarBzip2,
    /// tar in xz
    TarXz,
    /// A single file in gzip, bzip2 or xz. It is recognized by its name only, and is never a package.
    SingleFile,
}

/// Why an archive is not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The file is not an archive, or it is damaged.
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    /// An unsupported format.
    #[error("it is neither a zip archive nor a tar archive in gzip, bzip2 or xz")]
    Unknown,
    /// The archive is a single file, not a directory.
    #[error("it contains a single file, but a module is a directory")]
    SingleFile,
    /// A name that leads out of the directory.
    #[error("the archive has an entry named {0:?}, which leads out of its directory")]
    Escapes(String),
    /// A link that leads out of the directory.
    #[error("the archive has a link from {name:?} to {target:?}, which leads out of its directory")]
    Link {
        /// The name of the link.
        name: String,
        /// The target of the link.
        target: String,
    },
    /// An entry that is not a file, a directory or a link.
    #[error("the archive has an entry {0:?} that is neither a file nor a directory")]
    Special(String),
    /// Two entries with the same name.
    #[error("the archive has two entries for {0:?}")]
    Twice(String),
    /// More than [`MAX_ENTRIES`] entries.
    #[error("the archive has more than {MAX_ENTRIES} entries")]
    TooMany,
    /// The unpacked content is larger than [`MAX_UNPACKED`] or [`MAX_RATIO`] allows. The number is the limit in bytes.
    #[error("the archive unpacks to more than {0} bytes")]
    TooLarge(u64),
}

/// The suffixes of formats. A suffix such as `tar.gz` precedes the suffix `gz`, because the first match counts.
const ENDS: [(&str, Packing); 10] = [
    ("tar.tbz2", Packing::TarBzip2),
    ("tar.bz2", Packing::TarBzip2),
    ("tar.gz", Packing::TarGzip),
    ("tar.xz", Packing::TarXz),
    ("tgz", Packing::TarGzip),
    ("txz", Packing::TarXz),
    ("zip", Packing::Zip),
    ("bz2", Packing::SingleFile),
    ("gz", Packing::SingleFile),
    ("xz", Packing::SingleFile),
];

impl Packing {
    /// The format with this name. The query of an address may have such a name: `zip`, `tar.gz`, `tgz`.
    pub fn named(name: &str) -> Option<Packing> {
        ENDS.iter().find(|(end, _)| *end == name).map(|(_, packing)| *packing)
    }

    /// The format that the suffix of a file's name indicates.
    pub fn of_path(path: &str) -> Option<Packing> {
        let found = ENDS.iter().find(|(end, _)| path.strip_suffix(end).is_some_and(|rest| rest.ends_with('.')));
        found.map(|(_, packing)| *packing)
    }

    /// The format that the first bytes of a file indicate. Content in gzip, bzip2 or xz is assumed to be a tar archive.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn of_content(archive: &Path) -> Result<Option<Packing>, ArchiveError> {
        let io = |error| ArchiveError::Io { path: archive.to_owned(), error };
        let mut start = Vec::new();
        File::open(archive).and_then(|file| file.take(LONGEST_MAGIC).read_to_end(&mut start)).map_err(io)?;
        Ok(match start.as_slice() {
            [b'P', b'K', 3 | 5, 4 | 6, ..] => Some(Packing::Zip),
            [0x1f, 0x8b, ..] => Some(Packing::TarGzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Some(Packing::TarXz),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Packing::TarBzip2),
            _ => None,
        })
    }
}

/// Unpacks an archive into a directory that does not exist yet.
///
/// # Errors
/// Returns an error if the archive is damaged, has forbidden entries, exceeds the limits, or cannot be written. After
/// an error, the directory is removed if possible.
pub fn unpack(archive: &Path, packing: Packing, into: &Path) -> Result<(), ArchiveError> {
    fs::create_dir_all(into).map_err(|error| ArchiveError::Io { path: into.to_owned(), error })?;
    let done = unpack_all(archive, packing, into);
    if done.is_err()
        && let Err(error) = fs::remove_dir_all(into)
    {
        tracing::debug!("{} cannot be removed: {error}", into.display());
    }
    done
}

fn unpack_all(archive: &Path, packing: Packing, into: &Path) -> Result<(), ArchiveError> {
    let io = |error| ArchiveError::Io { path: archive.to_owned(), error };
    let mut file = File::open(archive).map_err(io)?;
    let size = file.seek(SeekFrom::End(0)).map_err(io)?;
    file.rewind().map_err(io)?;
    let mut folder = Folder::new(into, Limits::of(size, MAX_ENTRIES, FREE_BYTES, MAX_UNPACKED));
    let file = BufReader::new(file);
    match packing {
        Packing::Zip => bundle::zip(file, &mut folder)?,
        // More members or streams may follow the first.
        Packing::TarGzip => bundle::tar(flate2::bufread::MultiGzDecoder::new(file), &mut folder)?,
        Packing::TarBzip2 => bundle::tar(bzip2::bufread::MultiBzDecoder::new(file), &mut folder)?,
        Packing::TarXz => {
            bundle::tar(lzma_rust2::XzReader::new_mem_limit(file, true, XZ_MEMORY_KIB), &mut folder)?;
        }
        Packing::SingleFile => return Err(ArchiveError::SingleFile),
    }
    folder.finish()
}
