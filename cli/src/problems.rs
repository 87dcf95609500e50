//! The diagnostics of the command line's other parts: stores, configurations, packages and values, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;

/// The saved settings of the backend cannot be read.
pub fn settings_unreadable(path: &Path, why: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to read the saved backend settings", format!("{}: {why}.", path.display()))
}

/// The settings of the backend cannot be saved.
pub fn settings_not_saved(path: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot save the backend settings", format!("{}: {error}.", path.display()))
}

/// The file of `-json-into` cannot be written.
pub fn document_not_written(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid output format", format!("{path} cannot be written: {error}."))
}

/// The name of a workspace is not valid.
pub fn invalid_workspace_name(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid workspace name",
        format!(
            "{name:?} is not a valid name for a workspace. A name must not change when it is encoded in a \
             URL."
        ),
    )
}

/// Another process has changed the state since it was read.
pub fn state_changed_meanwhile() -> Diagnostic {
    Diagnostic::error(
        "Failed to save state",
        "Another process has changed the state in the meantime. Nothing was written. Run the command again.",
    )
}

/// Configuration was generated.
pub fn generation_is_experimental() -> Diagnostic {
    Diagnostic::warning(
        "Config generation is experimental",
        "The format of generated configuration may change in later versions. Review it before you use it.",
    )
}

/// The generated configuration cannot be written.
pub fn generated_file_not_written(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to create target generated file",
        format!("The file {path} for the generated configuration cannot be written: {error}."),
    )
}

/// The state of the first plan cannot be read.
pub fn imported_objects_unreadable(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to read the imported objects", format!("{error}. This is a bug in Weft."))
}

/// A plan with errors cannot be applied.
pub fn incomplete_plan() -> Diagnostic {
    Diagnostic::error(
        "Cannot apply incomplete plan",
        "Planning met errors, so this plan shows only how far it came and cannot be applied. Make it again once they are \
         mended.",
    )
}

/// A package that a plan names is missing.
pub fn package_missing(name: &str, problem: &dyn Display) -> Diagnostic {
    Diagnostic::error("Provider package missing", format!("{name}: {problem}."))
}

/// A plan names a package in a form that cannot be read.
pub fn invalid_package_in_plan(name: &str, what: &str) -> Diagnostic {
    Diagnostic::error("Invalid provider package in plan", format!("The plan names {name} with {what}."))
}

/// The directory has no configuration.
pub fn no_configuration(doing: &str) -> Diagnostic {
    Diagnostic::error(
        "No configuration files",
        format!(
            "{doing} requires configuration to be present: without any, everything would be marked for \
             destruction, which is normally not what is desired. To destroy everything, use the -destroy option \
                     or \"weft destroy\". Otherwise, create a configuration file (.tf) and try again."
        ),
    )
}

/// A version constraint cannot be parsed.
pub fn invalid_constraint(error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Invalid version constraint",
        format!("Invalid version constraint: {error}. Use, for example, \"~> 1.2\"."),
    )
}

/// The runtime cannot start.
pub fn no_threads(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot start", format!("Weft cannot start its threads: {error}."))
}

/// A configuration file cannot be read.
pub fn configuration_unreadable(name: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to read file", format!("The configuration file {name} cannot be read: {error}."))
}

/// The method `unencrypted` is in use.
pub fn unencrypted_configured() -> Diagnostic {
    let detail = "The settings include the method unencrypted, which stores states or plans unencrypted. Use it \
    only while a project migrates to or from encryption.";
    Diagnostic::warning("Unencrypted method configured", detail)
}

/// A key provider's settings are not valid.
pub fn no_key_data(problem: &dyn Display) -> Diagnostic {
    Diagnostic::error("Unable to build encryption key data", format!("{problem}."))
}

/// Workspaces of a store are selected with the environment.
pub fn workspaces_of_store() -> Diagnostic {
    Diagnostic::error(
        "Workspaces of a store not supported yet",
        "With a store, select the workspace with the environment variable TF_WORKSPACE. It is created at \
         first use.",
    )
}

/// The store of a plan's state is not named.
pub fn state_not_named(backend: &str) -> Diagnostic {
    Diagnostic::error(
        "State of the plan not named",
        format!(
            "The plan was made from the state in {backend}. Name it with the option -store or the environment \
             variable WEFT_STORE. A plan does not store the password."
        ),
    )
}

/// Further values are for undeclared variables.
pub fn more_undeclared_values(more: usize) -> Diagnostic {
    Diagnostic::warning(
        "Values for undeclared variables",
        format!("{more} more values are for variables that the root module does not declare."),
    )
}

/// An environment variable is not UTF-8.
pub fn value_not_utf8(name: &str) -> Diagnostic {
    Diagnostic::error("Invalid value of environment variable", format!("The value of {name} is not UTF-8."))
}

/// A `-var` option has no equals sign.
pub fn invalid_var_option(text: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid -var option",
        format!(
            "The given -var option {text:?} is not correctly specified. It must be a variable name and value separated \
             by an equals sign: -var=\"key=value\"."
        ),
    )
}
