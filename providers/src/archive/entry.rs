//! Entries of archives: their names, and their properties in a zip file.

use std::fs::File;
use std::io::BufReader;
use std::path::{Component, Path, PathBuf};

use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

/// The bits of a mode that contain the kind of the file. The following constants are the values of these bits.
const MODE_KIND: u32 = 0o170_000;
const MODE_FILE: u32 = 0o100_000;
const MODE_FOLDER: u32 = 0o040_000;
const MODE_LINK: u32 = 0o120_000;

/// The permissions of an entry for which the archive has no permissions.
pub const PLAIN_MODE: u32 = 0o644;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A link. Its content is its target.
    Link,
    /// A device or another special file.
    Special,
}

/// An entry of a zip file.
pub struct ZipEntry<'a> {
    /// The name of the entry, as in the archive.
    pub name: String,
    /// The permissions of the entry, including the bits of its kind.
    pub mode: u32,
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The content of the entry.
    pub content: ZipFile<'a, BufReader<File>>,
}

/// Reads an entry of a zip file.
///
/// # Errors
/// Returns an error if the archive is damaged.
pub fn zip_entry(archive: &mut ZipArchive<BufReader<File>>, index: usize) -> Result<ZipEntry<'_>, ZipError> {
    let content = archive.by_index(index)?;
    let name = content.name()?.into_owned();
    let mode = content.unix_mode().unwrap_or(PLAIN_MODE);
    let kind = match mode & MODE_KIND {
        MODE_LINK => EntryKind::Link,
        _ if content.is_dir() => EntryKind::Folder,
        0 | MODE_FILE | MODE_FOLDER => EntryKind::File,
        _ => EntryKind::Special,
    };
    Ok(ZipEntry { name, mode, kind, content })
}

/// The name of an entry as a path below the folder into which the archive is unpacked. `None` if the path could lead
/// out of this folder, or if the name contains a zero byte. The path is empty for the folder itself.
pub fn inside(name: &str) -> Option<PathBuf> {
    if name.contains('\0') {
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
