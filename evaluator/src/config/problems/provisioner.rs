//! Diagnostics of `provisioner` and `connection` blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A provisioner that OpenTofu has removed.
pub(in crate::config) fn gone(kind: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("The provisioner {kind:?} is no longer part of the language. Remove the block.");
    Diagnostic::error(format!("The \"{kind}\" provisioner has been removed"), detail).at(at.clone())
}

/// A second `connection` block.
pub(in crate::config) fn second_connection(at: &SourceRange) -> Diagnostic {
    let detail = "A provisioner can have only one connection block. Remove one of them.";
    Diagnostic::error("Duplicate connection block", detail).at(at.clone())
}

/// A `lifecycle` block, which is reserved.
pub(in crate::config) fn reserved_lifecycle(at: &SourceRange) -> Diagnostic {
    let detail = "The language reserves the block type \"lifecycle\" for future use. Remove the block.";
    Diagnostic::error("Reserved block type name in provisioner block", detail).at(at.clone())
}

/// A reference of a destroy-time provisioner to another object.
pub(in crate::config) fn reference_on_destroy(at: SourceRange) -> Diagnostic {
    let detail = "A destroy-time provisioner and its connection can only refer to self, count.index and each.key. \
                  Other objects may already be destroyed.";
    Diagnostic::error("Invalid reference from destroy provisioner", detail).at(at)
}
