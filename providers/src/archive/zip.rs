//! Zip files.

use std::fs::{self, File};
use std::io::{self, BufReader, Read as _};
use std::path::Path;

use zip::ZipArchive;

use super::unpacking::Unpacking;
use super::{ArchiveError, EntryKind, ZipEntry, damaged, open, too_large, zip_entry};
use crate::checksum::{self, Checksum};

pub(super) fn checksum(path: &Path) -> Result<Checksum, ArchiveError> {
    let (file, limits) = open(path)?;
    let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|e| damaged(path, e))?;
    if zip.len() > limits.entries {
        return Err(too_large(path, limits));
    }
    let mut left = limits.bytes;
    let mut files = Vec::new();
    for index in 0..zip.len() {
        let ZipEntry { name, content, .. } = zip_entry(&mut zip, index).map_err(|e| damaged(path, e))?;
        if name.contains('\n') {
            return Err(damaged(path, "an entry's name has a line break"));
        }
        let mut counted = content.take(left.saturating_add(1));
        let digest = checksum::digest(&mut counted).map_err(|e| damaged(path, e))?;
        let used = left.saturating_add(1) - counted.limit();
        left = left.checked_sub(used).ok_or_else(|| too_large(path, limits))?;
        files.push((name, digest));
    }
    Ok(Checksum::of_files(files))
}

pub(super) fn unpack(file: File, unpacking: &mut Unpacking<'_>) -> Result<(), ArchiveError> {
    let path = unpacking.archive();
    let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|e| damaged(path, e))?;
    for index in 0..zip.len() {
        let ZipEntry { name, mode, kind, mut content } = zip_entry(&mut zip, index).map_err(|e| damaged(path, e))?;
        match kind {
            EntryKind::Folder => unpacking.folder(&name)?,
            EntryKind::File => unpacking.file(&name, mode, &mut content)?,
            EntryKind::Link => return Err(ArchiveError::Link { path: path.to_owned(), name }),
            EntryKind::Special => return Err(ArchiveError::Special { path: path.to_owned(), name }),
        }
    }
    Ok(())
}

/// Packs the files of a directory and its subdirectories.
pub(super) fn pack(directory: &Path, target: &Path) -> Result<(), ArchiveError> {
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
