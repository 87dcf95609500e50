//! The reasons to refuse a worker.

use weft_identity::Peer;
use weft_protocol::PROTOCOL;

/// Why the coordinator refuses a worker. The worker receives the message.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkerRefusal {
    /// The worker uses a version of the protocol that does not work with the version of the coordinator.
    #[error(
        "the worker uses protocol version {theirs}, but the coordinator uses version {PROTOCOL}: update the program \
         with the older version"
    )]
    Version {
        /// The version of the worker.
        theirs: u32,
    },
    /// The name is empty, or contains the character that ends a name in the identity of a worker.
    #[error("a worker needs a name without `/`")]
    Name,
    /// The caller may not offer itself to every run.
    #[error(
        "{0} does not have the role worker, so this process may only carry out operations that must run on the machine \
         of its user"
    )]
    Role(Peer),
    /// The name belongs to another caller.
    #[error("another caller has connected as the worker {0}: give this worker another name with -name")]
    OtherCaller(String),
    /// A living process uses the name.
    #[error("another worker named {0} is connected: give this worker another name with -name")]
    NameTaken(String),
}
