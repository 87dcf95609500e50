//! Diagnostics of the protocol.

use weft_graph_format::diagnostic::Diagnostic;

/// The diagnostics of a worker cannot be decoded.
pub(crate) fn unreadable_message() -> Diagnostic {
    let detail = "The worker's message could not be read: it may be of another version of Weft.";
    Diagnostic::error("Unreadable message", detail)
}
