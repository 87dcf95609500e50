//! Names of entries, and the rules for links.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use weft_providers::archive::inside;

use super::ArchiveError;

/// The maximum length of a name in bytes, as for paths on the supported systems.
const LONGEST_NAME: usize = 4096;
/// The maximum length of a name in messages, in characters.
const SHOWN_NAME: usize = 200;

/// The name of an entry: its path from the top of the archive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(PathBuf);

impl Name {
    /// Parses a name in an archive: `a/b`, `./a/b`, `a/b/`.
    pub(super) fn parse(text: &str) -> Result<Name, ArchiveError> {
        let escapes = || ArchiveError::Escapes(text.chars().take(SHOWN_NAME).collect());
        if text.len() > LONGEST_NAME {
            return Err(escapes());
        }
        inside(text).map(Name).ok_or_else(escapes)
    }

    /// Whether the name is the top of the archive.
    pub(super) fn is_top(&self) -> bool {
        self.0.as_os_str().is_empty()
    }

    /// The path below the top directory.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The names of the directories above the entry.
    pub(super) fn parents(&self) -> impl Iterator<Item = Component<'_>> {
        self.0.parent().into_iter().flat_map(Path::components)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.display())
    }
}

/// Whether a link with this name leads to a place in the directory. This remains true if the path of the target goes
/// through other links that this function allows.
///
/// `..` is allowed only at the beginning of the target, and at most once for each directory in the link's name. In
/// `a/..`, `..` is refused, because `a` may be a link to another directory, and `..` would lead out of that directory.
pub(super) fn link_stays_inside(name: &Name, target: &str) -> bool {
    if target.is_empty() || target.starts_with('/') || target.contains('\0') || target.len() > LONGEST_NAME {
        return false;
    }
    let parts: Vec<&str> = target.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let up = parts.iter().take_while(|part| **part == "..").count();
    up <= name.parents().count() && parts[up..].iter().all(|part| *part != "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_archive() {
        for (text, path) in [("a/b", "a/b"), ("./a//b/", "a/b"), ("", ""), ("./", "")] {
            assert_eq!(Name::parse(text).unwrap().to_string(), path);
        }
        for text in ["/a", "..", "a/../b", "a/..", "a\0b"] {
            assert!(Name::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn links_stay_inside_the_archive() {
        let inside = |name: &str, target: &str| link_stays_inside(&Name::parse(name).unwrap(), target);
        for (name, target) in [("a", "b"), ("a", "./b/c"), ("d/a", "../b"), ("d/e/a", "../../b"), ("d/a", "..")] {
            assert!(inside(name, target), "{name} {target}");
        }
        for (name, target) in [
            ("a", ".."),
            ("a", "../x"),
            ("d/a", "../../x"),
            ("a", "/etc"),
            ("a", ""),
            ("a", "d/e/../../../x"),
            ("a", "b/.."),
        ] {
            assert!(!inside(name, target), "{name} {target}");
        }
    }
}
