//! The configuration files of one directory.

use std::sync::Arc;

use weft_syntax::Tree;

use super::{LoadError, Loader};
use crate::config::problems;

/// The maximum size of a configuration file in bytes. Files that people write are much smaller.
pub(in crate::config) const LARGEST_FILE: u64 = 64 * 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Native,
    Json,
}

/// The kind of a configuration file, by its name; `None` for other files.
pub(super) fn kind_of(name: &str) -> Option<FileKind> {
    if name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#')) {
        return None;
    }
    if name.ends_with(".tf") || name.ends_with(".tofu") {
        return Some(FileKind::Native);
    }
    (name.ends_with(".tf.json") || name.ends_with(".tofu.json")).then_some(FileKind::Json)
}

/// The name of a file without its extension. A `.tofu` file hides the `.tf` file with the same stem.
fn stem_of(name: &str) -> &str {
    [".tofu.json", ".tf.json", ".tofu", ".tf"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Whether a configuration file is an override file.
pub(super) fn is_override(name: &str) -> bool {
    let stem = stem_of(name);
    stem == "override" || stem.ends_with("_override")
}

impl Loader<'_> {
    /// The configuration files of a directory, in order. A `.tofu` file hides the `.tf` file with the same name.
    pub(super) fn files(&self, dir: &str) -> Result<Vec<String>, LoadError> {
        let path = self.root.join(dir);
        let unreadable = |cause| LoadError::Unreadable { path: dir.to_string(), cause };
        let mut names: Vec<String> = Vec::new();
        for entry in std::fs::read_dir(&path).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if kind_of(&name).is_some() && !entry.path().is_dir() {
                names.push(name);
            }
        }
        names.sort();
        let hidden: Vec<String> = names
            .iter()
            .filter(|name| {
                let twin = match kind_of(name) {
                    Some(FileKind::Native) => format!("{}.tofu", stem_of(name)),
                    _ => format!("{}.tofu.json", stem_of(name)),
                };
                !name.contains(".tofu") && names.contains(&twin)
            })
            .cloned()
            .collect();
        names.retain(|name| !hidden.contains(name));
        Ok(names)
    }

    /// Reads and parses one file. If that fails, reports why.
    pub(super) fn file(&mut self, dir: &str, name: &str) -> Option<Arc<Tree>> {
        let shown = if dir == "." { name.to_string() } else { format!("{dir}/{name}") };
        // Several calls may use the same directory. Its files are read only once.
        if let Some(found) = self.sources.tree(&shown) {
            return Some(found.clone());
        }
        let path = self.root.join(dir).join(name);
        match std::fs::metadata(&path) {
            Ok(found) if found.len() > LARGEST_FILE => {
                self.diagnostics.push(problems::loading::file_too_large(&shown, found.len(), LARGEST_FILE));
                return None;
            }
            _ => {}
        }
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(cause) => {
                self.diagnostics.push(problems::loading::unreadable_file(&shown, &cause));
                return None;
            }
        };
        let (tree, problems) = match kind_of(name) {
            Some(FileKind::Json) => weft_syntax::parse_json_bytes(&shown, &bytes),
            _ => weft_syntax::parse_bytes(&shown, &bytes),
        };
        self.diagnostics.extend(problems);
        self.sources.insert(&shown, &tree);
        Some(tree)
    }
}
