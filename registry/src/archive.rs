//! Archives of modules that somebody else made, unpacked into a folder of their own.
//!
//! Nothing in them is believed. Names that lead out of the folder, links that do, devices, and more bytes or files than
//! the caps allow are refused before or while they are written; what was unpacked of a refused archive does not stay.
//! Links are made last, so that nothing is ever written through one.

mod bundle;
mod folder;
mod links;

use std::fs::{self, File};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use folder::Folder;

/// Most files, folders and links of an archive. The largest module repositories have a tenth of it.
pub const MAX_ENTRIES: usize = 100_000;

/// Most bytes that an archive may unpack to.
pub const MAX_UNPACKED: u64 = 2 << 30;

/// How many times its own size an archive may unpack to. Source text packs to a tenth at best.
pub const MAX_RATIO: u64 = 200;

/// Bytes that every archive may unpack to, however small it is: little files of blanks are no attack.
pub const FREE_BYTES: u64 = 32 << 20;

/// Memory that unpacking xz may take, in KiB; its highest usual level needs 65 MiB.
const XZ_MEMORY_KIB: u32 = 256 << 10;

/// As many bytes tell how a file is packed.
const LONGEST_MAGIC: u64 = 6;

const _: () = assert!(FREE_BYTES < MAX_UNPACKED);

/// How an archive is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// zip
    Zip,
    /// tar within gzip
    TarGzip,
    /// tar within bzip2
    TarBzip2,
    /// tar within xz
    TarXz,
    /// One file within gzip, bzip2 or xz; known by name only, and no package.
    SingleFile,
}

/// Why an archive is not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is none, or a damaged one.
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    /// Packed in a way that packages are not.
    #[error("it is neither a zip archive nor a tar archive within gzip, bzip2 or xz")]
    Unknown,
    /// A file where a folder is needed.
    #[error("it packs a single file, and a module is a folder")]
    SingleFile,
    /// A name that leads elsewhere.
    #[error("the archive has an entry named {0:?}, which leads out of its folder")]
    Escapes(String),
    /// A link that leads elsewhere.
    #[error("the archive has a link from {name:?} to {target:?}, which leads out of its folder")]
    Link {
        /// Its name.
        name: String,
        /// Where it leads.
        target: String,
    },
    /// Neither a file nor a folder nor a link.
    #[error("the archive has an entry {0:?} that is neither a file nor a folder")]
    Special(String),
    /// Two entries in one place.
    #[error("the archive has two entries for {0:?}")]
    Twice(String),
    /// Over [`MAX_ENTRIES`].
    #[error("the archive has more than {MAX_ENTRIES} entries")]
    TooMany,
    /// Over [`MAX_UNPACKED`] or [`MAX_RATIO`].
    #[error("the archive unpacks to more than {0} bytes")]
    TooLarge(u64),
}

/// Names and how what is called so is packed. Longer ends come first where one ends like another.
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
    /// By what the query of an address calls it: `zip`, `tar.gz`, `tgz`.
    pub fn named(name: &str) -> Option<Packing> {
        ENDS.iter().find(|(end, _)| *end == name).map(|(_, packing)| *packing)
    }

    /// By the end of a file's name.
    pub fn of_path(path: &str) -> Option<Packing> {
        let found = ENDS.iter().find(|(end, _)| path.strip_suffix(end).is_some_and(|rest| rest.ends_with('.')));
        found.map(|(_, packing)| *packing)
    }

    /// By how a file begins. What is within gzip, bzip2 or xz is taken for tar.
    ///
    /// # Errors
    /// When the file cannot be read.
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

/// Unpacks an archive into a folder, which must not be there yet.
///
/// # Errors
/// When it is damaged, holds what it may not, is over the caps, or cannot be written. Then there is no folder.
pub fn unpack(archive: &Path, packing: Packing, into: &Path) -> Result<(), ArchiveError> {
    fs::create_dir_all(into).map_err(|error| ArchiveError::Io { path: into.to_owned(), error })?;
    let done = unpack_all(archive, packing, into);
    if done.is_err()
        && let Err(error) = fs::remove_dir_all(into)
    {
        tracing::debug!("{} stays: {error}", into.display());
    }
    done
}

fn unpack_all(archive: &Path, packing: Packing, into: &Path) -> Result<(), ArchiveError> {
    let io = |error| ArchiveError::Io { path: archive.to_owned(), error };
    let mut file = File::open(archive).map_err(io)?;
    let size = file.seek(SeekFrom::End(0)).map_err(io)?;
    file.rewind().map_err(io)?;
    let cap = size.saturating_mul(MAX_RATIO).clamp(FREE_BYTES, MAX_UNPACKED);
    let mut folder = Folder::new(into, cap);
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
