//! Errors of function calls.

use smol_str::SmolStr;
use thiserror::Error;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct FunctionError {
    /// The index of the invalid argument, or `None` if the whole call failed.
    pub argument: Option<usize>,
    /// What is wrong: starts in lower case and has no full stop.
    pub message: String,
}

impl FunctionError {
    /// An error of the whole call. The summary of its diagnostic is "Error in function call".
    pub fn new(message: impl Into<String>) -> FunctionError {
        FunctionError { argument: None, message: message.into() }
    }

    /// An error of one argument. The summary of its diagnostic is "Invalid function argument".
    pub fn argument(index: usize, message: impl Into<String>) -> FunctionError {
        FunctionError { argument: Some(index), message: message.into() }
    }
}

/// A call with the wrong number of arguments.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CountError {
    /// Too few arguments.
    #[error(
        "Function \"{function}\" expects{} {expected} argument(s). Missing value for \"{missing}\".",
        if *at_least { " at least" } else { "" }
    )]
    NotEnough {
        /// The name of the function.
        function: SmolStr,
        /// Whether the function also accepts more than `expected` arguments.
        at_least: bool,
        /// The number of required arguments.
        expected: usize,
        /// The first parameter without an argument.
        missing: SmolStr,
    },
    /// Too many arguments.
    #[error("Function \"{function}\" expects only {expected} argument(s).")]
    TooMany {
        /// The name of the function.
        function: SmolStr,
        /// The number of accepted arguments.
        expected: usize,
    },
}
