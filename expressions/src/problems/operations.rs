//! Diagnostics of operators, literals and conversions.

use weft_graph_format::diagnostic::{Cause, Diagnostic};
use weft_graph_format::number::NumberError;

use crate::convert::ConvertError;
use crate::operator_error::OperatorError;

/// An operator without a result.
pub(crate) fn failed(error: &OperatorError) -> Diagnostic {
    match error {
        OperatorError::Operand { .. } => Diagnostic::error("Invalid operand", error.to_string()),
        OperatorError::Failed(_) => Diagnostic::error("Operation failed", error.to_string()),
    }
}

/// A null operand.
pub(crate) fn null_operand() -> OperatorError {
    OperatorError::Failed("argument must not be null".to_owned())
}

/// An operator that is not arithmetic, but was applied to numbers.
pub(crate) fn no_numeric_operation() -> OperatorError {
    OperatorError::Failed("not an operation on numbers".to_owned())
}

/// An expression that the parser could not read.
pub(crate) fn unreadable() -> Diagnostic {
    Diagnostic::error("Invalid expression", "This expression could not be parsed.")
}

/// A literal that is not a number.
pub(crate) fn invalid_number(error: &NumberError) -> Diagnostic {
    let detail = format!("Failed to recognize the value of this number literal: {error}.");
    Diagnostic::error("Invalid number literal", detail)
}

/// A value that does not convert to the required type.
pub(crate) fn unsuitable_value(error: &ConvertError) -> Diagnostic {
    let detail = format!("Unsuitable value: {}.", error.with_path());
    Diagnostic::error("Unsuitable value type", detail).cause(Cause::Conversion)
}
