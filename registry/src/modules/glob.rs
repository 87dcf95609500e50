//! The directory in a package, if its address has a pattern.

use std::fs;
use std::path::{Path, PathBuf};

/// The maximum number of directories that are visited for one address.
const MOST_MATCHES: usize = 1_000;

/// Why a pattern does not match exactly one directory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// No match.
    #[error("the package has no file or directory that matches {0:?}")]
    None(String),
    /// Several matches.
    #[error("the package has more than one directory that matches {0:?}")]
    Many(String),
}

/// Whether a path has wildcards.
pub fn has_wildcards(subdir: &str) -> bool {
    subdir.contains(['*', '?', '['])
}

/// The only path in a package that matches the pattern `subdir`, which may contain the wildcards `*`, `?` and `[..]`.
/// If the pattern has no wildcards, the path need not exist.
///
/// # Errors
/// Returns an error if no path matches, or if several paths match.
pub fn expand(package: &Path, subdir: &str) -> Result<PathBuf, GlobError> {
    let mut found = vec![package.to_owned()];
    for part in subdir.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if !has_wildcards(part) {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let mut next = Vec::new();
        for path in &found {
            let Ok(entries) = fs::read_dir(path) else { continue };
            for entry in entries.flatten() {
                if fits(&entry.file_name().to_string_lossy(), part) {
                    next.push(entry.path());
                }
                if next.len() > MOST_MATCHES {
                    return Err(GlobError::Many(subdir.to_owned()));
                }
            }
        }
        found = next;
    }
    if has_wildcards(subdir) {
        found.retain(|path| path.exists());
    }
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(path), None) => Ok(path),
        (None, _) => Err(GlobError::None(subdir.to_owned())),
        (Some(_), Some(_)) => Err(GlobError::Many(subdir.to_owned())),
    }
}

/// Whether a name matches a pattern. `*` stands for any characters, `?` for one character, `[a-z]` for one character of
/// a set, and `[^a-z]` for one character outside a set. A character after a backslash stands for itself.
fn fits(name: &str, pattern: &str) -> bool {
    let (name, pattern): (Vec<char>, Vec<char>) = (name.chars().collect(), pattern.chars().collect());
    let (mut at, mut from) = (0, 0);
    // The position of the last `*` in the pattern, and the end of the text that it matches.
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(from) {
            Some('*') => {
                star = Some((from + 1, at));
                from += 1;
                continue;
            }
            Some(_) if at < name.len() => one(name[at], &pattern[from..]),
            None if at == name.len() => return true,
            _ => None,
        };
        match (step, star) {
            (Some(width), _) => {
                at += 1;
                from += width;
            }
            (None, Some((after, stretched))) if stretched < name.len() => {
                star = Some((after, stretched + 1));
                at = stretched + 1;
                from = after;
            }
            _ => return false,
        }
    }
}

/// The length of the part of a pattern that matches this character. `None` if the character does not match.
fn one(c: char, pattern: &[char]) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '\\' => (pattern.get(1) == Some(&c)).then_some(2),
        '[' => {
            let negated = pattern.get(1) == Some(&'^');
            let start = if negated { 2 } else { 1 };
            let end = start + pattern.get(start..)?.iter().position(|p| *p == ']')?;
            let mut set = &pattern[start..end];
            let mut inside = false;
            while let [low, rest @ ..] = set {
                if let ['-', high, rest @ ..] = rest {
                    inside |= (*low..=*high).contains(&c);
                    set = rest;
                } else {
                    inside |= *low == c;
                    set = rest;
                }
            }
            (inside != negated).then_some(end + 1)
        }
        plain => (*plain == c).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names() {
        for (name, pattern) in
            [("abc", "*"), ("abc", "a*c"), ("abc", "a?c"), ("abc", "[a-c]b[^x]"), ("a*c", "a\\*c"), ("aab", "*ab")]
        {
            assert!(fits(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [("abc", "a"), ("abc", "a?"), ("abc", "[^a]*"), ("abc", "*d"), ("abc", "[a"), ("", "?")]
        {
            assert!(!fits(name, pattern), "{name} {pattern}");
        }
    }

    #[test]
    fn a_pattern_must_match_one_folder() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["repo-1.0/modules/a", "repo-1.0/modules/b"] {
            fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        let expand = |subdir: &str| expand(dir.path(), subdir);
        assert_eq!(expand(""), Ok(dir.path().to_owned()));
        assert_eq!(expand("*/modules/a"), Ok(dir.path().join("repo-1.0/modules/a")));
        assert_eq!(expand("gone"), Ok(dir.path().join("gone")));
        assert_eq!(expand("*/modules/*"), Err(GlobError::Many("*/modules/*".into())));
        assert_eq!(expand("x*"), Err(GlobError::None("x*".into())));
    }
}
