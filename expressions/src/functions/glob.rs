//! Finds files by pattern: `*` and `?` within a name, `**` across directories, `[a-z]`, `{a,b}`, and `\` to escape a
//! character. Names that start with a dot are not special.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{FileKind, Files};

/// The maximum number of patterns that alternatives in braces expand to.
const MOST_ALTERNATIVES: usize = 1024;

/// The maximum number of directories that one search reads.
const MOST_DIRECTORIES: usize = 100_000;

/// The maximum depth that `**` descends to. Symbolic links may form cycles.
const DEEPEST_DIRECTORY: usize = 64;

/// Why a search failed.
#[derive(Debug, Error)]
pub(super) enum GlobError {
    /// A bracket, brace or escape is not closed.
    #[error("syntax error in pattern")]
    Syntax,
    /// The search exceeds a limit of this file.
    #[error("the pattern has too many alternatives or reaches too many directories")]
    TooMuch,
    /// A directory cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The regular files below `directory` that match, by relative name.
pub(super) fn find(files: &dyn Files, directory: &Path, pattern: &str) -> Result<BTreeSet<String>, GlobError> {
    check(pattern)?;
    let mut search = Search { files, found: BTreeSet::new(), seen: BTreeSet::new(), directories: 0 };
    for pattern in alternatives(pattern)? {
        let mut segments: Vec<&str> = Vec::new();
        for segment in pattern.split('/').filter(|s| !s.is_empty()) {
            if segment != "**" || segments.last() != Some(&"**") {
                segments.push(segment);
            }
        }
        search.seen.clear();
        search.walk(directory.to_path_buf(), String::new(), &segments, 0)?;
    }
    Ok(search.found)
}

/// Checks that brackets, braces and escapes are closed.
fn check(pattern: &str) -> Result<(), GlobError> {
    let mut chars = pattern.chars();
    let mut braces = 0u32;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next().ok_or(GlobError::Syntax)?;
            }
            '{' => braces += 1,
            '}' => braces = braces.checked_sub(1).ok_or(GlobError::Syntax)?,
            '[' => {
                let mut length = 0;
                loop {
                    match chars.next().ok_or(GlobError::Syntax)? {
                        ']' if length > 0 => break,
                        '\\' => {
                            chars.next().ok_or(GlobError::Syntax)?;
                            length += 1;
                        }
                        '^' | '!' if length == 0 => {}
                        _ => length += 1,
                    }
                }
            }
            _ => {}
        }
    }
    if braces == 0 { Ok(()) } else { Err(GlobError::Syntax) }
}

/// Expands the braces of a pattern.
fn alternatives(pattern: &str) -> Result<Vec<String>, GlobError> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(pattern) = open.pop() {
        if done.len() + open.len() > MOST_ALTERNATIVES {
            return Err(GlobError::TooMuch);
        }
        let Some((start, end, commas)) = first_braces(&pattern) else {
            done.push(pattern);
            continue;
        };
        let mut from = start + 1;
        for to in commas.into_iter().chain([end]) {
            open.push(format!("{}{}{}", &pattern[..start], &pattern[from..to], &pattern[end + 1..]));
            from = to + 1;
        }
    }
    Ok(done)
}

/// The start, end and commas of the first braces.
fn first_braces(pattern: &str) -> Option<(usize, usize, Vec<usize>)> {
    let mut start = None;
    let mut depth = 0u32;
    let mut commas = Vec::new();
    let mut escaped = false;
    for (at, c) in pattern.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match c {
            '\\' => escaped = true,
            '{' => {
                start = start.or(Some(at));
                depth += 1;
            }
            ',' if depth == 1 => commas.push(at),
            '}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    return Some((start?, at, commas));
                }
            }
            _ => {}
        }
    }
    None
}

struct Search<'a> {
    files: &'a dyn Files,
    found: BTreeSet<String>,
    /// The visited directories, each with the number of segments that were matched before it.
    seen: BTreeSet<(PathBuf, usize)>,
    directories: usize,
}

