//! The errors of the functions, as constructors. Each concerns one argument or the whole call.

pub(super) mod choice;
pub(super) mod crypto;
pub(super) mod encoding;
pub(super) mod files;
pub(super) mod format;
pub(super) mod mapping;
pub(super) mod network;
pub(super) mod numeric;
pub(super) mod search;
pub(super) mod sequence;
pub(super) mod set;
pub(super) mod text;

use std::fmt::Display;

use super::FunctionError;

/// A function without an implementation was called.
pub(super) fn no_implementation() -> FunctionError {
    FunctionError::new("this function has no implementation")
}

/// An argument has no parameter.
pub(super) fn no_such_parameter(argument: usize) -> FunctionError {
    FunctionError::argument(argument, "there is no such parameter")
}

/// An argument that must have a value is null.
pub(super) fn null_argument(argument: usize) -> FunctionError {
    FunctionError::argument(argument, "argument must not be null")
}

/// The arguments exceed a limit together.
pub(super) fn arguments_too_large(excess: impl Display) -> FunctionError {
    FunctionError::new(format!("the arguments are too large together: {excess}"))
}

/// The result exceeds a limit.
pub(super) fn result_too_large(excess: impl Display) -> FunctionError {
    FunctionError::new(format!("the result is too large: {excess}"))
}

const RESULT_TOO_LONG: &str = "the result would be too long";

/// The text of the result would exceed the limit.
pub(super) fn result_too_long() -> FunctionError {
    FunctionError::new(RESULT_TOO_LONG)
}

/// The result would have too many parts.
pub(super) fn too_many_parts(most: u32) -> FunctionError {
    FunctionError::new(format!("the result would have more than {most} parts"))
}

/// An argument has another type than `wanted`.
pub(super) fn type_required(argument: usize, wanted: &str) -> FunctionError {
    FunctionError::argument(argument, format!("{wanted} required"))
}

/// A variadic function has no argument.
pub(super) fn no_arguments() -> FunctionError {
    FunctionError::new("at least one argument is required")
}
