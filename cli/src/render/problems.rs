//! Diagnostics for the display of states, as constructors.

use std::fmt::Display;

use weft_graph_format::diagnostic::Diagnostic;

/// The provider of a resource in the state has no schema for the type of the resource.
pub fn no_schema(address: &dyn Display) -> Diagnostic {
    unfit(format!("The provider of {address} has no schema for this resource type. Install a version that has one."))
}

/// The schema version of an object in the state differs from that of the provider's schema.
pub fn other_schema_version(address: &dyn Display, stored: u64, known: u64) -> Diagnostic {
    unfit(format!(
        "The object of {address} has schema version {stored}, but the schema of the installed provider has version \
         {known}. If the provider's schema is newer, run \"weft apply\", which upgrades the object in the state. \
         Otherwise, install a newer version of the provider."
    ))
}

/// An object in the state does not match its schema.
pub fn other_shape(address: &dyn Display, error: &dyn Display) -> Diagnostic {
    unfit(format!("{address} does not follow the schema of its provider: {error}."))
}

fn unfit(detail: String) -> Diagnostic {
    Diagnostic::error("Failed to marshal state to json", detail)
}
