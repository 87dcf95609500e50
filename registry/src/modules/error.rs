//! Errors of fetching a package.

use std::io;
use std::path::{Path, PathBuf};

use crate::archive::ArchiveError;
use crate::http::HttpError;
use crate::package_error::PackageError;

/// Why a package cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address names an unknown method of fetching.
    #[error("packages cannot be fetched with {0:?}: use git, http, https, oci or file")]
    Way(String),
    /// A method that needs a program or a service that Weft does not use.
    #[error(
        "packages from {0} are not supported: offer the module as an archive over https, in a git repository or in a \
         registry"
    )]
    Unsupported(&'static str),
    /// An invalid address.
    #[error("{0:?} is not the address of a package")]
    Address(String),
    /// An invalid argument in the query of an address.
    #[error("the argument {name} in the address cannot be {value:?}: {problem}")]
    Argument {
        /// The name.
        name: &'static str,
        /// The value as written.
        value: String,
        /// The problem.
        problem: &'static str,
    },
    /// The directory does not exist.
    #[error("{0} is not a directory")]
    NoDirectory(PathBuf),
    /// A remote source has an address on this machine.
    #[error("{0} is a local directory, but a remote source must not refer to a local directory")]
    Inward(String),
    /// The request failed.
    #[error("{0}")]
    Http(#[from] HttpError),
    /// The archive cannot be unpacked.
    #[error("{0}")]
    Archive(#[from] ArchiveError),
    /// An OCI registry failed.
    #[error("{0}")]
    Oci(#[from] PackageError),
    /// An artifact in an OCI registry is not a module.
    #[error("{place} {problem}")]
    NoModulePackage {
        /// The address of the artifact.
        place: String,
        /// The problem.
        problem: String,
    },
    /// Git failed.
    #[error("{0}")]
    Git(#[from] GitError),
    /// The page has no address of a package, in a header or in a tag.
    #[error("{0} is not the address of an archive, and the response names no other address (X-Terraform-Get)")]
    NoSource(String),
    /// Too many addresses that lead to another address, most likely a cycle.
    #[error("there are more than {0} redirects from one address to the next, most likely in a cycle")]
    TooManyHops(usize),
    /// A wrong checksum.
    #[error(
        "the {kind} checksum of the download is {found} instead of {wanted}: find out why the download has changed, or \
         correct the expected checksum"
    )]
    Checksum {
        /// The hash function.
        kind: &'static str,
        /// The expected checksum.
        wanted: String,
        /// The actual checksum.
        found: String,
    },
    /// The file of checksums has no checksum for the package.
    #[error("the list of checksums at {0} has no checksum of this package")]
    NoChecksum(String),
    /// A local file cannot be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

impl FetchError {
    /// Makes the error for a file that cannot be read or written.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> FetchError {
        let path = path.to_owned();
        move |error| FetchError::Io { path, error }
    }
}

/// Why git failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git cannot be started.
    #[error("git, which fetches modules from git repositories, cannot be started: {0}")]
    Start(io::Error),
    /// Git reported a failure.
    #[error("git {command} failed: {output}")]
    Failed {
        /// The subcommand.
        command: String,
        /// Git's output.
        output: String,
    },
    /// There is no branch, tag or commit of this name.
    #[error("there is no branch, tag or commit {0:?} in the repository")]
    NoRef(String),
    /// The name is a commit, but must be a branch or a tag.
    #[error(
        "git clone failed: {0}. With the argument depth, the argument ref must name a branch or a tag, not a commit"
    )]
    ShallowCommit(String),
}
