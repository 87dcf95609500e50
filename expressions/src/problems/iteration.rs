//! Problems of `for` and splat. The summaries become those of a `Diagnostic`.

use weft_graph_format::diagnostic::Cause;
use weft_graph_format::types::Type;

use super::Problem;
use crate::convert::ConvertError;

const INVALID_CONDITION: &str = "Invalid 'for' condition";
const INVALID_KEY: &str = "Invalid object key";
const NULL_CONDITION: &str = "The value of the 'if' clause must not be null.";

/// A `for` over null.
pub(crate) fn null_collection() -> Problem {
    Problem::new("Iteration over null value", "A null value cannot be used as the collection in a 'for' expression.")
}

/// A `for` over a value of type `ty`, which has no elements.
pub(crate) fn no_collection(ty: &Type) -> Problem {
    Problem::new(
        "Iteration over non-iterable value",
        format!("A value of type {} cannot be used as the collection in a 'for' expression.", ty.friendly_name()),
    )
}

/// A condition that is null for every element.
pub(crate) fn always_null() -> Problem {
    Problem::new("Condition is null", NULL_CONDITION)
}

/// A condition that is null for an element.
pub(crate) fn null_condition() -> Problem {
    Problem::new(INVALID_CONDITION, NULL_CONDITION)
}

/// A condition that is not a truth value.
pub(crate) fn unsuitable_condition(error: &ConvertError) -> Problem {
    Problem::new(INVALID_CONDITION, format!("The 'if' clause value is invalid: {error}."))
}

/// A null key.
pub(crate) fn null_key() -> Problem {
    Problem::new(INVALID_KEY, "Key expression in 'for' expression must not produce a null value.")
}

/// A key that is not a string.
pub(crate) fn unsuitable_key(error: &ConvertError) -> Problem {
    Problem::new(INVALID_KEY, format!("The key expression produced an invalid result: {error}."))
}

/// A key that two results have.
pub(crate) fn duplicate_key(key: &str) -> Problem {
    Problem::new(
        "Duplicate object key",
        format!(
            "Two different items produced the key {key:?} in this 'for' expression. If duplicates are expected, use \
             the ellipsis (...) after the value expression to enable grouping by key."
        ),
    )
    .cause(Cause::RepeatedKey)
}

/// A splat over a null sequence.
pub(crate) fn splat_of_null() -> Problem {
    Problem::new("Splat of null value", "Splat expressions (with the * symbol) cannot be applied to null sequences.")
}
