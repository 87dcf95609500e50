//! The errors of `format` and `formatlist`. Offsets count bytes of the format string.

use std::fmt::Display;

use crate::functions::FunctionError;

/// Two lists of `formatlist` differ in length.
pub(in crate::functions) fn lengths_differ(
    argument: usize,
    length: usize,
    first: usize,
    expected: usize,
) -> FunctionError {
    FunctionError::argument(
        argument,
        format!(
            "argument {argument} has length {length}, which is inconsistent with argument {first} of length {expected}"
        ),
    )
}

/// `formatlist` would have more results than the limit.
pub(in crate::functions) fn too_many_results(most: usize) -> FunctionError {
    FunctionError::new(format!("more than {most} results"))
}

/// One of the results of `formatlist` fails.
pub(in crate::functions) fn iteration_failed(round: usize, error: &FunctionError) -> FunctionError {
    FunctionError::new(format!("error on format iteration {round}: {}", error.message))
}

/// All results of `formatlist` together exceed the limit.
pub(in crate::functions) fn results_too_long(most: impl Display) -> FunctionError {
    FunctionError::new(format!("the results would have more than {most} bytes together"))
}

/// A verb cannot format its value.
pub(in crate::functions) fn unsupported_value(verb: &str, offset: usize, why: impl Display) -> FunctionError {
    FunctionError::new(format!("unsupported value for {verb:?} at {offset}: {why}"))
}

/// A verb other than `%v` has a null value.
pub(in crate::functions) fn cannot_format_null(verb: &str, offset: usize) -> FunctionError {
    unsupported_value(verb, offset, "null value cannot be formatted")
}

/// A verb for integers has a fraction as its value.
pub(in crate::functions) fn integer_required(verb: &str, offset: usize) -> FunctionError {
    unsupported_value(verb, offset, "an integer is required")
}

/// The format string ends in a verb.
pub(in crate::functions) fn unfinished_verb(offset: usize) -> FunctionError {
    FunctionError::new(format!("invalid format string starting at offset {offset}"))
}

/// A verb has no argument.
pub(in crate::functions) fn not_enough_arguments(
    verb: &str,
    offset: usize,
    wanted: usize,
    count: usize,
) -> FunctionError {
    FunctionError::new(format!(
        "not enough arguments for {verb:?} at {offset}: need index {wanted} but have {count} total"
    ))
}

/// The format string uses only the first `used` arguments.
pub(in crate::functions) fn too_many_arguments(used: usize) -> FunctionError {
    let why = match used {
        0 => "no verbs in format string".into(),
        used => format!("only {used} used by format string"),
    };
    FunctionError::argument(used + 1, format!("too many arguments; {why}"))
}

/// A character is not part of a verb.
pub(in crate::functions) fn unrecognized_character(character: char, offset: usize) -> FunctionError {
    FunctionError::new(format!("unrecognized format character {character:?} at offset {offset}"))
}

/// A width, a precision or an index in a verb exceeds the limit.
pub(in crate::functions) fn number_too_large(largest: usize) -> FunctionError {
    FunctionError::new(format!("a number over {largest} in a verb is not supported"))
}

/// A letter is not a verb.
pub(in crate::functions) fn unsupported_verb(letter: char, verb: &str, offset: usize) -> FunctionError {
    FunctionError::new(format!("unsupported format verb {letter:?} in {verb:?} at offset {offset}"))
}
