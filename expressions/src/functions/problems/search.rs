//! The errors of the functions that search in collections.

use crate::functions::FunctionError;

/// The first argument of `contains` is not a sequence.
pub(in crate::functions) fn not_a_sequence() -> FunctionError {
    FunctionError::new("argument must be list, tuple, or set")
}

/// The first argument of `index` has no order.
pub(in crate::functions) fn has_no_indices() -> FunctionError {
    FunctionError::new("argument must be a list or tuple")
}

/// The list of `index` is empty.
pub(in crate::functions) fn empty_list() -> FunctionError {
    FunctionError::new("cannot search an empty list")
}

/// The list of `index` lacks the item.
pub(in crate::functions) fn item_not_found() -> FunctionError {
    FunctionError::new("item not found")
}

/// The argument of `length` is a number or a bool.
pub(in crate::functions) fn has_no_length() -> FunctionError {
    FunctionError::new("argument must be a string, a collection type, or a structural type")
}

/// The keys and the search set of `matchkeys` have no common type.
pub(in crate::functions) fn key_types_differ() -> FunctionError {
    FunctionError::new("keys and searchset must be of the same type")
}

/// `matchkeys` has different numbers of keys and values.
pub(in crate::functions) fn key_count_differs() -> FunctionError {
    FunctionError::new("length of keys and values should be equal")
}

/// The argument of `one` has several elements, or is not a sequence.
pub(in crate::functions) fn more_than_one() -> FunctionError {
    FunctionError::argument(0, "must be a list, set, or tuple value with either zero or one elements")
}

/// An element of the list to sort is null.
pub(in crate::functions) fn cannot_sort_null(place: usize) -> FunctionError {
    FunctionError::new(format!("given list element {place} is null; a null string cannot be sorted"))
}
