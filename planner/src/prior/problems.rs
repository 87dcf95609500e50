//! Diagnostics of stored objects.

use weft_graph_format::address::ResourceInstance;
use weft_graph_format::diagnostic::Diagnostic;

use crate::problems::INVALID_OBJECT;

/// A newer version of the provider stored the object.
pub(super) fn stored_by_newer_provider(address: &str, stored: u64, known: u64) -> Diagnostic {
    Diagnostic::error(
        "Resource instance managed by newer provider version",
        format!(
            "The stored object of {address} has schema version {stored}, but the installed provider only supports \
             version {known}. Use a newer version of the provider."
        ),
    )
}

/// A stored object does not match its schema.
pub(crate) fn stored_object_unreadable(address: &ResourceInstance) -> Diagnostic {
    Diagnostic::error(
        "Failed to decode resource from state",
        format!(
            "The stored object of {address} does not fit the current schema of its type. Use the version of the \
             provider that stored the object, or remove the object from the state with \"weft state rm\" and import it \
             again."
        ),
    )
    .about(address.to_string())
}

/// The provider returned a partly unknown object when a stored object was read.
pub(super) fn refreshed_unknown(address: &str) -> Diagnostic {
    let detail = format!(
        "The provider returned unknown values for {address}. This is a bug in the provider; please report it to the \
         developers of the provider."
    );
    Diagnostic::error(INVALID_OBJECT, detail).about(address)
}
