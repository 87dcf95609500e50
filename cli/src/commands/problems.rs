//! The diagnostics of commands, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::RunId;

/// `-detach` was given without a coordinator.
pub fn detach_without_coordinator() -> Diagnostic {
    Diagnostic::error(
        "Coordinator not named",
        "Only a coordinator can continue without this process. Name one with -coordinator or WEFT_COORDINATOR.",
    )
}

/// `-json` was given without a plan file and without `-auto-approve`.
pub fn json_without_approval() -> Diagnostic {
    Diagnostic::error(
        "Plan file or auto-approve required",
        "Weft does not ask for approval with -json. Give a plan file or use -auto-approve.",
    )
}

/// An apply needs approval, but input is disabled.
pub fn apply_not_approved() -> Diagnostic {
    Diagnostic::error(
        "Approval needed",
        "Input is disabled, so Weft cannot ask for approval. Use -auto-approve, or save the plan and apply \
         its file.",
    )
}

/// `destroy` was given a plan file.
pub fn destroy_with_plan_file() -> Diagnostic {
    Diagnostic::error(
        "Destroy can't be called with a plan file",
        "To apply a plan that was made with \"weft plan -destroy\", use \"weft apply FILE\".",
    )
}

/// A plan file was given together with a planning option.
pub fn planning_option_with_plan_file(option: &str) -> Diagnostic {
    Diagnostic::error(
        "Planning options with a plan file",
        format!("The plan is already made, so -{option} has no effect. Give it to \"weft plan\"."),
    )
}

/// A variable has another value than in the plan.
pub fn other_value_than_planned(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Mismatch between input and plan variable value",
        format!(
            "The plan was made with a different value of the variable \"{name}\" than the one that an option, \
             a variables file or the environment sets now. Remove that setting, or make the plan again."
        ),
    )
}

/// The file of `-eval-json` cannot be read.
pub fn expressions_unreadable(path: &str, what: &str) -> Diagnostic {
    Diagnostic::error("Cannot read expressions", format!("{path}: {what}."))
}

/// The standard input cannot be read.
pub fn input_unreadable(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot read the standard input", format!("{error}."))
}

/// The terminal cannot be used.
pub fn terminal_unusable(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot use the terminal", format!("{error}."))
}

/// The coordinator cannot listen.
pub fn cannot_listen(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot listen", format!("{error}."))
}

/// The file of `-port-file` cannot be written.
pub fn port_file_unwritable(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot write the port file", format!("{path}: {error}."))
}

/// The directory of a module cannot be entered.
pub fn directory_unusable(directory: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to read module directory", format!("{directory}: {error}."))
}

/// `import` takes two arguments.
pub fn import_arguments() -> Diagnostic {
    Diagnostic::error("Invalid number of arguments", "The import command expects two arguments")
}

/// `import` was given the address of a data source.
pub fn import_of_data() -> Diagnostic {
    Diagnostic::error(
        "Invalid target resource address",
        "A managed resource address is required. Importing into a data resource is not allowed.",
    )
}

/// The new state cannot be written.
pub fn state_not_saved(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to save state", format!("{error}."))
}

/// The directory of a module does not exist or cannot be read.
pub fn directory_unreadable(directory: &str) -> Diagnostic {
    Diagnostic::error(
        "Failed to read module directory",
        format!("Module directory {directory} does not exist or cannot be read."),
    )
}

/// A file cannot be read as a plan.
pub fn not_a_plan(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(format!("Failed to load \"{path}\" as a plan file"), format!("{error}."))
}

/// The operations of a graph depend on each other.
pub fn cycle(names: &[&str]) -> Diagnostic {
    Diagnostic::error(
        format!("Cycle: {}", names.join(", ")),
        "These depend on each other. Use -draw-cycles to print the graph anyway.",
    )
}

/// `plan inspect` takes a plan file.
pub fn plan_file_expected() -> Diagnostic {
    Diagnostic::error("Invalid number of arguments", "Expected a plan file.")
}

