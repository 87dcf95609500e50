//! Why a graph cannot be made from drafts.

use thiserror::Error;

/// Why a graph cannot be made from drafts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FinishError {
    /// Operations that wait for each other.
    #[error("operations wait for each other: {}", .0.join(", "))]
    Cycle(Vec<String>),
    /// A formula that cannot be stored.
    #[error("a formula cannot be written: {0}")]
    Unwritable(String),
    /// A value or formula that contains an ephemeral constant.
    #[error("an ephemeral value would be stored in the plan for {0}")]
    EphemeralConstant(String),
    /// A formula reads an operation that has no result or does not exist.
    #[error("{reader} reads the result of operation {operation}, which has no result")]
    NoResult {
        /// The operation that reads.
        reader: String,
        /// The number of the draft that is read.
        operation: u32,
    },
    /// A reserved number that was not assigned to any operation.
    #[error("operation {operation} was reserved, but never drafted")]
    NotDrafted {
        /// The number.
        operation: u32,
    },
    /// A number that has no draft although one is needed, or that was assigned to two operations.
    #[error("operation {operation} was used before it was drafted, or was drafted twice")]
    Misused {
        /// The number.
        operation: u32,
    },
    /// A formula of an earlier draft that reads the result of a later draft.
    #[error("operation {operation} is read by an operation that was drafted before operation {operation}")]
    ReadBeforeDrafted {
        /// The number of the draft that is read.
        operation: u32,
    },
    /// An operand or a wait that refers to no draft.
    #[error("{user} uses operation {operation}, which was never drafted")]
    NoOperation {
        /// The operation that has the reference.
        user: String,
        /// The number in the reference.
        operation: u32,
    },
}
