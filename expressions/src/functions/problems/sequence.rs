//! The errors of the functions of lists and tuples.

use std::fmt::Display;

use weft_graph_format::types::Type;

use crate::functions::FunctionError;

/// The chunk size is not a 64-bit integer.
pub(in crate::functions) fn invalid_size(why: impl Display) -> FunctionError {
    FunctionError::new(format!("invalid size: {why}"))
}

/// The chunk size is negative.
pub(in crate::functions) fn negative_size() -> FunctionError {
    FunctionError::new("the size argument must be positive")
}

/// An argument of `concat` is neither a list nor a tuple.
pub(in crate::functions) fn cannot_concatenate(argument: usize, ty: &Type) -> FunctionError {
    FunctionError::argument(argument, format!("all arguments must be lists or tuples; got {}", ty.friendly_name()))
}

/// The index of `element` is not a 64-bit integer.
pub(in crate::functions) fn invalid_index(why: impl Display) -> FunctionError {
    FunctionError::new(format!("invalid index: {why}"))
}

/// The list of `element` is empty.
pub(in crate::functions) fn no_element_in_empty_list() -> FunctionError {
    FunctionError::new("cannot use element function with an empty list")
}

/// The first argument of `element` has no elements.
pub(in crate::functions) fn has_no_elements(ty: &Type) -> FunctionError {
    FunctionError::new(format!("cannot read elements from {}", ty.friendly_name()))
}

/// The argument of `flatten` is not a sequence.
pub(in crate::functions) fn cannot_flatten() -> FunctionError {
    FunctionError::new("can only flatten lists, sets and tuples")
}

/// `range` has no arguments, or more than three.
pub(in crate::functions) fn wrong_range_arguments() -> FunctionError {
    FunctionError::new("must have one, two, or three arguments")
}

/// A range goes down, but its end is greater than its start.
pub(in crate::functions) fn range_end_above_start() -> FunctionError {
    FunctionError::argument(1, "end must be less than start when step is negative")
}

/// A range goes up, but its end is less than its start.
pub(in crate::functions) fn range_end_below_start() -> FunctionError {
    FunctionError::argument(1, "end must be greater than start when step is positive")
}

/// A range has more values than the limit.
pub(in crate::functions) fn range_too_long(limit: usize) -> FunctionError {
    FunctionError::new(format!(
        "more than {limit} values were generated; either decrease the difference between start and end or use a \
         smaller step"
    ))
}

/// The argument of `reverse` has no order.
pub(in crate::functions) fn cannot_reverse(ty: &Type) -> FunctionError {
    FunctionError::argument(0, format!("can only reverse list or tuple values, not {}", ty.friendly_name()))
}

/// A bound of a slice is not a 64-bit integer.
pub(in crate::functions) fn invalid_bound(argument: usize, bound: &str, why: impl Display) -> FunctionError {
    FunctionError::argument(argument, format!("invalid {bound} index: {why}"))
}

/// A bound of a slice is negative.
pub(in crate::functions) fn negative_bound(argument: usize, bound: &str) -> FunctionError {
    FunctionError::argument(argument, format!("{bound} index must not be less than zero"))
}

/// A bound of a slice is after the end of the list.
pub(in crate::functions) fn bound_after_end(argument: usize, bound: &str) -> FunctionError {
    FunctionError::argument(argument, format!("{bound} index must not be greater than the length of the list"))
}

/// A slice starts after its end.
pub(in crate::functions) fn slice_start_after_end() -> FunctionError {
    FunctionError::argument(1, "start index must not be greater than end index")
}

/// The value to slice is a set.
pub(in crate::functions) fn cannot_slice_set() -> FunctionError {
    FunctionError::argument(
        0,
        "cannot slice a set, because its elements do not have indices; explicitly convert to a list if the ordering \
         of the result is not important",
    )
}

/// The value to slice is neither a list nor a tuple.
pub(in crate::functions) fn cannot_slice() -> FunctionError {
    FunctionError::argument(0, "must be a list or tuple value")
}
