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

/// A key of a resource that no instance can have.
pub(in crate::config) fn invalid_key(key: &str, at: &SourceRange) -> Diagnostic {
    Diagnostic::error(INVALID, key_detail(key)).at(at.clone())
}

/// A key of a module that no instance can have.
pub(in crate::config) fn invalid_module_key(key: &str, at: &SourceRange) -> Diagnostic {
    Diagnostic::error("Invalid address operator", key_detail(key)).at(at.clone())
}

fn key_detail(key: &str) -> String {
    format!("The key {key} must be a string or a whole number of zero or more.")
}

/// An address that continues after a resource.
pub(in crate::config) fn steps_after_resource(at: &SourceRange) -> Diagnostic {
    let detail = "The address must end with the name of a resource or with its key. An attribute cannot follow.";
    Diagnostic::error(INVALID, detail).at(at.clone())
}
