//! The environment of a function call: files, the time of the plan, and whether impure functions run.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use weft_graph_format::formula::Occurrence;
use weft_graph_format::value::Value;

use crate::decoded::Decoded;

/// How impure functions behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impure {
    /// Impure functions run.
    Run,
    /// Impure functions do not run. Their results are unknown, with the call as formula.
    Defer,
}

/// The kind of a file system entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else, such as a socket or a device.
    Other,
}

/// File access for functions. Implementations can forbid, record or replace it. Symbolic links are followed.
pub trait Files: Send + Sync {
    /// Reads a whole file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The kind of the entry at `path`.
    fn kind(&self, path: &Path) -> io::Result<FileKind>;

    /// The names and kinds of the entries of a directory, in any order.
    fn list(&self, path: &Path) -> io::Result<Vec<(String, FileKind)>>;

    /// The home directory of the user, for `~`.
    fn home(&self) -> Option<PathBuf>;

    /// The directory that `abspath` and `path.cwd` resolve relative paths against.
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
            // A dangling link has no metadata. It is neither a file nor a directory.
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

/// Denies access to all files. Used by workers, which must not read anything that is not in the plan.
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

/// The environment of a function call: everything except its arguments.
#[derive(Clone, Copy)]
pub struct CallContext<'a> {
    /// File access.
    pub files: &'a dyn Files,
    /// The directory that relative file names are resolved against. Empty for the current directory.
    pub base_directory: &'a Path,
    /// The result of `plantimestamp()`, in RFC 3339. Unknown if `None`.
    pub plan_timestamp: Option<&'a str>,
    /// How impure functions behave.
    pub impure: Impure,
    /// The nesting depth of the templates around this call. Only templates that `templatefile` or `templatestring`
    /// evaluates count. 0 outside of such templates.
    pub template_depth: u32,
    /// The counter for impure calls.
    pub occurrences: &'a AtomicU32,
    /// The counter for parameters of symbolic bodies.
    pub parameters: &'a AtomicU32,
    /// The counter of steps of the surrounding expression. Templates that the call evaluates add their steps. See
    /// [`crate::limits`].
    pub steps: Option<&'a AtomicU64>,
    /// The cache of decoded documents, if there is one.
    pub decoded: Option<&'a Decoded>,
}

impl<'a> CallContext<'a> {
    /// Creates a context that reads the files of this machine and runs impure functions.
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

    /// Returns a number that no other impure call of this session has.
    pub fn next_occurrence(&self) -> Occurrence {
        Occurrence(self.occurrences.fetch_add(1, Ordering::Relaxed))
    }

    /// Decodes the text of a document with `decode`, or returns the cached result.
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

    /// Resolves a file name: relative names are joined to the base directory.
    pub fn resolve(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base_directory.join(path)
    }
}
