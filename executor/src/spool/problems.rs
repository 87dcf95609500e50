//! Spools that cannot be used, and why.

use std::io;

use super::SealError;

/// Why a spool cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The operating system refuses an operation.
    #[error("{doing} {path}: {error}")]
    Io {
        /// The attempted operation.
        doing: &'static str,
        /// The file or folder.
        path: String,
        /// The reason of the operating system.
        error: io::Error,
    },
    /// Another process uses the spool.
    #[error("another worker uses {0}: give this worker another name with -name, or another directory with -spool")]
    InUse(String),
    /// A record cannot be decrypted.
    #[error(
        "{path} has results that cannot be decrypted: {error}. Set TF_ENCRYPTION of the worker to the settings that \
         encrypted these results. If the file is removed, the operations of these results are in doubt"
    )]
    Sealed {
        /// The file.
        path: String,
        /// The reason.
        error: UnreadableRecord,
    },
    /// A record cannot be encrypted.
    #[error("{0}")]
    Unsealed(#[source] SealError),
    /// A result has more bytes than a frame can have.
    #[error("a result is too large")]
    ResultTooLarge,
    /// The spool would become too large.
    #[error("{path} would have more than {most} bytes")]
    Full {
        /// The file.
        path: String,
        /// The maximum size in bytes.
        most: u64,
    },
}

/// Why a record of a spool cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableRecord {
    /// The record cannot be decrypted.
    #[error("{0}")]
    Sealed(#[source] SealError),
    /// The record has an unknown form.
    #[error("a record was written by a newer version of Weft")]
    Newer,
}
