//! The diagnostics of commands, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;

use crate::render::counted::counted;

/// `-detach` was given without a coordinator.
pub fn detach_without_coordinator() -> Diagnostic {
    Diagnostic::error(
        "Coordinator not named",
        "With -detach, a coordinator carries out the run. Name the coordinator with -coordinator or WEFT_COORDINATOR.",
    )
}

/// `-json` was given without a plan file and without `-auto-approve`.
pub fn json_without_approval() -> Diagnostic {
    Diagnostic::error(
        "Plan file or auto-approve required",
        "Weft does not ask for approval with -json. Give a plan file or use -auto-approve.",
    )
}

/// The input ended before the answer.
pub fn approval_unanswered() -> Diagnostic {
    Diagnostic::error("error asking for approval: EOF", "")
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
        format!("The plan is already made, so -{option} has no effect. Use -{option} with \"weft plan\"."),
    )
}

/// A variable has another value than in the plan.
pub fn other_value_than_planned(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Mismatch between input and plan variable value",
        format!(
            "An option, a variables file or the environment sets the variable \"{name}\" to a value that differs from \
             the value in the plan. Remove this setting, or make the plan again."
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

/// The standard input ends inside an expression.
pub fn input_ends_within() -> Diagnostic {
    let detail = "The last expression has open brackets or quotes, so it was not evaluated. Close the brackets and \
                  quotes.";
    Diagnostic::warning("The input ends within an expression", detail)
}

/// The terminal cannot be used.
pub fn terminal_unusable(error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Cannot use the terminal",
        format!("{error}. The console can also read expressions from a pipe: echo 'EXPRESSION' | weft console"),
    )
}

/// The coordinator cannot listen.
pub fn cannot_listen(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot listen", format!("{error}."))
}

/// The service manager passed several sockets.
pub fn several_sockets(count: usize) -> Diagnostic {
    cannot_listen(&format!(
        "the service manager passed {count} sockets, but a coordinator listens on only one: name one address in the \
         socket unit"
    ))
}

/// The file of `-port-file` cannot be written.
pub fn port_file_unwritable(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot write the port file", format!("{path}: {error}."))
}

/// The directory of a module cannot be entered.
pub fn directory_unusable(directory: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to read module directory", format!("{directory}: {error}."))
}

/// `import` needs a configuration.
pub fn nothing_to_import_into() -> Diagnostic {
    Diagnostic::error(
        "No OpenTofu configuration files",
        "The directory has no configuration files (.tf). Import needs a resource block for the object. Write the \
         configuration first.",
    )
}

/// The directory of a module does not exist or cannot be read.
pub fn directory_unreadable(directory: &str) -> Diagnostic {
    Diagnostic::error(
        "Failed to read module directory",
        format!("Module directory {directory} does not exist or cannot be read."),
    )
}

/// A file was given instead of the directory of a module whose tests are read, too.
pub fn tests_unreadable(directory: &str) -> Diagnostic {
    Diagnostic::error(
        "Failed to read test directory",
        format!("{directory} is not a directory, so it contains no module and no tests."),
    )
}

/// A file cannot be read as a plan.
pub fn not_a_plan(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(format!("Failed to load \"{path}\" as a plan file"), format!("{error}."))
}

/// `plan inspect` takes a plan file.
pub fn plan_file_expected() -> Diagnostic {
    Diagnostic::error("Invalid number of arguments", "Expected a plan file.")
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
    Diagnostic::error("Invalid arguments", format!("The {name} command expects exactly one argument."))
}

/// `worker` was called without a coordinator.
pub fn worker_without_coordinator() -> Diagnostic {
    Diagnostic::error(
        "Coordinator not named",
        "Name the coordinator to work for with -coordinator HOST:PORT or WEFT_COORDINATOR. Several addresses are \
         separated by commas. The worker uses the first coordinator that responds.",
    )
}

/// The text of `-label` is not a label.
pub fn invalid_label(label: &str) -> Diagnostic {
    Diagnostic::error("Invalid -label option", format!("{label:?} is not a label. Write KEY=VALUE."))
}

/// The text of `-name` is not the name of a worker.
pub fn invalid_worker_name() -> Diagnostic {
    Diagnostic::error("Invalid -name option", "The name of a worker must have at least one character, and no slash.")
}

/// A bug in Weft has ended the worker.
pub fn worker_ended(error: &dyn Display) -> Diagnostic {
    let detail = format!("The worker failed: {error}. This is a bug in Weft; please report it.");
    Diagnostic::error("Worker ended", detail)
}

/// `-spool` was given without `-name`.
pub fn spool_without_name() -> Diagnostic {
    Diagnostic::error(
        "Worker name expected",
        "-spool keeps results for a worker of the same name. Give this worker a name with -name.",
    )
}

/// The spool cannot be used.
pub fn spool_unusable(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot keep results", format!("{error}."))
}

/// There is no location for a spool.
pub fn no_spool(error: &dyn Display) -> Diagnostic {
    Diagnostic::warning(
        "Results are kept in memory only",
        format!(
            "The directory for results cannot be used: {error}. If this worker and its coordinator fail at the same \
             time, the outcome of calls can be unknown. Name a directory with -spool."
        ),
    )
}

/// A spool could not reserve space on its disk.
pub fn no_room_for_results(error: &dyn Display) -> Diagnostic {
    Diagnostic::warning(
        "No room is reserved for results",
        format!(
            "No disk space could be reserved: {error}. The worker runs, but loses results if the disk is full. Make \
             room on the disk, or name a directory on another disk with -spool, and start the worker again."
        ),
    )
}

/// Results that waited for too long were dropped.
pub fn outdated_results(count: usize, path: &Path) -> Diagnostic {
    Diagnostic::warning(
        "Old results were dropped",
        format!(
            "{} had {} that no coordinator has accepted within 30 days. The operations are in doubt if their runs \
             still exist: see \"weft runs list\".",
            path.display(),
            counted(count, "result")
        ),
    )
}

/// The coordinator refuses the worker.
pub fn worker_refused(reason: &str) -> Diagnostic {
    Diagnostic::error("Refused by the coordinator", format!("This worker cannot work for the coordinator: {reason}."))
}

/// The text of `-listen` is not an address.
pub fn invalid_listen_address(text: &str, forms: &str) -> Diagnostic {
    Diagnostic::error("Invalid -listen option", format!("{text:?} is not a valid address to listen on. Give {forms}."))
}

/// `-raw` was given for an output of another type.
pub fn no_raw_form(name: &str, what: &str) -> Diagnostic {
    Diagnostic::error(
        "Unsupported value for raw output",
        format!(
            "The -raw option only supports strings, numbers, and boolean values, but output value \"{name}\" is \
             {what}.\n\nUse -json for values of other types."
        ),
    )
}

/// `explain` takes at most one code.
pub fn one_code_expected() -> Diagnostic {
    Diagnostic::error(
        "Too many command line arguments",
        "Expected one code, such as W0101, or no code for a list of all codes.",
    )
}

/// The code does not exist.
pub fn unknown_code(given: &str, nearest: Option<&str>) -> Diagnostic {
    let hint = nearest.map(|code| format!(" Did you mean {code}?")).unwrap_or_default();
    Diagnostic::error("Unknown code", format!("There is no code {given:?}.{hint} To list all codes: weft explain"))
}

/// `validate` takes at most one argument.
pub fn one_directory_expected() -> Diagnostic {
    Diagnostic::error("Too many command line arguments", "Expected at most one positional argument, a directory.")
}

/// `-filter` selects no test.
pub fn no_tests_found() -> Diagnostic {
    Diagnostic::warning(
        "No tests were found",
        "No test file in this directory matches -filter. Paths are relative to this directory.",
    )
}

/// No coordinator responds.
pub fn no_coordinator_answers(address: &str) -> Diagnostic {
    Diagnostic::error(
        "Coordinator does not respond",
        format!("No coordinator responds at {address}. Check the address, and that the coordinator is running."),
    )
}

/// The plan file cannot be written.
pub fn plan_file_not_written(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to write plan file", format!("The plan file {path} could not be written: {error}."))
}

/// A file cannot be read as a plan for an apply.
pub fn plan_file_unusable(path: &str, why: &dyn Display) -> Diagnostic {
    Diagnostic::error(format!("Failed to load \"{path}\" as a plan file"), format!("Error: {why}."))
}

/// As planned, a destroy has removed objects from the state without destroying them.
pub fn left_behind(count: usize) -> Diagnostic {
    let (were, they_exist, them) = match count {
        1 => ("was", "it still exists", "it"),
        _ => ("were", "they still exist", "them"),
    };
    Diagnostic::error(
        "Destroy was successful but left behind forgotten instances",
        format!(
            "As planned, {} {were} removed from the state and not destroyed, so {they_exist} and may incur costs. The \
             plan lists {them}. With -suppress-forget-errors, this is not an error.",
            counted(count, "object")
        ),
    )
}

/// The configuration of the console has errors.
pub fn console_with_errors(summary: &str) -> Diagnostic {
    Diagnostic::warning(summary, "")
}

/// The new state cannot be written.
pub fn state_not_saved(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to save state", format!("{error}."))
}

/// The command takes fewer arguments.
pub fn too_many_arguments() -> Diagnostic {
    Diagnostic::error("Unexpected argument", "Too many command line arguments. Did you mean to use -chdir?")
}

/// `coordinator` takes no arguments.
pub fn coordinator_arguments() -> Diagnostic {
    Diagnostic::error("Unexpected argument", "The coordinator takes options only.")
}

/// `worker` takes no arguments.
pub fn worker_arguments() -> Diagnostic {
    Diagnostic::error("Unexpected argument", "The worker takes options only.")
}

/// `output` takes at most one argument.
pub fn output_arguments() -> Diagnostic {
    Diagnostic::error("Unexpected argument", "Give the name of one output, or no name to show all of them.")
}

/// A command about workspaces takes no arguments.
pub fn workspace_arguments() -> Diagnostic {
    Diagnostic::error("Unexpected argument", "This command accepts options only.")
}

/// `console` takes no arguments.
pub fn console_arguments() -> Diagnostic {
    Diagnostic::error(
        "Too many command line arguments",
        "The console takes no positional arguments. For another directory, use the global option -chdir.",
    )
}

/// `refresh` takes no arguments.
pub fn refresh_arguments() -> Diagnostic {
    Diagnostic::error(
        "Too many command line arguments",
        "To refresh in another directory, use the global option -chdir.",
    )
}

/// `plan` takes no arguments.
pub fn plan_arguments() -> Diagnostic {
    Diagnostic::error("Too many command line arguments", "To plan in another directory, use the global option -chdir.")
}

/// `show` takes at most one argument.
pub fn show_arguments() -> Diagnostic {
    Diagnostic::error(
        "Too many command line arguments",
        "Expected at most one positional argument, a plan file or a state file.",
    )
}

/// `apply` takes at most one argument.
pub fn apply_arguments() -> Diagnostic {
    Diagnostic::error(
        "Too many command line arguments",
        "Expected at most one positional argument, the plan file. Put options before the plan file.",
    )
}

/// The state has no outputs. The text is OpenTofu's, because scripts look for it.
pub fn no_outputs() -> Diagnostic {
    Diagnostic::warning(
        "No outputs found",
        "The state file either has no outputs defined, or all the defined outputs are empty. Please define an output in \
         your configuration with the `output` keyword and run `tofu refresh` for it to become available. If you are using \
         interpolation, please verify the interpolated value is not empty. You can use the `tofu console` command to \
         assist.",
    )
}

/// A command about the workers of a coordinator was given no coordinator.
pub fn workers_without_coordinator() -> Diagnostic {
    Diagnostic::error(
        "Coordinator not named",
        "Name the coordinator of the workers with -coordinator or WEFT_COORDINATOR.",
    )
}

/// The command takes the name of a worker.
pub fn worker_name_expected() -> Diagnostic {
    Diagnostic::error("Invalid number of arguments", "Expected the name of a worker.")
}

/// No worker with this name is connected.
pub fn no_such_worker(name: &str) -> Diagnostic {
    Diagnostic::error(
        "No such worker",
        format!("No worker named {name:?} is connected. \"weft workers list\" shows the connected workers."),
    )
}

/// A command about signatures was given no key.
pub fn key_expected() -> Diagnostic {
    Diagnostic::error("Key expected", "Name the file of the key with -key.")
}

/// The validity of a signature is out of range.
pub fn hours_out_of_range(hours: &str, most: usize) -> Diagnostic {
    Diagnostic::error("Invalid -hours option", format!("-hours is {hours}. Give a number from 1 to {most}."))
}

/// The signature cannot be written.
pub fn signature_not_written(path: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error("Cannot write file", format!("{path} cannot be written: {error}."))
}

/// A signature is required, but the command makes its own plan.
pub fn signature_needs_plan_file() -> Diagnostic {
    Diagnostic::error(
        "Signed plan required",
        "Only signed plans may be applied here. Make a plan with \"weft plan -out=FILE\", have it signed with \"weft \
         plan sign\", and apply the file.",
    )
}
