//! Diagnostics of `output` blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A `postcondition` block of an output.
pub(in crate::config) fn postcondition(at: &SourceRange) -> Diagnostic {
    let detail = "The conditions of an output are checked before its value is stored. Use a precondition instead.";
    Diagnostic::error("Postconditions are not allowed", detail).at(at.clone())
}
