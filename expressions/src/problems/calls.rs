//! Errors of function calls, and their diagnostics.

use std::fmt::Display;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::nearest::did_you_mean;

use crate::call_error::{CountError, FunctionError};
use crate::convert::ConvertError;

const INVALID_EXPANSION: &str = "Invalid expanding argument value";
const UNKNOWN_FUNCTION: &str = "Call to unknown function";

/// A call in an expression that must be constant.
pub(crate) fn not_allowed() -> Diagnostic {
    Diagnostic::error("Function calls not allowed", "Functions may not be called here.")
}

/// A name that begins with `provider::` and is not that of a provider function.
pub(crate) fn invalid_provider_function(name: &str) -> Diagnostic {
    let detail = format!(
        "invalid provider function {name:?}: expected provider::<name>::<function> or \
         provider::<name>::<alias>::<function>"
    );
    Diagnostic::error("Unable to parse provider function", detail)
}

/// A name with an unknown namespace.
pub(crate) fn unknown_namespace(name: &str) -> Diagnostic {
    let detail = format!("Function {name:?} does not exist within a valid namespace (provider,core)");
    Diagnostic::error("Unknown function namespace", detail)
}

/// A function that does not exist. `all` are the names of all existing functions.
pub(crate) fn unknown_function<'a>(name: &str, all: impl Iterator<Item = &'a str>) -> Diagnostic {
    let hint = did_you_mean(name, all);
    Diagnostic::error(UNKNOWN_FUNCTION, format!("There is no function named {name:?}.{hint}"))
}

/// A provider function in a template.
pub(crate) fn provider_function_in_template(name: &str) -> Diagnostic {
    let detail = format!("There is no function named {name:?}: a template cannot call functions of providers.");
    Diagnostic::error(UNKNOWN_FUNCTION, detail)
}

/// A provider function without a configuration.
pub(crate) fn no_provider(name: &str) -> Diagnostic {
    let detail = format!(
        "The function {name:?} belongs to a provider, but -eval-json evaluates without a configuration, and so without \
         providers. Use \"weft console\" without -eval-json."
    );
    Diagnostic::error("Unknown provider function", detail)
}

/// A null argument with `...`.
pub(crate) fn null_expansion() -> Diagnostic {
    Diagnostic::error(INVALID_EXPANSION, "The expanding argument (indicated by ...) must not be null.")
}

/// An argument with `...` that is not a sequence.
pub(crate) fn unsuitable_expansion() -> Diagnostic {
    let detail = "The expanding argument (indicated by ...) must be of a tuple, list, or set type.";
    Diagnostic::error(INVALID_EXPANSION, detail)
}

/// A call with the wrong number of arguments.
pub(crate) fn wrong_count(error: &CountError) -> Diagnostic {
    match error {
        CountError::NotEnough { function, .. } => {
            Diagnostic::error("Not enough function arguments", error.to_string()).calling(function)
        }
        CountError::TooMany { function, .. } => {
            Diagnostic::error("Too many function arguments", error.to_string()).calling(function)
        }
    }
}

/// A failed call of `function`. `parameter` is the name of the parameter whose argument is invalid.
pub(crate) fn failed(function: &str, parameter: Option<&str>, error: &FunctionError) -> Diagnostic {
    let problem = match parameter {
        Some(parameter) => Diagnostic::error(
            "Invalid function argument",
            format!("Invalid value for \"{parameter}\" parameter: {}.", error.message),
        ),
        None => Diagnostic::error(
            "Error in function call",
            format!("Call to function \"{function}\" failed: {}.", error.message),
        ),
    };
    problem.calling(function)
}

/// A provider function in an expression that must be constant.
pub(crate) fn not_callable() -> FunctionError {
    FunctionError::new("functions may not be called here")
}

/// A provider function in a template, found when it is called.
pub(crate) fn not_callable_in_template() -> FunctionError {
    FunctionError::new("a template cannot call functions of providers")
}

/// A provider function without a configuration, found when it is called.
pub(crate) fn no_providers() -> FunctionError {
    FunctionError::new("no providers are available here")
}

/// An argument that no parameter accepts.
pub(crate) fn no_parameter(index: usize) -> FunctionError {
    FunctionError::argument(index, "the function has no parameter for this argument")
}

/// A null argument for a parameter that does not accept null.
pub(crate) fn null_argument(index: usize) -> FunctionError {
    FunctionError::argument(index, "argument must not be null")
}

/// An argument that does not convert to the type of its parameter.
pub(crate) fn unsuitable_argument(index: usize, error: &ConvertError) -> FunctionError {
    FunctionError::argument(index, error.to_string())
}

/// A result that does not convert to the type in the signature.
pub(crate) fn unsuitable_result(error: &ConvertError) -> FunctionError {
    FunctionError::new(format!("the provider returned a value of the wrong type: {error}"))
}

/// A `try` without arguments.
pub(crate) fn nothing_to_try() -> FunctionError {
    FunctionError::new("at least one argument is required")
}

/// A `try` whose arguments all failed, with these problems.
pub(crate) fn no_success(problems: &[Diagnostic]) -> FunctionError {
    let mut text = String::from("no expression succeeded:\n");
    for problem in problems {
        text.push_str("- ");
        text.push_str(&problem.summary);
        if let Some(subject) = &problem.subject {
            text.push_str(&format!(" (at {}:{},{})", subject.file, subject.start.line, subject.start.column));
        }
        text.push_str("\n  ");
        text.push_str(&problem.detail.replace('\n', "\n  "));
        text.push('\n');
    }
    text.push_str("\nAt least one expression must produce a successful result");
    FunctionError::new(text)
}

/// A call of a function without an implementation.
pub(crate) fn no_implementation() -> FunctionError {
    FunctionError::new("this function has no implementation")
}

/// An argument that no parameter of the function accepts.
pub(crate) fn no_such_parameter(argument: usize) -> FunctionError {
    FunctionError::argument(argument, "the function has no parameter for this argument")
}

/// Arguments that together exceed a limit.
pub(crate) fn arguments_too_large(excess: impl Display) -> FunctionError {
    FunctionError::new(format!("the arguments are too large together: {excess}"))
}

/// A result that exceeds a limit.
pub(crate) fn result_too_large(excess: impl Display) -> FunctionError {
    FunctionError::new(format!("the result is too large: {excess}"))
}
