//! Diagnostics of the protocol.

use weft_graph_format::diagnostic::Diagnostic;

/// The diagnostics of a worker cannot be decoded.
pub(crate) fn unreadable_message() -> Diagnostic {
    let detail = "The message of the worker cannot be read. The worker may have another version of Weft than the \
                  coordinator. Use the same version for both.";
    Diagnostic::error("Unreadable message", detail)
}
