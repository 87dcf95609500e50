//! Errors of function calls, and their messages.

use smol_str::SmolStr;
use thiserror::Error;
use weft_graph_format::diagnostic::Diagnostic;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct FunctionError {
    /// The argument at fault, counted from 0.
    pub argument: Option<usize>,
    /// The problem, without a full stop, beginning in lower case.
    pub message: String,
}

impl FunctionError {
    /// The call as a whole failed: "Error in function call".
    pub fn new(message: impl Into<String>) -> FunctionError {
        FunctionError { argument: None, message: message.into() }
    }

    /// One argument is at fault: "Invalid function argument".
    pub fn argument(index: usize, message: impl Into<String>) -> FunctionError {
        FunctionError { argument: Some(index), message: message.into() }
    }
}

/// A call with the wrong number of arguments.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CountError {
    /// Too few.
    #[error(
        "Function \"{function}\" expects{} {expected} argument(s). Missing value for \"{missing}\".",
        if *at_least { " at least" } else { "" }
    )]
    NotEnough {
        /// The function.
        function: SmolStr,
        /// It takes more than that.
        at_least: bool,
        /// The minimum number of arguments.
        expected: usize,
        /// The first parameter without an argument.
        missing: SmolStr,
    },
    /// Too many.
    #[error("Function \"{function}\" expects only {expected} argument(s).")]
    TooMany {
        /// The function.
        function: SmolStr,
        /// The maximum number of arguments.
        expected: usize,
    },
}

impl CountError {
    /// As a diagnostic without a place.
    pub fn diagnostic(&self) -> Diagnostic {
        let (summary, function) = match self {
            CountError::NotEnough { function, .. } => ("Not enough function arguments", function),
            CountError::TooMany { function, .. } => ("Too many function arguments", function),
        };
        Diagnostic::error(summary, self.to_string()).calling(function)
    }
}

/// The diagnostic, without a place, for a failed call of `function` whose parameters have these names.
pub fn call_diagnostic(function: &str, parameter: Option<&str>, error: &FunctionError) -> Diagnostic {
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
