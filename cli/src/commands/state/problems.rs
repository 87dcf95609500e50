//! The diagnostics of commands that read or change the state, as constructors.

use std::fmt::Display;

use weft_graph_format::address::ResourceInstance;
use weft_graph_format::diagnostic::{Diagnostic, Severity};
use weft_state::Doubt;

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
        "The state has no instance with this address. \"weft state list\" shows the addresses in the state.",
    )
}

/// Objects cannot be moved to this address.
pub fn invalid_move_target(what: String) -> Diagnostic {
    Diagnostic::error("Invalid target address", what)
}

/// A move would change the mode or type of an object.
pub fn invalid_move_request(what: String) -> Diagnostic {
    Diagnostic::error("Invalid state move request", what)
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
        "The state has no object with this address. \"weft state list\" shows the addresses in the state.",
    )
}

/// The replacement of a provider needs approval, but with `-json` there are no questions.
pub fn json_without_approval() -> Diagnostic {
    Diagnostic::error("Invalid usage", "Weft does not ask for approval with -json. Add -auto-approve.")
}

/// The replacement of a provider needs approval, but input is disabled.
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

/// The text is not the address of an instance.
pub fn invalid_instance_address(text: &str, escaped: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Error parsing instance address \"{escaped}\""),
        format!("{text:?} must name one instance, such as TYPE.NAME or TYPE.NAME[KEY]."),
    )
}

/// The outcome of an operation is unknown.
pub fn instance_in_doubt(doubt: &Doubt) -> Diagnostic {
    Diagnostic { severity: Severity::Warning, ..doubt.problem() }
}

/// The text is not the address of a provider.
pub fn invalid_provider(role: &str, text: &str, detail: String) -> Diagnostic {
    Diagnostic::error(format!("Invalid \"{role}\" provider \"{text}\""), detail)
}

/// The source of a move is not in the state.
pub fn invalid_move_source(from: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid source address",
        format!("Cannot move {from}: it does not match anything in the current state."),
    )
}

/// The selected address is not in the state.
pub fn unknown_selection(kind: &str, what: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Unknown {kind}"),
        format!(
            "The current state contains no {what}. If you've just added this {kind} to the configuration, you must run \
             \"weft apply\" first to create the {kind}'s entry in the state."
        ),
    )
}

/// The standard input cannot be read as a state.
pub fn source_state_unreadable(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to read source state", format!("{error}."))
}

/// The file of a state cannot be opened.
pub fn state_file_unreadable(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to open the given state file", format!("{path}: {error}."))
}

/// The file is not a state.
pub fn not_a_state(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(format!("Failed to read source state \"{path}\""), format!("{error}."))
}

/// The file belongs to an unfinished run.
pub fn guarded_state(path: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Failed to read source state \"{path}\""),
        format!(
            "{path} belongs to an unfinished run, or has a format version that Weft does not read. Resume or abandon \
             that run first, or push another file."
        ),
    )
}

/// The pushed state has another lineage.
pub fn unrelated_state(pushed: &str, held: &str) -> Diagnostic {
    push_refused(format!("cannot import state with lineage \"{pushed}\" over unrelated state with lineage \"{held}\""))
}

/// The pushed state is older.
pub fn older_state(pushed: u64, held: u64) -> Diagnostic {
    push_refused(format!("cannot import state with serial {pushed} over newer state with serial {held}"))
}

/// The pushed state differs from the current one, but has the same serial.
pub fn same_serial(serial: u64) -> Diagnostic {
    push_refused(format!(
        "cannot overwrite existing state with serial {serial} with a different state that has the same serial"
    ))
}

fn push_refused(why: String) -> Diagnostic {
    Diagnostic::error("Failed to write the imported state", why)
}

/// The state has no instance to taint or untaint.
pub fn nothing_to_taint(address: &ResourceInstance) -> Diagnostic {
    Diagnostic::error(
        "No such resource instance",
        format!(
            "There is no resource instance in the state with the address {address}. If the resource configuration has \
             just been added, you must run \"weft apply\" once to create the corresponding instance(s)."
        ),
    )
}

/// The instance to taint or untaint has no current object.
pub fn taint_during_replacement(address: &ResourceInstance) -> Diagnostic {
    Diagnostic::error(
        "No such resource instance",
        format!(
            "Resource instance {address} is in the middle of a replacement. Run \"weft apply\" to complete it first."
        ),
    )
}