fn below(name: &str, entry: &str) -> String {
    if name.is_empty() { entry.into() } else { format!("{name}/{entry}") }
}

impl Search<'_> {
    /// Searches a directory for matches of `segments`. `name` is its name relative to the start of the search.
    fn walk(&mut self, path: PathBuf, name: String, segments: &[&str], depth: usize) -> Result<(), GlobError> {
        if depth > DEEPEST_DIRECTORY || !self.seen.insert((path.clone(), segments.len())) {
            return Ok(());
        }
        self.directories += 1;
        if self.directories > MOST_DIRECTORIES {
            return Err(GlobError::TooMuch);
        }
        let Some((segment, rest)) = segments.split_first() else { return Ok(()) };
        if *segment == "**" && !rest.is_empty() {
            self.walk(path.clone(), name.clone(), rest, depth)?;
        }
        if !segment.contains(['*', '?', '[', '\\']) {
            let next = path.join(segment);
            let kind = match self.files.kind(&next) {
                Ok(kind) => kind,
                Err(e) if absent(&e) => return Ok(()),
                Err(e) => return Err(e.into()),
            };
            return self.entry(next, below(&name, segment), kind, rest, depth);
        }
        let entries = match self.files.list(&path) {
            Ok(entries) => entries,
            Err(e) if absent(&e) => return Ok(()),
            Err(e) => return Err(e.into()),
        };
        for (entry, kind) in entries {
            let (next, next_name) = (path.join(&entry), below(&name, &entry));
            if *segment != "**" {
                if fits(segment, &entry) {
                    self.entry(next, next_name, kind, rest, depth)?;
                }
            } else if kind == FileKind::Directory {
                self.walk(next, next_name, segments, depth + 1)?;
            } else if rest.is_empty() && kind == FileKind::File {
                self.found.insert(next_name);
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        path: PathBuf,
        name: String,
        kind: FileKind,
        rest: &[&str],
        depth: usize,
    ) -> Result<(), GlobError> {
        match (kind, rest.is_empty()) {
            (FileKind::File, true) => {
                self.found.insert(name);
                Ok(())
            }
            (FileKind::Directory, false) => self.walk(path, name, rest, depth + 1),
            _ => Ok(()),
        }
    }
}

fn absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether a name matches a pattern without slashes and braces. On a mismatch, the search goes back to the last `*`,
/// which then matches one more character. It never goes back to an earlier `*`, so the time is at most the product of
/// the lengths.
fn fits(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    loop {
        if pattern.get(p) == Some(&'*') {
            again = Some((p + 1, n));
            p += 1;
            continue;
        }
        let step = match name.get(n) {
            None if p == pattern.len() => return true,
            None => None,
            Some(c) => one(&pattern[p..], *c),
        };
        if let Some(length) = step {
            p += length;
            n += 1;
            continue;
        }
        match again {
            Some((after, from)) if from < name.len() => {
                again = Some((after, from + 1));
                p = after;
                n = from + 1;
            }
            _ => return false,
        }
    }
}

/// The length of the pattern's first element, if it matches the character.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['\\', literal, ..] => (*literal == c).then_some(2),
        ['[', class @ ..] => {
            let negative = matches!(class.first(), Some('^' | '!'));
            let mut at = usize::from(negative);
            let mut inside = false;
            let mut first = true;
            loop {
                let mut low = *class.get(at)?;
                if low == ']' && !first {
                    return (inside != negative).then_some(at + 2);
                }
                first = false;
                if low == '\\' {
                    at += 1;
                    low = *class.get(at)?;
                }
                at += 1;
                let mut high = low;
                if class.get(at) == Some(&'-') && class.get(at + 1).is_some_and(|c| *c != ']') {
                    at += 1;
                    if class.get(at) == Some(&'\\') {
                        at += 1;
                    }
                    high = *class.get(at)?;
                    at += 1;
                }
                inside |= (low..=high).contains(&c);
            }
        }
        [literal, ..] => (*literal == c).then_some(1),
        [] => None,
    }
}
