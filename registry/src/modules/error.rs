//! Why a package is not there.

use std::io;
use std::path::{Path, PathBuf};

use crate::archive::ArchiveError;
use crate::http::HttpError;
use crate::problem::Problem;

/// Why a package cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// No such way, or one that Weft does not go.
    #[error("packages cannot be fetched by {0:?}: there are git, http, https, oci and file")]
    Way(String),
    /// A way that needs a program or a service that Weft does not use.
    #[error(
        "packages from {0} are not supported: offer the module as an archive over https, in a git repository or in a \
         registry"
    )]
    Unsupported(&'static str),
    /// An address that is none.
    #[error("{0:?} is not an address that could be fetched")]
    Address(String),
    /// An argument in the query of an address.
    #[error("the argument {name} in the address cannot be {value:?}: {problem}")]
    Argument {
        /// Which.
        name: &'static str,
        /// As written.
        value: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// The folder that was named is not there.
    #[error("{0} is not a directory")]
    NoDirectory(PathBuf),
    /// Somebody elsewhere names a place on this machine.
    #[error("{0} leads to a local directory; a module from elsewhere may not name one")]
    Inward(String),
    /// No answer, or one that does not serve.
    #[error("{0}")]
    Http(#[from] HttpError),
    /// The archive that came.
    #[error("{0}")]
    Archive(#[from] ArchiveError),
    /// An OCI registry that does not help.
    #[error("{0}")]
    Oci(#[from] Problem),
    /// What is in an OCI registry is no module.
    #[error("{place} {problem}")]
    NoModulePackage {
        /// Where.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// Git failed.
    #[error("{0}")]
    Git(#[from] GitError),
    /// Neither a header nor a page that leads on.
    #[error("{0} is no archive by its name, and the answer does not say where there is one")]
    NoSource(String),
    /// A circle, most likely.
    #[error("more than {0} addresses lead from one to the next")]
    TooManyHops(usize),
    /// What came is not what was meant.
    #[error("the {kind} checksum of what was fetched is {found}, and not {wanted}")]
    Checksum {
        /// The function.
        kind: &'static str,
        /// What it should be.
        wanted: String,
        /// What it is.
        found: String,
    },
    /// No checksum of the package in the file of checksums.
    #[error("{0} has no checksum of this package")]
    NoChecksum(String),
    /// A file of ours.
    #[error("{path}: {error}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl FetchError {
    /// A file that cannot be read or written.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> FetchError {
        let path = path.to_owned();
        move |error| FetchError::Io { path, error }
    }
}

/// Why git did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It cannot be started.
    #[error("git cannot be started: {0}. Modules from git repositories need it")]
    Start(io::Error),
    /// It failed.
    #[error("git {command} failed: {output}")]
    Failed {
        /// Its first word.
        command: String,
        /// What it said.
        output: String,
    },
    /// No branch, tag or commit of this name.
    #[error("there is no branch, tag or commit {0:?} in the repository")]
    NoRef(String),
    /// A commit where a name is needed.
    #[error(
        "git clone failed: {0}. With the argument depth, the argument ref must name a branch or a tag, and not a commit"
    )]
    ShallowCommit(String),
}
