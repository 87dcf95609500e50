//! The diagnostics of `init`, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::RunId;

/// `-backend-config` was given without a backend block.
pub fn backend_options_unused() -> Diagnostic {
    Diagnostic::warning(
        "Missing backend configuration",
        "-backend-config was used without a \"backend\" block in the configuration, and is ignored. Add to the \
         configuration:\n\nterraform {\n  backend \"local\" {}\n}",
    )
}

/// The file of a state that was copied cannot be emptied.
pub fn state_not_emptied(path: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to empty the previous state", format!("{}: {error}.", path.display()))
}

/// `-upgrade` and `-lockfile=readonly` were given together.
pub fn upgrade_of_read_only_lock() -> Diagnostic {
    Diagnostic::error(
        "The -upgrade flag conflicts with -lockfile=readonly.",
        "An upgrade changes the lock file. Remove one of the options.",
    )
}

/// The backend block has changed since the last `init`.
pub fn backend_changed() -> Diagnostic {
    Diagnostic::error(
        "Backend configuration changed",
        "The backend block has changed since the last init, and the state may have to move.\n\nTo copy the state, \
         use \"weft init -migrate-state\". To leave the state where it is and only use the new configuration, use \
         \"weft init -reconfigure\".",
    )
}

/// The migration of several workspaces needs confirmation, but there is no input.
pub fn migration_not_confirmed() -> Diagnostic {
    Diagnostic::error(
        "Error asking for state migration action",
        "Input is disabled or has ended, so Weft cannot ask which states to copy. Use -force-copy, or -reconfigure to \
         leave the states where they are.",
    )
}

/// The copy of a state needs confirmation, but there is no input.
pub fn copy_not_confirmed() -> Diagnostic {
    Diagnostic::error(
        "Can't ask approval for state migration when interactive input is disabled.",
        "Input is disabled or has ended, so Weft cannot ask whether to copy the state. Use -force-copy, or \
         -reconfigure to leave the state where it is.",
    )
}

/// The module of `-from-module` cannot be copied.
pub fn module_not_copied(text: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to copy root module", format!("The module {text} cannot be copied: {error}."))
}

/// `-from-module` was given in a directory with a configuration.
pub fn directory_in_use() -> Diagnostic {
    Diagnostic::error(
        "The working directory already contains files",
        "-from-module copies a module into an empty directory, but this directory has a configuration. Remove the \
         option to initialize this configuration, or choose another directory.",
    )
}

/// The text of `-from-module` is not a module source.
pub fn invalid_module_source(text: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid module source address", format!("{text:?} cannot be the source of a module: {error}."))
}

/// `-migrate-state` and `-reconfigure` were given together.
pub fn migrate_and_reconfigure() -> Diagnostic {
    Diagnostic::error(
        "Wrong combination of options",
        "The -migrate-state and -reconfigure options are mutually-exclusive.",
    )
}

/// `-backend` and `-cloud` were given together.
pub fn backend_and_cloud() -> Diagnostic {
    Diagnostic::error(
        "Wrong combination of options",
        "The -backend and -cloud options are aliases of one another and mutually-exclusive in their use.",
    )
}

/// `-from-module` was given in a directory that is not empty.
pub fn directory_not_empty(found: &str) -> Diagnostic {
    Diagnostic::error(
        "Can't populate non-empty directory",
        format!("This directory contains {found}, but -from-module needs an empty directory."),
    )
}

/// A copied module calls a module outside of its own directory. The called module was not copied.
pub fn parent_not_copied(module: &str, source: &str, whole: &str) -> Diagnostic {
    Diagnostic::error(
        "Root module references parent directory",
        format!(
            "The module {module} calls {source}, which was not copied because it is outside of the module. Use the \
             full address of the source, such as {whole:?}."
        ),
    )
}

/// A run of the state to be moved is not finished.
pub fn unfinished_run(run: &RunId) -> Diagnostic {
    Diagnostic::error(
        "Unfinished run",
        format!(
            "The run {run} of this state is not finished, so the state cannot be moved. Finish the run with \"weft \
             runs resume {run}\", or give up the run with \"weft runs abandon {run}\". Then run \"weft init\" again."
        ),
    )
}

/// The user has declined the migration.
pub fn migration_aborted() -> Diagnostic {
    Diagnostic::error(
        "Migration aborted by user.",
        "No state was copied, and the saved settings of the backend are unchanged. Run \"weft init\" again to answer \
         differently, or use -reconfigure to leave all states where they are.",
    )
}

/// The state in the old backend has changed after it was copied.
pub fn changed_after_copy(workspace: &str) -> Diagnostic {
    Diagnostic::error(
        "State changed after its copy",
        format!(
            "The state of workspace {workspace} was copied to the new backend. The state in the old backend has \
             changed since then, so it was not emptied. Stop all processes that use the old backend, then run \"weft \
             init\" again."
        ),
    )
}

/// `-backend-config` was given with a `cloud` block.
pub fn no_settings_for_cloud() -> Diagnostic {
    Diagnostic::error(
        "Invalid command-line option",
        "The option -backend-config is for backends, but the configuration has a cloud block. Write the settings in \
         the block, or use the variables TF_CLOUD_HOSTNAME, TF_CLOUD_ORGANIZATION, TF_CLOUD_PROJECT and TF_WORKSPACE.",
    )
}

/// An option about changes of backends was given with a `cloud` block. `moving` says whether states move.
pub fn option_not_for_cloud(option: &str, moving: bool) -> Diagnostic {
    let why = match moving {
        true => "Weft always asks before it copies states to or from a cloud block.",
        false => "A changed cloud block is used immediately. The states stay in the service.",
    };
    Diagnostic::error(
        "Invalid command-line option",
        format!("The option {option} is for backends, and does not apply to cloud blocks. {why} Remove the option."),
    )
}

/// The backend has no workspaces.
pub fn no_workspaces() -> Diagnostic {
    Diagnostic::error(
        "No existing workspaces.",
        "Use \"weft workspace new\" to create and select a workspace. If there should be workspaces already, correct the \
         settings of the backend.",
    )
}

/// The selected workspace does not exist, but without input the user cannot select another one.
pub fn selected_workspace_missing(name: &str, all: &[String]) -> Diagnostic {
    Diagnostic::error(
        format!("Currently selected workspace \"{name}\" does not exist"),
        format!(
            "Input is disabled, so Weft cannot ask for another workspace. Set TF_WORKSPACE to one of these workspaces: \
             {}.",
            all.join(", ")
        ),
    )
}

/// The answer is not the number of a workspace.
pub fn not_a_workspace_number() -> Diagnostic {
    Diagnostic::error(
        "Failed to select workspace: input not a valid number",
        "Enter a number from the list of workspaces, or set TF_WORKSPACE to the name of a workspace.",
    )
}

/// The user gave no name for the first workspace.
pub fn no_workspace_name() -> Diagnostic {
    Diagnostic::error(
        "Couldn't create initial workspace: no name provided",
        "Run \"weft init\" again and enter a name, or set TF_WORKSPACE.",
    )
}

/// The default workspace needs a name in the new backend, but without input the user cannot enter one.
pub fn default_needs_name() -> Diagnostic {
    Diagnostic::error(
        "Default workspace needs another name",
        "The new backend has no workspace \"default\", so the state of this workspace needs another name there. Run \
         \"weft init\" with input enabled, and enter the name.",
    )
}
