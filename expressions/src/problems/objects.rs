//! Diagnostics of object constructors.

use weft_graph_format::diagnostic::Diagnostic;

use crate::convert::ConvertError;

/// A null key.
pub(crate) fn null_key() -> Diagnostic {
    Diagnostic::error("Null value as key", "Can't use a null value as a key.")
}

/// A key that is not a string.
pub(crate) fn unsuitable_key(error: &ConvertError) -> Diagnostic {
    Diagnostic::error("Incorrect key type", format!("Can't use this value as a key: {error}."))
}

/// An invalid key in the JSON syntax. `problem` is the problem that evaluating the key found.
pub(crate) fn invalid_property(problem: Diagnostic) -> Diagnostic {
    Diagnostic::error("Invalid object key expression", problem.detail)
}

/// A duplicate property of the JSON syntax.
pub(crate) fn duplicate_property(name: &str) -> Diagnostic {
    let detail = format!("This object already has an attribute named {name:?}.");
    Diagnostic::error("Duplicate object attribute", detail)
}

/// A key such as `a.b`, which may be a reference or a name.
pub(crate) fn ambiguous_key() -> Diagnostic {
    Diagnostic::error(
        "Ambiguous attribute key",
        "If this expression is intended to be a reference, wrap it in parentheses. If it's instead intended as a \
         literal name containing periods, wrap it in quotes to create a string literal.",
    )
}
