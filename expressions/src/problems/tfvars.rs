//! Errors of the functions that convert between values and the text of variable files.

use weft_graph_format::diagnostic::Diagnostic;

use crate::call_error::FunctionError;

/// The index of the only parameter of each function.
const INPUT: usize = 0;

/// A call without exactly one argument.
pub(crate) fn one_argument() -> FunctionError {
    FunctionError::new("the function takes one argument")
}

/// A function that the provider does not have.
pub(crate) fn no_such_function() -> FunctionError {
    FunctionError::new("the provider has no such function")
}

/// A text that does not parse, or a value in it that cannot be evaluated.
pub(crate) fn undecodable(problem: &Diagnostic) -> FunctionError {
    FunctionError::new(format!("failed to decode tfvars content: {}; {}", problem.summary, problem.detail))
}

/// A block in the text.
pub(crate) fn block_in_content(block_type: &str) -> FunctionError {
    FunctionError::new(format!("tfvars content cannot contain blocks, but it has a block {block_type:?}"))
}

/// A value without attributes that could become variables.
pub(crate) fn no_object() -> FunctionError {
    FunctionError::argument(INPUT, "the value must be an object, whose attributes become variables")
}

/// An attribute whose name cannot be the name of a variable.
pub(crate) fn invalid_name(name: &str) -> FunctionError {
    FunctionError::argument(INPUT, format!("{name:?} is not a valid variable name"))
}

/// A value with too many levels.
pub(crate) fn too_deep() -> FunctionError {
    FunctionError::argument(INPUT, "the value is nested too deeply")
}

/// A value that contains a provider.
pub(crate) fn provider_in_value() -> FunctionError {
    FunctionError::argument(INPUT, "a provider configuration cannot be written as an expression")
}

/// A value with an unknown part.
pub(crate) fn unknown_value() -> FunctionError {
    FunctionError::argument(INPUT, "the value is not known yet")
}