/// `-backend-config` was given without a backend block.
pub fn backend_options_unused() -> Diagnostic {
    Diagnostic::warning(
        "Missing backend configuration",
        "-backend-config was used without a \"backend\" block in the configuration, and is ignored. Add to the \
         configuration:\n\nterraform {\n  backend \"local\" {}\n}",
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

/// The migration of the state needs confirmation, but input is disabled.
pub fn migration_not_confirmed() -> Diagnostic {
    Diagnostic::error(
        "Error asking for state migration action",
        "Input is disabled, so Weft cannot ask whether to copy the state. Use -force-copy, or -reconfigure to \
         leave it where it is.",
    )
}

/// The module of `-from-module` cannot be copied.
pub fn module_not_copied(text: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to copy root module", format!("The module {text}: {error}."))
}

/// `-from-module` was given in a directory with a configuration.
pub fn directory_in_use() -> Diagnostic {
    Diagnostic::error(
        "The working directory already contains files",
        "-from-module copies a module into an empty directory, and this one has a configuration. Remove the \
         option to initialize this configuration, or choose another directory.",
    )
}

/// The text of `-from-module` is not a module source.
pub fn invalid_module_source(text: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid module source address", format!("{text:?} cannot be the source of a module: {error}."))
}

/// `metadata functions` was called without `-json`.
pub fn functions_without_json() -> Diagnostic {
    Diagnostic::error("Invalid arguments", "The command `weft metadata functions` requires the `-json` flag.")
}

/// `-raw` and `-json` were given together.
pub fn raw_with_json() -> Diagnostic {
    Diagnostic::error(
        "Invalid output format",
        "The options -raw and -json cannot be used \
         together.",
    )
}

/// `-raw` was given without the name of an output.
pub fn output_name_required() -> Diagnostic {
    Diagnostic::error("Output name required", "-raw prints one output. Give its name.")
}

/// The state has no output of this name.
pub fn unknown_output(name: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Output \"{name}\" not found"),
        "The state has no output of this name. An output that is new in the configuration is stored by the next \
         `weft apply`.",
    )
}

/// A plan cannot be encoded.
pub fn plan_not_encoded(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to write plan file", format!("{error}."))
}

/// The text of `-platform` is not a platform.
pub fn invalid_platform(text: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid target platform",
        format!(
            "The string {text:?} given in the -platform option is not a valid target platform: must be two words \
             separated by an underscore."
        ),
    )
}

/// More than one installation method was given.
pub fn several_mirrors() -> Diagnostic {
    Diagnostic::error(
        "Invalid installation method options",
        "Only one of -fs-mirror, -net-mirror and -oci-mirror can be used.",
    )
}

/// The lock file cannot be written.
pub fn lock_file_not_saved(path: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to save dependency lock file",
        format!("The dependency lock file {} cannot be written: {error}.", path.display()),
    )
}

/// `providers mirror` was called without a directory.
pub fn no_output_directory() -> Diagnostic {
    Diagnostic::error(
        "No output directory specified",
        "The providers mirror command requires an output directory as a command-line argument.",
    )
}

/// `providers schema` was called without `-json`.
pub fn schemas_without_json() -> Diagnostic {
    Diagnostic::error(
        "Output only in json is allowed",
        "The `weft providers schema` command requires the `-json` flag.",
    )
}

/// The text is not the id of a run.
pub fn invalid_run_id(text: &str) -> Diagnostic {
    Diagnostic::error("Invalid run id", format!("{text:?} is not a valid run id."))
}

/// The store has no runs.
pub fn no_runs() -> Diagnostic {
    Diagnostic::error("No such run", "There are no runs here yet.")
}

/// The command takes the id of a run.
pub fn run_id_expected() -> Diagnostic {
    Diagnostic::error("Invalid number of arguments", "Expected the id of a run.")
}

/// A run cannot be abandoned while a process holds it.
pub fn run_is_held(run: &RunId, holder: &dyn Display) -> Diagnostic {
    Diagnostic::error("Run is being carried out", format!("Run {run} is held by {holder}. End that process first."))
}

/// Another process has taken a run over while it was to be abandoned.
pub fn run_taken_over() -> Diagnostic {
    Diagnostic::error("Run not given up", "Another process has taken over the run.")
}

/// `runs resolve` takes a run and an address.
pub fn resolve_arguments() -> Diagnostic {
    Diagnostic::error(
        "Invalid number of arguments",
        "Expected a run and an address: weft runs resolve RUN ADDRESS -adopt ID | -absent | -retry | -forget.",
    )
}

/// `runs resolve` takes exactly one decision.
pub fn decision_missing() -> Diagnostic {
    Diagnostic::error("Decision missing", "Record the outcome with exactly one of -adopt ID, -absent, -retry, -forget.")
}

/// The decision did not settle the operation.
pub fn still_in_doubt(address: &str, reason: &str) -> Diagnostic {
    Diagnostic::error("Still in doubt", format!("{address} is still in doubt: {reason}."))
}

