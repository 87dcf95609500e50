//! The diagnostics of commands that read or change the state, as constructors.

use std::fmt::Display;

use weft_graph_format::address::ResourceInstance;
use weft_graph_format::diagnostic::Diagnostic;

/// A state file cannot be read.
pub fn state_not_loaded(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to load state", format!("{error}."))
}

/// There is no state.
pub fn no_state_file() -> Diagnostic {
    Diagnostic::error(
        "No state file was found",
        "State management commands require a state file. Run this command in a directory where Weft has been run, or use \
         the -state option to point to a state file.",
    )
}

/// The state has no instance at this address.
pub fn no_instance() -> Diagnostic {
    Diagnostic::error(
        "No instance found for the given address",
        "The state has no instance with this address. \"weft state list\" shows the addresses that it has.",
    )
}

/// Objects cannot be moved to this address.
pub fn invalid_move_target(what: String) -> Diagnostic {
    Diagnostic::error("Invalid target address", what)
}

/// `state rm` takes at least one address.
pub fn address_required() -> Diagnostic {
    Diagnostic::error(
        "Invalid number of arguments",
        "At least one address is required: a module, a resource, or a resource instance.",
    )
}

/// The state has no object at this address.
pub fn nothing_to_remove() -> Diagnostic {
    Diagnostic::error(
        "Invalid target address",
        "The state has no object with this address. \"weft state list\" shows the addresses that it has.",
    )
}

/// Replacing a provider needs approval, but input is disabled.
pub fn replacement_not_approved() -> Diagnostic {
    Diagnostic::error("Approval needed", "Input is disabled, so Weft cannot ask for approval. Use -auto-approve.")
}

/// The input ended before the question was answered.
pub fn no_answer() -> Diagnostic {
    Diagnostic::error("Error asking for approval", "The input ended without an answer. Use -auto-approve in scripts.")
}

/// Only managed resources can be tainted.
pub fn not_managed(address: &ResourceInstance, name: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid resource address",
        format!("Resource instance {address} cannot be {name}ed: only objects of `resource` blocks can."),
    )
}

/// The object to untaint is not tainted.
pub fn not_tainted(address: &ResourceInstance) -> Diagnostic {
    Diagnostic::error(
        "Resource instance is not tainted",
        format!("Resource instance {address} is not currently tainted, and so it cannot be untainted."),
    )
}

/// The state has no objects.
pub fn nothing_to_refresh() -> Diagnostic {
    Diagnostic::warning(
        "Empty or non-existent state",
        "The state has no objects yet, so there is nothing to refresh. \"weft apply\" creates them.",
    )
}
