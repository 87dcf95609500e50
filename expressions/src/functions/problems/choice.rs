//! The errors of the functions that choose or convert a value.

use weft_graph_format::types::Type;

use crate::functions::FunctionError;

/// The arguments have no common type.
pub(in crate::functions) fn types_differ() -> FunctionError {
    FunctionError::new("all arguments must have the same type")
}

/// Every argument of `coalesce` is null or an empty string.
pub(in crate::functions) fn all_null_or_empty() -> FunctionError {
    FunctionError::new("no non-null, non-empty-string arguments")
}

/// An argument of `coalescelist` is neither a list nor a tuple.
pub(in crate::functions) fn cannot_choose_list() -> FunctionError {
    FunctionError::new("coalescelist arguments must be lists or tuples")
}

/// Every argument of `coalescelist` is null or empty.
pub(in crate::functions) fn all_null() -> FunctionError {
    FunctionError::new("no non-null arguments")
}

/// No conversion from one type to the other exists.
pub(in crate::functions) fn cannot_convert(have: &Type, want: &str) -> FunctionError {
    FunctionError::argument(0, format!("cannot convert {} to {want}", have.friendly_name()))
}