/// The run has no operation in doubt at this address.
pub fn nothing_in_doubt(address: &str, run: &RunId) -> Diagnostic {
    Diagnostic::error(
        "Nothing in doubt",
        format!("Nothing at {address} is in doubt in run {run}. See: weft runs show {run}"),
    )
}

/// The address has several objects in doubt.
pub fn several_in_doubt(address: &str) -> Diagnostic {
    Diagnostic::error(
        "Several objects in doubt",
        format!("Several objects of {address} are in doubt. Name one: '{address} (deposed object KEY)'."),
    )
}

/// An argument was given together with an option that selects what to show.
pub fn argument_with_show_option() -> Diagnostic {
    Diagnostic::error(
        "Unexpected command line arguments",
        "An option that selects what to show allows no other argument.",
    )
}

/// More than one thing to show was given.
pub fn conflicting_show_options() -> Diagnostic {
    Diagnostic::error(
        "Conflicting object types to show",
        "Give one of PATH, -plan=FILE, -state, -config and -module=DIR.",
    )
}

/// `-plan` names a state file.
pub fn state_instead_of_plan(path: &str) -> Diagnostic {
    Diagnostic::error("Not a plan file", format!("{path} is a state file."))
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

/// The command takes one argument.
pub fn one_argument() -> Diagnostic {
    Diagnostic::error("Invalid number of arguments", "Exactly one argument expected")
}

/// The command takes two arguments.
pub fn two_arguments() -> Diagnostic {
    Diagnostic::error("Invalid number of arguments", "Exactly two arguments expected")
}

/// `taint` and `untaint` take one argument.
pub fn taint_arguments(name: &str) -> Diagnostic {
    Diagnostic::error("Invalid number of arguments", format!("The {name} command expects exactly one argument."))
}

/// `force-unlock` takes the id of a lock.
pub fn lock_id_expected() -> Diagnostic {
    Diagnostic::error("Wrong number of arguments", "Expected a single argument: LOCK_ID")
}

/// `worker` was called without a coordinator.
pub fn worker_without_coordinator() -> Diagnostic {
    Diagnostic::error(
        "Coordinator not named",
        "Name the coordinator to work for with -coordinator HOST:PORT or WEFT_COORDINATOR. Several addresses are \
         separated by commas. The worker uses the first one that answers.",
    )
}

/// The text of `-label` is not a label.
pub fn invalid_label(label: &str) -> Diagnostic {
    Diagnostic::error("Invalid -label option", format!("{label:?} is not a label. Write KEY=VALUE."))
}

/// The text of `-name` is not the name of a worker.
pub fn invalid_worker_name() -> Diagnostic {
    Diagnostic::error("Invalid -name option", "The name of a worker has at least one character, and no slash.")
}

/// A defect has ended the worker.
pub fn worker_ended(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Worker ended", format!("A defect of Weft: {error}."))
}

/// The coordinator refuses the worker.
pub fn worker_refused(reason: &str) -> Diagnostic {
    Diagnostic::error("Refused by the coordinator", format!("{reason}."))
}

/// The command takes the name of a workspace.
pub fn workspace_name_expected() -> Diagnostic {
    Diagnostic::error("Invalid number of arguments", "Expected a single argument: NAME.")
}

/// A workspace cannot have this name.
pub fn invalid_workspace_name(name: &str) -> Diagnostic {
    Diagnostic::error(
        format!("The workspace name \"{name}\" is not allowed"),
        "The name must contain only URL safe characters, and no path separators.",
    )
}

/// The environment has selected a workspace.
pub fn workspace_overridden(what: &str) -> Diagnostic {
    Diagnostic::error(
        format!("The {what} is overridden using the TF_WORKSPACE environment variable"),
        "Unset this environment variable, or set it to the name of the workspace that you want, then retry.",
    )
}

/// There is no workspace of this name.
pub fn unknown_workspace(name: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Workspace \"{name}\" doesn't exist"),
        "Create it with \"weft workspace new\", or select it with -or-create.",
    )
}

/// The selected workspace cannot be stored.
pub fn workspace_not_selected(directory: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot select workspace", format!("{}: {error}.", directory.display()))
}

/// The folder of a workspace cannot be created.
pub fn workspace_not_created(path: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot create workspace", format!("{}: {error}.", path.display()))
}

/// There is already a workspace of this name.
pub fn workspace_exists(name: &str) -> Diagnostic {
    Diagnostic::error(format!("Workspace \"{name}\" already exists"), "Select it instead.")
}
