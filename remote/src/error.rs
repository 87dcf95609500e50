//! Errors, grouped by the time at which they occur: before, during and after connecting.

use std::time::Duration;

/// The settings of a connection are unusable. Retrying does not help.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A private key cannot be read.
    #[error("the private key cannot be read: {0}")]
    PrivateKey(String),
    /// A private key needs a passphrase.
    #[error(
        "the private key is protected by a passphrase, which is not supported: decrypt it before use, for example with ssh-keygen -p"
    )]
    Passphrase,
    /// A certificate cannot be read.
    #[error("the certificate cannot be read: {0}")]
    Certificate(String),
    /// The certificate is a plain public key.
    #[error(
        "the certificate is a plain public key of type {0}: give the text of a file whose name ends in -cert.pub, or \
         remove the argument certificate"
    )]
    NotACertificate(String),
    /// A host key cannot be read.
    #[error("the host key cannot be read: {0}. A host key is one line, such as: ssh-ed25519 AAAA...")]
    HostKey(String),
    /// The agent does not respond.
    #[error("the SSH agent at {socket} does not respond: {reason}")]
    Agent {
        /// The path of the socket of the agent.
        socket: String,
        /// The error.
        reason: String,
    },
}

/// No connection could be made. Nothing was changed on the machine.
#[derive(Debug, thiserror::Error)]
#[error("timeout after {} without a connection - last error: {last}", shown(.waited))]
pub struct ConnectError {
    /// The time spent on attempts.
    pub waited: Duration,
    /// The last error.
    pub last: String,
}

fn shown(waited: &Duration) -> String {
    format!("{waited:?}")
}

/// A command or an upload failed.
#[derive(Debug, thiserror::Error)]
pub enum RemoteCallError {
    /// The command ended with an exit status other than 0.
    #[error("Process exited with status {0}")]
    Exit(u32),
    /// A signal ended the command.
    #[error("the command was ended by the signal {0}")]
    Signal(String),
    /// The machine refused to run the command.
    #[error("the host refused {0}")]
    Refused(&'static str),
    /// The machine cannot receive a file.
    #[error("{0}")]
    Upload(String),
    /// `scp` is missing on the machine.
    #[error("scp did not start: the program scp must be installed on the host")]
    NoScp,
    /// A local file cannot be read.
    #[error("{path}: {reason}")]
    Local {
        /// The path of the file.
        path: String,
        /// The error.
        reason: String,
    },
    /// The connection ended before the outcome was known.
    #[error("the connection was lost: {0}")]
    Lost(String),
}

impl RemoteCallError {
    pub(crate) fn lost(error: impl std::fmt::Display) -> RemoteCallError {
        RemoteCallError::Lost(error.to_string())
    }

    pub(crate) fn local(path: &std::path::Path, reason: impl std::fmt::Display) -> RemoteCallError {
        RemoteCallError::Local { path: path.display().to_string(), reason: reason.to_string() }
    }
}
