//! Diagnostics of `moved` blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A resource and a module in one block.
pub(in crate::config) fn unlike_addresses(at: &SourceRange) -> Diagnostic {
    let detail = "Both addresses must refer to resources, or both to modules.";
    Diagnostic::error("Invalid \"moved\" addresses", detail).at(at.clone())
}

/// A missing address, or the address of an object that cannot be moved. `name` is the argument: `from` or `to`.
pub(in crate::config) fn unmovable(name: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("The argument {name:?} must be the address of a resource or module. Only these can be moved.");
    Diagnostic::error("Invalid \"moved\" address", detail).at(at.clone())
}
