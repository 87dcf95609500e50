//! The diagnostics of input variables, as constructors.

use std::fmt::Display;

use weft_graph_format::diagnostic::Diagnostic;

/// The name in a `-var` option ends with a space.
pub fn trailing_space(name: &str, value: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid -var option",
        format!(
            "Variable name {name:?} is invalid due to trailing space. Did you mean -var=\"{}={}\"?",
            name.trim(),
            value.trim()
        ),
    )
}

/// A `-var` option has no equals sign.
pub fn invalid_var_option(text: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid -var option",
        format!(
            "The given -var option {text:?} is not correctly specified. It must be a variable name and value separated \
             by an equals sign: -var=\"key=value\"."
        ),
    )
}

/// An environment variable is not UTF-8.
pub fn value_not_utf8(name: &str) -> Diagnostic {
    let detail = format!("The value of {name} is not UTF-8. Set the variable to valid UTF-8.");
    Diagnostic::error("Invalid value of environment variable", detail)
}

/// A variables file has a value for a variable that the root module does not declare.
pub fn undeclared_in_file(source: &str, name: &str) -> Diagnostic {
    Diagnostic::warning(
        "Value for undeclared variable",
        format!(
            "{source:?} gives a value to {name:?}, but the root module declares no such variable. Declare the \
             variable, or remove the value.\n\nFor values that many configurations share, use environment variables \
             TF_VAR_NAME: they cause no such warnings. With -compact-warnings, these warnings are short."
        ),
    )
}

/// A `-var` option has a value for a variable that the root module does not declare.
pub fn undeclared_in_option(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Value for undeclared variable",
        format!(
            "-var gives a value to {name:?}, but the root module declares no such variable. Declare the variable, or \
             remove the option."
        ),
    )
}

/// There are more values for undeclared variables than the shown ones.
pub fn more_undeclared_values(more: usize) -> Diagnostic {
    Diagnostic::warning(
        "Values for undeclared variables",
        match more {
            1 => "One more value is for a variable that the root module does not declare.".to_owned(),
            more => format!("{more} more values are for variables that the root module does not declare."),
        },
    )
}

/// A variable of the root module has no value.
pub fn no_value(name: &str) -> Diagnostic {
    Diagnostic::error(
        "No value for required variable",
        format!(
            "The variable {name:?} of the root module has neither a value nor a default. Give it a value with -var, \
             -var-file or TF_VAR_NAME."
        ),
    )
}

/// A variables file does not exist.
pub fn no_file(path: &str) -> Diagnostic {
    Diagnostic::error("Failed to read variables file", format!("Given variables file {path} does not exist."))
}

/// A variables file is too large.
pub fn file_too_large(path: &str, size: u64, limit: u64) -> Diagnostic {
    Diagnostic::error(
        "Failed to read variables file",
        format!("The file {path} has {size} bytes; the limit is {limit}."),
    )
}

/// A variables file cannot be read.
pub fn file_unreadable(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to read variables file", format!("Error while reading {path}: {error}."))
}
