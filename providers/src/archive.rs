//! Packed packages: zip files that somebody else made.
//!
//! Nothing in an archive is believed: names that lead out of the target, links, and sizes beyond the limits are refused
//! before or while unpacking, and what was unpacked of a refused archive does not stay.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use crate::checksum::{self, Checksum};

/// Most entries of an archive. Real packages have fewer than ten.
pub const MAX_ENTRIES: usize = 10_000;

/// Most bytes that an archive may unpack to. The largest provider has less than 1 GiB.
pub const MAX_UNPACKED: u64 = 8 << 30;

/// Bits of a mode that say which kind of file it is, and the kind that links are.
const MODE_KIND: u32 = 0o170_000;
const MODE_LINK: u32 = 0o120_000;

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
    /// More than [`MAX_ENTRIES`] or [`MAX_UNPACKED`].
    #[error("{path} unpacks to more than {MAX_ENTRIES} files or {MAX_UNPACKED} bytes")]
    TooLarge {
        /// The archive.
        path: PathBuf,
    },
}

struct Archive<'a> {
    path: &'a Path,
    zip: ZipArchive<BufReader<File>>,
}

impl<'a> Archive<'a> {
    fn open(path: &'a Path) -> Result<Archive<'a>, ArchiveError> {
        let file = File::open(path).map_err(|error| ArchiveError::Io { path: path.to_owned(), error })?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|e| damaged(path, e))?;
        if zip.len() > MAX_ENTRIES {
            return Err(ArchiveError::TooLarge { path: path.to_owned() });
        }
        Ok(Archive { path, zip })
    }
}

fn damaged(path: &Path, problem: impl std::fmt::Display) -> ArchiveError {
    ArchiveError::Damaged { path: path.to_owned(), problem: problem.to_string() }
}

/// The `h1` checksum of what an archive unpacks to.
pub fn checksum(path: &Path) -> Result<Checksum, ArchiveError> {
    let mut archive = Archive::open(path)?;
    let mut left = MAX_UNPACKED;
    let mut files = Vec::new();
    for index in 0..archive.zip.len() {
        let entry = archive.zip.by_index(index).map_err(|e| damaged(path, e))?;
        let name = entry.name().map_err(|e| damaged(path, e))?.into_owned();
        if name.contains('\n') {
            return Err(damaged(path, "an entry's name has a line break"));
        }
        let mut counted = entry.take(left.saturating_add(1));
        let digest = checksum::digest(&mut counted).map_err(|e| damaged(path, e))?;
        let used = left.saturating_add(1) - counted.limit();
        left = left.checked_sub(used).ok_or_else(|| ArchiveError::TooLarge { path: path.to_owned() })?;
        files.push((name, digest));
    }
    Ok(Checksum::of_files(files))
}

/// Unpacks an archive into a directory that exists and is empty.
pub fn unpack(path: &Path, target: &Path) -> Result<(), ArchiveError> {
    let mut archive = Archive::open(path)?;
    let mut left = MAX_UNPACKED;
    for index in 0..archive.zip.len() {
        left = archive.unpack_entry(index, target, left)?;
    }
    Ok(())
}

/// Packs the files of a directory, folders below it included.
pub fn pack(directory: &Path, target: &Path) -> Result<(), ArchiveError> {
    use zip::write::{SimpleFileOptions, ZipWriter};
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| ArchiveError::Io { path, error }
    };
    let mut zip = ZipWriter::new(File::create(target).map_err(io(target))?);
    let root = directory.canonicalize().map_err(io(directory))?;
    let mut pending = vec![(root, String::new())];
    while let Some((folder, prefix)) = pending.pop() {
        let mut entries =
            fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(io(&folder))?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if path.is_dir() {
                pending.push((path, format!("{name}/")));
                continue;
            }
            let mut options = SimpleFileOptions::default();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                let mode = fs::metadata(&path).map_err(io(&path))?.permissions().mode();
                options = options.unix_permissions(mode & 0o777);
            }
            zip.start_file(name, options).map_err(|error| damaged(target, error))?;
            let mut file = File::open(&path).map_err(io(&path))?;
            io::copy(&mut file, &mut zip).map_err(io(target))?;
        }
    }
    let file = zip.finish().map_err(|error| damaged(target, error))?;
    file.sync_all().map_err(io(target))
}

