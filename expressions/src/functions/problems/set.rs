//! The errors of the functions of sets.

use crate::functions::FunctionError;

/// The elements of several sets have no common type.
pub(in crate::functions) fn element_types_differ() -> FunctionError {
    FunctionError::new("given sets must all have compatible element types")
}

/// A set operation has no argument.
pub(in crate::functions) fn no_sets() -> FunctionError {
    FunctionError::new("at least one set is required")
}

/// `setproduct` has fewer than two arguments.
pub(in crate::functions) fn too_few_factors() -> FunctionError {
    FunctionError::new("at least two arguments are required")
}

/// The elements of a tuple have no common type.
pub(in crate::functions) fn mixed_tuple(argument: usize) -> FunctionError {
    FunctionError::argument(argument, "all elements must be of the same type")
}

/// An argument of `setproduct` is not a sequence.
pub(in crate::functions) fn not_a_factor(argument: usize) -> FunctionError {
    FunctionError::argument(argument, "a set or a list is required")
}

/// The result type of `setproduct` has no tuples.
pub(in crate::functions) fn tuples_expected() -> FunctionError {
    FunctionError::new("tuples expected")
}

/// The product has more elements than the limit.
pub(in crate::functions) fn product_too_large(limit: usize) -> FunctionError {
    FunctionError::new(format!("the product would have more than {limit} elements"))
}
