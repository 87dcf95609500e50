//! The diagnostics of making a plan, as constructors.

use std::fmt::Display;

use weft_graph_format::diagnostic::Diagnostic;

/// Planning was interrupted.
pub fn interrupted() -> Diagnostic {
    Diagnostic::error("Planning interrupted", "Planning was interrupted before it was complete.")
}

/// `destroy` was given an option that selects another mode.
pub fn destroy_with_mode(option: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid mode option",
        format!("The -{option} option is not valid for \"weft destroy\", which always destroys."),
    )
}

/// `-destroy` and `-refresh-only` were given together.
pub fn destroy_and_refresh_only() -> Diagnostic {
    Diagnostic::error(
        "Incompatible plan mode options",
        "The options -destroy and -refresh-only cannot be used together.",
    )
}

/// `-refresh-only` and `-refresh=false` were given together.
pub fn refresh_only_without_refresh() -> Diagnostic {
    Diagnostic::error(
        "Incompatible refresh options",
        "The options -refresh-only and -refresh=false cannot be used together: such a plan would do nothing.",
    )
}

/// `-parallelism` is negative.
pub fn negative_parallelism(number: i64) -> Diagnostic {
    let detail = format!("The maximum number of concurrent operations cannot be negative: {number}.");
    Diagnostic::error("Invalid parallelism value", detail)
}

/// `-target` and `-exclude` were given together.
pub fn target_and_exclude() -> Diagnostic {
    Diagnostic::error("Invalid combination of arguments", "The options -target and -exclude cannot be used together.")
}

/// The file of addresses does not exist.
pub fn no_address_file(path: &str) -> Diagnostic {
    Diagnostic::error(format!("open {path}: no such file or directory"), "The file of addresses does not exist.")
}

/// The file of addresses cannot be read.
pub fn address_file_unreadable(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Unable to read file", format!("The file of addresses {path} cannot be read: {error}."))
}

/// A text of `-replace` is not the address of a resource instance.
pub fn invalid_replace(escaped: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Invalid force-replace address \"{escaped}\""),
        "The address must name a resource instance, with a type and a name: TYPE.NAME or TYPE.NAME[KEY].",
    )
}

/// `-replace` names an object that is not managed.
pub fn replace_of_unmanaged(escaped: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Invalid force-replace address \"{escaped}\""),
        "Only managed resources can be replaced with -replace.",
    )
}

/// The text of `-target` or `-exclude` is not the address of something that can be selected.
pub fn invalid_selection(option: &str, escaped: &str, selected: &str) -> Diagnostic {
    Diagnostic::error(format!("Invalid {option} \"{escaped}\""), format!("The address must name {selected}."))
}

/// An ephemeral variable has no value.
pub fn no_ephemeral_value(name: &str) -> Diagnostic {
    Diagnostic::error(
        "No value for required variable",
        format!(
            "The variable \"{name}\" is ephemeral: its value is not in the plan and must be given again, with -var or \
             TF_VAR_{name}."
        ),
    )
}

/// The value of a variable has another type.
pub fn unsuitable_value(name: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Invalid value for input variable",
        format!("The given value is not suitable for var.{name}: {error}."),
    )
}

/// The value of a variable cannot be encoded for workers.
pub fn value_not_encoded(name: &str, error: &dyn Display) -> Diagnostic {
    let detail = format!("The value of var.{name} cannot be encoded: {error}.");
    Diagnostic::error("Invalid value for input variable", detail)
}

/// The file of placement rules cannot be read.
pub fn placement_unreadable(file: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error("Cannot read placement rules", format!("{file} cannot be read: {error}."))
}

/// The file of placement rules is too large.
pub fn placement_too_large(file: &str, most: u64) -> Diagnostic {
    Diagnostic::error("Placement rules too large", format!("{file} is larger than {most} bytes."))
}

/// The file does not contain valid placement rules.
pub fn invalid_placement(file: &str, wrong: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid placement rules", format!("{file} is invalid: {wrong}"))
}
