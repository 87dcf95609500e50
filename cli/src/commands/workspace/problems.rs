//! The diagnostics of workspaces, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;

/// The command takes the name of a workspace.
pub fn workspace_name_expected() -> Diagnostic {
    Diagnostic::error("Invalid arguments list", "Expected a single argument: NAME.")
}

/// A workspace cannot have this name.
pub fn invalid_workspace_name(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid workspace name",
        format!("{name:?} is not a valid name. It must contain only URL safe characters, and no path separators."),
    )
}

/// OpenTofu's message for an invalid workspace name, for a stream of events.
pub fn invalid_workspace_name_message(name: &str) -> String {
    format!(
        "The workspace name \"{name}\" is not allowed. The name must contain only URL safe characters, and no path \
         separators"
    )
}

/// The environment has selected a workspace.
pub fn workspace_overridden(what: &str) -> Diagnostic {
    Diagnostic::error(
        format!("The {what} is overridden using the TF_WORKSPACE environment variable"),
        "Unset this environment variable, or set it to the name of the workspace that you want, then retry.",
    )
}

/// OpenTofu's message of `workspace new` if the environment has selected a workspace, for a stream of events.
pub const OVERRIDDEN_NEW_MESSAGE: &str = "The workspace is currently overridden using the TF_WORKSPACE environment variable. You cannot create a new \
     workspace when using this setting. To create a new workspace, either unset this environment variable or update it \
     to match the workspace name you are trying to create, and then run this command again";

/// OpenTofu's message of `workspace select` if the environment has selected a workspace, for a stream of events.
pub const OVERRIDDEN_SELECTED_MESSAGE: &str = "The selected workspace is currently overridden using the TF_WORKSPACE environment variable. To select a new \
     workspace, either update this environment variable or unset it and then run this command again";

/// There is no workspace of this name.
pub fn unknown_workspace(name: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Workspace \"{name}\" doesn't exist"),
        "Create it with \"weft workspace new\", or select it with -or-create.",
    )
}

/// OpenTofu's message for an unknown workspace in a stream of events.
pub fn unknown_workspace_message(name: &str) -> String {
    format!(
        "Workspace \"{name}\" doesn't exist. You can create this workspace with the \"new\" subcommand or include the \
         \"-or-create\" flag with the \"select\" subcommand"
    )
}

/// The directory of a workspace cannot be created.
pub fn workspace_not_created(path: &Path, error: &dyn Display) -> Diagnostic {
    let detail = format!("The directory {} cannot be created: {error}.", path.display());
    Diagnostic::error("Cannot create workspace", detail)
}

/// A workspace with this name already exists.
pub fn workspace_exists(name: &str) -> Diagnostic {
    Diagnostic::error(format!("Workspace \"{name}\" already exists"), "Select it instead.")
}

/// The state for a new workspace cannot be read.
pub fn given_state_unreadable(path: &str, why: &dyn Display) -> Diagnostic {
    Diagnostic::error("Error reading the given state", format!("{path}: {why}."))
}

/// The default workspace cannot be deleted.
pub fn default_workspace_stays() -> Diagnostic {
    Diagnostic::error("Workspace deletion failed", "The default workspace cannot be deleted: it always exists.")
}

/// The selected workspace cannot be deleted.
pub fn workspace_is_active(name: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Workspace \"{name}\" is your active workspace"),
        "The active workspace cannot be deleted. Select another one first.",
    )
}

/// OpenTofu's message if the workspace to delete is selected, for a stream of events.
pub fn workspace_is_active_message(name: &str) -> String {
    format!(
        "Workspace \"{name}\" is your active workspace. You cannot delete the currently active workspace. Please switch \
         to another workspace and try again"
    )
}

/// A workspace with objects cannot be deleted.
pub fn workspace_not_empty(name: &str, tracked: &[String]) -> Diagnostic {
    Diagnostic::error(
        "Workspace is not empty",
        format!(
            "{name:?} is currently tracking the following resource instances:{}\n\nDeleting it would lose track of \
             these objects. Destroy them first, or use the -force option.",
            tracked.concat()
        ),
    )
}

/// Explains that the objects of a deleted workspace may still exist. The text is OpenTofu's, because scripts look for
/// it.
const LEFT_BEHIND: &str = "The resources managed by the deleted workspace may still exist, but are no longer manageable \
                           by OpenTofu since the state has been deleted";

/// A deleted workspace had objects.
pub fn workspace_was_not_empty(name: &str) -> Diagnostic {
    Diagnostic::warning(format!("\"{name}\" was non-empty"), format!("{LEFT_BEHIND}."))
}

/// The message if a deleted workspace had objects, for a stream of events.
pub fn workspace_was_not_empty_message(name: &str) -> String {
    format!("\"{name}\" was non-empty. {LEFT_BEHIND}")
}
