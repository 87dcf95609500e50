//! What a function call may use of its surroundings: files, the time of the plan, and whether impure functions run.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use weft_graph_format::formula::Occurrence;
use weft_graph_format::value::Value;

use crate::decoded::Decoded;

/// What impure functions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impure {
    /// They are run.
    Run,
    /// Their results are unknown, with the call as formula.
    Defer,
}

/// What stands under a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A socket, a device, ...
    Other,
}

/// How functions reach files, so that it can be forbidden, recorded or replaced. Symbolic links are followed.
pub trait Files: Send + Sync {
    /// The whole content.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The content of a file.
    fn kind(&self, path: &Path) -> io::Result<FileKind>;

    /// Names and kinds of a directory's entries, in any order.
    fn list(&self, path: &Path) -> io::Result<Vec<(String, FileKind)>>;

    /// The home directory of the user, for `~`.
    fn home(&self) -> Option<PathBuf>;

    /// The directory that relative paths of `abspath` and `path.cwd` begin at.
    fn current_directory(&self) -> io::Result<PathBuf>;
}

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        Ok(kind_of(&std::fs::metadata(path)?))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(String, FileKind)>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            // A dangling link has no metadata; it is neither a file nor a directory.
            let kind = std::fs::metadata(entry.path()).map_or(FileKind::Other, |m| kind_of(&m));
            if let Ok(name) = entry.file_name().into_string() {
                found.push((name, kind));
            }
        }
        Ok(found)
    }

    fn home(&self) -> Option<PathBuf> {
        std::env::var_os("HOME").filter(|h| !h.is_empty()).map(PathBuf::from)
    }

    fn current_directory(&self) -> io::Result<PathBuf> {
        std::env::current_dir()
    }
}

fn kind_of(metadata: &std::fs::Metadata) -> FileKind {
    if metadata.is_dir() {
        FileKind::Directory
    } else if metadata.is_file() {
        FileKind::File
    } else {
        FileKind::Other
    }
}

/// No files: for workers that must not read anything outside the plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForbiddenFiles;

fn forbidden<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "files cannot be read here"))
}

impl Files for ForbiddenFiles {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        forbidden()
    }

    fn kind(&self, _: &Path) -> io::Result<FileKind> {
        forbidden()
    }

    fn list(&self, _: &Path) -> io::Result<Vec<(String, FileKind)>> {
        forbidden()
    }

    fn home(&self) -> Option<PathBuf> {
        None
    }

    fn current_directory(&self) -> io::Result<PathBuf> {
        forbidden()
    }
}

/// The surroundings of a call, besides its arguments.
#[derive(Clone, Copy)]
pub struct CallContext<'a> {
    /// How files are reached.
    pub files: &'a dyn Files,
    /// What relative names of files are relative to; empty for the current directory.
    pub base_directory: &'a Path,
    /// What `plantimestamp()` gives, in RFC 3339; unknown where none is given.
    pub plan_timestamp: Option<&'a str>,
    /// What impure functions do.
    pub impure: Impure,
    /// The number of nested template calls around this one.
    pub template_depth: u32,
    /// The next number for an impure call.
    pub occurrences: &'a AtomicU32,
    /// The next number for a parameter of a symbolic body.
    pub parameters: &'a AtomicU32,
    /// The steps that the expression around the call has taken, to which those of templates that it evaluates are
    /// added; see [`crate::limits`].
    pub steps: Option<&'a AtomicU64>,
    /// Documents that were decoded before.
    pub decoded: Option<&'a Decoded>,
}

impl<'a> CallContext<'a> {
    /// A context with the files of this machine, in which impure functions are run.
    pub fn new(occurrences: &'a AtomicU32, parameters: &'a AtomicU32) -> CallContext<'a> {
        CallContext {
            files: &DiskFiles,
            base_directory: Path::new(""),
            plan_timestamp: None,
            impure: Impure::Run,
            template_depth: 0,
            occurrences,
            parameters,
            steps: None,
            decoded: None,
        }
    }

    /// A number that no other impure call of this session has.
    pub fn next_occurrence(&self) -> Occurrence {
        Occurrence(self.occurrences.fetch_add(1, Ordering::Relaxed))
    }

    /// What `decode` makes of the text of a document.
    pub(crate) fn decoded<E>(
        &self,
        function: &'static str,
        text: &Value,
        decode: impl FnOnce() -> Result<Value, E>,
    ) -> Result<Value, E> {
        match self.decoded {
            Some(decoded) => decoded.of(function, text, decode),
            None => decode(),
        }
    }

    /// The name of a file as the functions resolve it: below the base directory unless absolute.
    pub fn resolve(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base_directory.join(path)
    }
}
