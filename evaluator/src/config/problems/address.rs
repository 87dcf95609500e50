//! Diagnostics of addresses in `moved`, `removed`, `import` and override blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

const INVALID: &str = "Invalid address";

/// An address without the type or the name of a resource.
pub(in crate::config) fn incomplete_resource(at: &SourceRange) -> Diagnostic {
    let detail = "The address of a resource must have a type and a name, such as aws_vpc.main.";
    Diagnostic::error(INVALID, detail).at(at.clone())
}

/// An address that ends after `module`.
pub(in crate::config) fn unnamed_module(at: &SourceRange) -> Diagnostic {
    Diagnostic::error("Invalid address operator", "\"module.\" must be followed by the name of a module call.")
        .at(at.clone())
}

/// A key that is a number, but not an index.
pub(in crate::config) fn invalid_key(digits: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("The key {digits} must be a whole number of zero or more.");
    Diagnostic::error(INVALID, detail).at(at.clone())
}

/// An address that continues after a resource.
pub(in crate::config) fn steps_after_resource(at: &SourceRange) -> Diagnostic {
    let detail = "The address must end with the name of a resource or with its key. An attribute cannot follow.";
    Diagnostic::error(INVALID, detail).at(at.clone())
}
