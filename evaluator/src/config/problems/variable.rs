//! Diagnostics of `variable` blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

const INVALID_DEFAULT: &str = "Invalid default value for variable";

/// A reserved name.
pub(in crate::config) fn reserved_name(name: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("The variable name {name:?} is reserved, because it has another meaning in module blocks.");
    Diagnostic::error("Invalid variable name", detail).at(at.clone())
}

/// A validation whose condition does not refer to its variable.
pub(in crate::config) fn condition_of_other(name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("The condition must refer to the variable that it validates, var.{name}.");
    Diagnostic::error("Invalid variable validation condition", detail).at(at)
}

/// A default that does not have the type of the variable, for the reason `why`.
pub(in crate::config) fn incompatible_default(why: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("This default value is not compatible with the type of the variable: {why}.");
    Diagnostic::error(INVALID_DEFAULT, detail).at(at)
}

/// A default of null for a variable that is not nullable.
pub(in crate::config) fn null_default(at: SourceRange) -> Diagnostic {
    Diagnostic::error(INVALID_DEFAULT, "A null default value is not valid when nullable is false.").at(at)
}