impl Archive<'_> {
    /// Unpacks one entry; what remains of the bytes allowed.
    fn unpack_entry(&mut self, index: usize, target: &Path, left: u64) -> Result<u64, ArchiveError> {
        let archive = self.path;
        let entry = self.zip.by_index(index).map_err(|e| damaged(archive, e))?;
        let name = entry.name().map_err(|e| damaged(archive, e))?.into_owned();
        let inside = entry.enclosed_name().filter(|_| !name.contains(['\\', '\0']));
        let Some(inside) = inside else {
            return Err(ArchiveError::Escapes { path: archive.to_owned(), name });
        };
        let mode = entry.unix_mode().unwrap_or(0o644);
        if mode & MODE_KIND == MODE_LINK {
            return Err(ArchiveError::Link { path: archive.to_owned(), name });
        }
        let path = target.join(inside);
        let failed = |error| ArchiveError::Io { path: path.clone(), error };
        if entry.is_dir() {
            fs::create_dir_all(&path).map_err(failed)?;
            return Ok(left);
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        // Never through something that an earlier entry put there.
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
        let written = io::copy(&mut entry.take(left.saturating_add(1)), &mut file).map_err(failed)?;
        let left = left.checked_sub(written).ok_or_else(|| ArchiveError::TooLarge { path: archive.to_owned() })?;
        set_mode(&file, &path, mode).map_err(failed)?;
        Ok(left)
    }
}

/// Others may read what the archive lets them read; the program can be run even if the archive was made on Windows.
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn archive(folder: &Path, entries: &[(&str, &str, u32)]) -> PathBuf {
        let path = folder.join("package.zip");
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        for (name, text, mode) in entries {
            zip.start_file(*name, SimpleFileOptions::default().unix_permissions(*mode)).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
        path
    }

    #[test]
    fn unpacked_and_packed_have_the_same_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let entries = [("terraform-provider-x_v1.0.0", "program", 0o644), ("docs/LICENSE", "text", 0o644)];
        let path = archive(folder.path(), &entries);
        let target = tempfile::tempdir().unwrap();
        unpack(&path, target.path()).unwrap();
        assert_eq!(checksum(&path).unwrap(), checksum::of_directory(target.path()).unwrap());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |name: &str| fs::metadata(target.path().join(name)).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(entries[0].0), mode(entries[1].0)), (0o755, 0o644));
        }
    }

    #[test]
    fn names_that_lead_out_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["../out", "a/../../out", "/etc/out", "a\\..\\..\\out"] {
            let path = archive(folder.path(), &[(name, "x", 0o644)]);
            let target = folder.path().join("target");
            fs::create_dir_all(&target).unwrap();
            // A name that becomes harmless by dropping its root may also be unpacked, but only inside.
            let _ = unpack(&path, &target);
            assert!(!folder.path().join("out").exists() && !Path::new("/etc/out").exists(), "{name}");
            if name.contains("..") {
                assert!(unpack(&path, &target).is_err(), "{name}");
            }
        }
    }

    #[test]
    fn links_and_repeated_names_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("link.zip");
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        zip.add_symlink("link", "/etc/passwd", SimpleFileOptions::default()).unwrap();
        zip.finish().unwrap();
        let target = tempfile::tempdir().unwrap();
        assert!(matches!(unpack(&path, target.path()), Err(ArchiveError::Link { .. })));
        fs::write(folder.path().join("no.zip"), "no zip").unwrap();
        assert!(matches!(unpack(&folder.path().join("no.zip"), target.path()), Err(ArchiveError::Damaged { .. })));
    }
}
