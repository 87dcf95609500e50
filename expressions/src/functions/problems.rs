//! Constructors of the errors of functions. Each error concerns one argument or the whole call.

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

use super::FunctionError;

const RESULT_TOO_LONG: &str = "the result would be too long";

/// The text of the result would exceed the limit.
pub(super) fn result_too_long() -> FunctionError {
    FunctionError::new(RESULT_TOO_LONG)
}

/// The result would have too many parts.
pub(super) fn too_many_parts(most: u32) -> FunctionError {
    FunctionError::new(format!("the result would have more than {most} parts"))
}

/// An argument does not have the type `wanted`.
pub(super) fn type_required(argument: usize, wanted: &str) -> FunctionError {
    FunctionError::argument(argument, format!("{wanted} required"))
}

/// A variadic function has no argument.
pub(super) fn no_arguments() -> FunctionError {
    FunctionError::new("at least one argument is required")
}
