//! The errors of the functions of strings, regular expressions, templates and times.

use std::fmt::Display;

use crate::functions::FunctionError;

/// The number of spaces to indent by is negative.
pub(in crate::functions) fn negative_spaces() -> FunctionError {
    FunctionError::argument(0, "the number of spaces must not be negative")
}

/// The indented text would exceed the limit.
pub(in crate::functions) fn indented_too_long() -> FunctionError {
    FunctionError::argument(0, super::RESULT_TOO_LONG)
}

/// `join` has no list.
pub(in crate::functions) fn no_lists() -> FunctionError {
    FunctionError::new("at least one list is required")
}

/// An element to join is null. `several` says whether the call has several lists.
pub(in crate::functions) fn cannot_join_null(list: usize, place: usize, several: bool) -> FunctionError {
    let of = if several { format!(" of list {list}") } else { String::new() };
    FunctionError::argument(list, format!("element {place}{of} is null; cannot concatenate null values"))
}

/// An argument is not a regular expression.
pub(in crate::functions) fn invalid_pattern(why: impl Display) -> FunctionError {
    FunctionError::argument(0, format!("invalid regexp pattern: {why}"))
}

/// Some groups of a regular expression have names, and others do not.
pub(in crate::functions) fn mixed_groups() -> FunctionError {
    invalid_pattern("cannot mix both named and unnamed capture groups")
}

/// The text has no match.
pub(in crate::functions) fn no_match() -> FunctionError {
    FunctionError::new("pattern did not match any part of the given string")
}

/// The text that `replace` looks for is not a regular expression.
pub(in crate::functions) fn invalid_replace_pattern(why: impl Display) -> FunctionError {
    FunctionError::new(format!("error parsing regexp: {why}"))
}

/// The variables of a template are not a map.
pub(in crate::functions) fn variables_not_a_map() -> FunctionError {
    FunctionError::argument(1, "invalid vars value: must be a map")
}

/// The name of a template variable is not an identifier.
pub(in crate::functions) fn invalid_variable_name(name: &str) -> FunctionError {
    FunctionError::argument(
        1,
        format!(
            "invalid template variable name {name:?}: must start with a letter, followed by zero or more letters, \
             digits, and underscores"
        ),
    )
}

/// A template fails without a diagnostic.
pub(in crate::functions) fn cannot_render() -> FunctionError {
    FunctionError::new("the template cannot be rendered")
}

/// The map of template variables is sensitive or ephemeral.
pub(in crate::functions) fn marked_variables() -> FunctionError {
    FunctionError::new("the map of variables as a whole is sensitive or ephemeral; mark the values in the map instead")
}

/// A time has no representation.
pub(in crate::functions) fn time_out_of_range() -> FunctionError {
    FunctionError::new("the resulting time is out of range")
}
