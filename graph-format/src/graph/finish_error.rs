//! Why drafts do not make a graph.

use thiserror::Error;

/// Drafts that do not make a graph.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FinishError {
    /// Operations that wait for each other.
    #[error("operations wait for each other: {}", .0.join(", "))]
    Cycle(Vec<String>),
    /// A formula that cannot be written.
    #[error("a formula cannot be written: {0}")]
    Unwritable(String),
    /// A value or formula that holds an ephemeral constant.
    #[error("an ephemeral value would be stored in the plan for {0}")]
    EphemeralConstant(String),
    /// A formula reads an operation that has no result or does not exist.
    #[error("{reader} reads the result of operation {operation}, which has none")]
    NoResult {
        /// The reader.
        reader: String,
        /// The draft that is read.
        operation: u32,
    },
    /// A reserved number that no operation took.
    #[error("operation {operation} was promised and never drafted")]
    NotDrafted {
        /// The number.
        operation: u32,
    },
    /// A number that names no draft where one is needed, or that two operations took.
    #[error("operation {operation} was used while drafting before it was drafted, or drafted twice")]
    Misused {
        /// The number.
        operation: u32,
    },
    /// A formula of an earlier draft that reads a later one.
    #[error("operation {operation} is read by an operation that was drafted before it")]
    ReadBeforeDrafted {
        /// The draft that is read.
        operation: u32,
    },
    /// An operand or order that names no draft.
    #[error("{user} uses operation {operation}, which was never drafted")]
    NoOperation {
        /// Who uses it.
        user: String,
        /// The named operation.
        operation: u32,
    },
}
