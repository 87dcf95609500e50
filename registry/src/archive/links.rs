//! Names of entries, and the links that are allowed.

use std::fmt;
use std::path::PathBuf;

use super::ArchiveError;

/// The maximum length of a name in bytes, as for paths on the supported systems.
const LONGEST_NAME: usize = 4096;
/// The maximum length of a name in messages, in characters.
const SHOWN_NAME: usize = 200;

/// The name of an entry: the steps from the top of the archive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(Vec<String>);

impl Name {
    /// Parses a name in an archive: `a/b`, `./a/b`, `a/b/`.
    pub(super) fn parse(text: &str) -> Result<Name, ArchiveError> {
        let escapes = || ArchiveError::Escapes(text.chars().take(SHOWN_NAME).collect());
        if text.starts_with('/') || text.contains('\0') || text.len() > LONGEST_NAME {
            return Err(escapes());
        }
        let parts: Vec<String> =
            text.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect();
        if parts.iter().any(|part| part == "..") { Err(escapes()) } else { Ok(Name(parts)) }
    }

    /// Whether it is the top of the archive.
    pub(super) fn is_top(&self) -> bool {
        self.0.is_empty()
    }

    /// The path below the folder.
    pub(super) fn path(&self) -> PathBuf {
        self.0.iter().collect()
    }

    /// The steps before the last.
    pub(super) fn parents(&self) -> &[String] {
        self.0.split_last().map_or(&[], |(_, parents)| parents)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}

/// Whether a link with this name and target stays in the folder, together with any other such links.
///
/// `..` is allowed only at its beginning, and at most as often as there are folders above the link. After a name it
/// would lead up from the target of any link with that name.
pub(super) fn link_stays_inside(name: &Name, target: &str) -> bool {
    if target.is_empty() || target.starts_with('/') || target.contains('\0') || target.len() > LONGEST_NAME {
        return false;
    }
    let parts: Vec<&str> = target.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let up = parts.iter().take_while(|part| **part == "..").count();
    up <= name.parents().len() && parts[up..].iter().all(|part| *part != "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (text, path) in [("a/b", "a/b"), ("./a//b/", "a/b"), ("", ""), ("./", "")] {
            assert_eq!(Name::parse(text).unwrap().to_string(), path);
        }
        for text in ["/a", "..", "a/../b", "a/..", "a\0b"] {
            assert!(Name::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn links() {
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
