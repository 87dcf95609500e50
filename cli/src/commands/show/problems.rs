//! The diagnostics of `show`, as constructors.

use std::fmt::Display;

use weft_graph_format::diagnostic::Diagnostic;

/// An argument was given together with an option that selects what to show.
pub fn argument_with_show_option() -> Diagnostic {
    Diagnostic::error(
        "Unexpected command line arguments",
        "An option that selects what to show allows no other argument.",
    )
}

/// More than one option that selects what to show was given.
pub fn conflicting_show_options() -> Diagnostic {
    Diagnostic::error(
        "Conflicting object types to show",
        "Give one of PATH, -plan=FILE, -state, -config and -module=DIR.",
    )
}

/// `-plan` names a state file.
pub fn state_instead_of_plan(path: &str) -> Diagnostic {
    Diagnostic::error("Not a plan file", format!("{path} is a state file. To show it, give the path without -plan."))
}

/// `-module` was given without `-json`.
pub fn module_without_json() -> Diagnostic {
    Diagnostic::error("JSON output required for module", "A module can be shown only as JSON. Add -json.")
}

/// `-config` was given without `-json`.
pub fn configuration_without_json() -> Diagnostic {
    Diagnostic::error(
        "JSON output required for configuration",
        "The configuration can be shown only as JSON. Add -json.",
    )
}

/// The directory of `-module` does not exist.
pub fn no_directory(directory: &str) -> Diagnostic {
    Diagnostic::error(
        "Failed to read module directory",
        format!("The directory {directory} does not exist or cannot be read."),
    )
}

/// The file is neither a state nor a plan.
pub fn neither_state_nor_plan(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to read the given file as a state or plan file", format!("{path}: {error}."))
}

/// The state file is empty.
pub fn no_state_in_file(path: &str) -> Diagnostic {
    neither_state_nor_plan(path, &"there is no state in it")
}

/// The plan file cannot be decrypted.
pub fn plan_not_opened(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Couldn't show local plan", format!("{path}: {error}."))
}
