//! Errors of operators.

use thiserror::Error;
use weft_graph_format::number::NumberError;

/// The position of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The only operand.
    Only,
    /// The left operand.
    Left,
    /// The right operand.
    Right,
}

/// Why an operator has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OperatorError {
    /// An operand is unsuitable.
    #[error("Unsuitable value for {} operand: {message}.", match side {
        Side::Only => "unary",
        Side::Left => "left",
        Side::Right => "right",
    })]
    Operand {
        /// The unsuitable operand.
        side: Side,
        /// What is wrong with the operand.
        message: String,
    },
    /// The operands are suitable, but the operation fails.
    #[error("Error during operation: {0}.")]
    Failed(String),
}

impl OperatorError {
    /// The unsuitable operand, if there is one.
    pub fn side(&self) -> Option<Side> {
        match self {
            OperatorError::Operand { side, .. } => Some(*side),
            OperatorError::Failed(_) => None,
        }
    }
}

impl From<NumberError> for OperatorError {
    fn from(error: NumberError) -> OperatorError {
        OperatorError::Failed(error.to_string())
    }
}
