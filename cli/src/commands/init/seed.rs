//! `init -from-module`: a directory begins as a copy of a module.

use std::io;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;

/// Copies a local module into the current directory, which must be empty.
///
/// # Errors
/// When the directory is not empty, the source is not a local one, or copying fails.
pub fn copy_module(source: &str) -> Result<(), Diagnostic> {
    let failed =
        |error: io::Error| Diagnostic::error("Failed to copy the module", format!("The module {source}: {error}."));
    if std::fs::read_dir(".").map_err(failed)?.next().is_some() {
        return Err(Diagnostic::error(
            "The working directory already contains files",
            "The -from-module option requires an empty directory into which a copy of the referenced module will be \
             placed. To initialize the configuration already in this working directory, omit the -from-module option.",
        ));
    }
    let from = Path::new(source);
    let local = from.is_absolute() || source.starts_with("./") || source.starts_with("../");
    if !local {
        return Err(Diagnostic::error(
            "Module source not supported yet",
            format!("The source {source:?} is no local directory: write a path that begins with ./ or ../."),
        ));
    }
    if !from.is_dir() {
        return Err(Diagnostic::error("Unreadable module directory", format!("There is no directory {source}.")));
    }
    copy(from, Path::new(".")).map_err(failed)
}

/// Copies files and folders; those whose name begins with a dot belong to the place where they are.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            std::fs::create_dir_all(&target)?;
            copy(&path, &target)?;
        } else {
            std::fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
