//! The errors of the functions of numbers.

use weft_graph_format::types::Type;

use crate::functions::FunctionError;

/// A result is not a number.
pub(in crate::functions) fn result_not_a_number() -> FunctionError {
    FunctionError::new("the result is not a number")
}

/// `min` or `max` has no arguments.
pub(in crate::functions) fn no_numbers() -> FunctionError {
    FunctionError::new("must pass at least one number")
}

/// The type of the first argument of `parseint` is not string.
pub(in crate::functions) fn not_a_string_type(ty: &Type) -> FunctionError {
    FunctionError::argument(0, format!("first argument must be a string, not {}", ty.friendly_name()))
}

/// The first argument of `parseint` is a null string.
pub(in crate::functions) fn not_a_string() -> FunctionError {
    FunctionError::argument(0, "first argument must be a string")
}

/// The base of `parseint` is out of range.
pub(in crate::functions) fn invalid_base() -> FunctionError {
    FunctionError::argument(1, "base must be a whole number between 2 and 62 inclusive")
}

/// A text is not an integer in the base.
pub(in crate::functions) fn cannot_parse(text: &str, base: u32) -> FunctionError {
    FunctionError::argument(0, format!("cannot parse {text:?} as a base {base} integer"))
}

/// The argument of `sum` is not a collection.
pub(in crate::functions) fn cannot_sum() -> FunctionError {
    FunctionError::argument(0, "cannot sum noniterable")
}

/// The argument of `sum` is empty.
pub(in crate::functions) fn cannot_sum_empty() -> FunctionError {
    FunctionError::argument(0, "cannot sum an empty list")
}

/// The argument of `sum` is a map or an object.
pub(in crate::functions) fn cannot_sum_type(ty: &Type) -> FunctionError {
    FunctionError::argument(0, format!("argument must be list, set, or tuple. Received {}", ty.friendly_name()))
}

/// An element in the argument of `sum` is not a number.
pub(in crate::functions) fn cannot_sum_elements() -> FunctionError {
    FunctionError::argument(0, "argument must be list, set, or tuple of number values")
}
