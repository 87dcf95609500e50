//! Packages that are directories on this machine, and copies of packages that were fetched before.

use std::fs;
use std::io;
use std::path::Path;

use weft_graph_format::module_source::decode;

use super::{FetchError, PackageAddress};

/// Creates a link to a directory, so that changes in the directory take effect at once.
pub(super) fn link(address: &PackageAddress, to: &Path) -> Result<(), FetchError> {
    let wrong = || FetchError::Address(address.text());
    let path = address.base.strip_prefix("file://").ok_or_else(wrong)?;
    let path = decode(path).unwrap_or_else(|| path.to_owned());
    let from = Path::new(&path);
    if !from.is_absolute() {
        return Err(wrong());
    }
    if !from.is_dir() {
        return Err(FetchError::NoDirectory(from.to_owned()));
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(FetchError::io(parent))?;
    }
    std::os::unix::fs::symlink(from, to).map_err(FetchError::io(to))
}

/// Copies a package. Names that begin with a dot are not copied: for example, `.git` belongs to the original.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), FetchError> {
    let mut pending = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = pending.pop() {
        fs::create_dir_all(&to).map_err(FetchError::io(&to))?;
        let entries: Vec<fs::DirEntry> =
            fs::read_dir(&from).and_then(Iterator::collect::<io::Result<_>>).map_err(FetchError::io(&from))?;
        for entry in entries {
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().map_err(FetchError::io(&path))?;
            if kind.is_dir() {
                pending.push((path, target));
            } else if kind.is_symlink() {
                let leads_to = fs::read_link(&path).map_err(FetchError::io(&path))?;
                std::os::unix::fs::symlink(leads_to, &target).map_err(FetchError::io(&target))?;
            } else {
                fs::copy(&path, &target).map_err(FetchError::io(&target))?;
            }
        }
    }
    Ok(())
}
