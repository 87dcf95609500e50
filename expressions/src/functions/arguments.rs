//! Reads arguments whose type is already checked.

use weft_graph_format::number::Number;
use weft_graph_format::value::Value;

use super::{FunctionError, problems};

/// The message for a number that is not a 64-bit integer.
pub(super) const WHOLE_NUMBER: &str =
    "value must be a whole number, between -9223372036854775808 and 9223372036854775807";

/// The text of argument `index`.
pub(super) fn text(arguments: &[Value], index: usize) -> Result<&str, FunctionError> {
    arguments.get(index).and_then(Value::as_str).ok_or_else(|| problems::type_required(index, "string"))
}

/// The number in argument `index`.
pub(super) fn number(arguments: &[Value], index: usize) -> Result<&Number, FunctionError> {
    arguments.get(index).and_then(Value::as_number).ok_or_else(|| problems::type_required(index, "number"))
}

/// The elements of argument `index`: a known list, set or tuple.
pub(super) fn items(arguments: &[Value], index: usize) -> Result<&[Value], FunctionError> {
    arguments.get(index).and_then(Value::as_items).ok_or_else(|| problems::type_required(index, "list, set or tuple"))
}

/// The number as an integer, or the error message.
pub(super) fn whole(number: &Number) -> Result<i64, &'static str> {
    number.to_i64().ok_or(WHOLE_NUMBER)
}

/// Argument `index` as an integer. The error concerns the whole call, as in most of OpenTofu's functions.
pub(super) fn whole_at(arguments: &[Value], index: usize) -> Result<i64, FunctionError> {
    whole(number(arguments, index)?).map_err(FunctionError::new)
}
