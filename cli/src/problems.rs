//! Diagnostics of the parts of this crate that have no `problems` module of their own, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;
use weft_identity::signature::SignatureError;
use weft_state::remote::UnreleasedLock;
use weft_state::{LostStore, RunId, RunStatus};

/// The file of `-json-into` cannot be written.
pub fn document_not_written(path: &str, error: &dyn Display) -> Diagnostic {
    let detail = format!("The file {path} of -json-into cannot be written completely: {error}.");
    Diagnostic::error("Invalid output format", detail)
}

/// The name of a workspace in the environment is not valid.
pub fn invalid_workspace_variable(name: &str) -> Diagnostic {
    let detail = format!("{name:?} is not a valid name. A name must not change when it is encoded in a URL.");
    Diagnostic::error("Invalid workspace name set using TF_WORKSPACE", detail)
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

/// Some TLS files are given, but another required file is missing.
pub fn incomplete_tls(given: &str, missing: &str, variable: &str) -> Diagnostic {
    Diagnostic::error(
        "Incomplete TLS settings",
        format!("{given} also needs {missing}. Add the option, or set the environment variable {variable}."),
    )
}

/// The TLS files cannot be used.
pub fn tls_unusable(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid TLS settings", format!("{error}."))
}

/// The file with a token cannot be read.
pub fn token_unreadable(variable: &str, path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot read the token", format!("{variable} names {path}: {error}."))
}

/// The policy file cannot be used.
pub fn policy_unusable(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid policy", format!("{error}."))
}

/// Configuration was generated.
pub fn generation_is_experimental() -> Diagnostic {
    Diagnostic::warning(
        "Config generation is experimental",
        "The format of generated configuration may change in later versions. Review the configuration before you use \
         it.",
    )
}

/// The generated configuration cannot be written.
pub fn generated_file_not_written(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to create target generated file",
        format!("The file {path} for the generated configuration cannot be written: {error}."),
    )
}

/// The state from the first plan of `-generate-config-out` cannot be read.
pub fn imported_objects_unreadable(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to read the imported objects", format!("{error}. This is a bug in Weft."))
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

/// The command line is not valid.
pub fn invalid_flags(mistake: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to parse command-line flags", mistake.to_string())
}

/// The file of `-json-into` cannot be opened.
pub fn document_not_opened(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid argument", format!("The file {path} of -json-into cannot be written: {error}."))
}

/// `-json` and `-json-into` were given together.
pub fn json_twice() -> Diagnostic {
    Diagnostic::error("Invalid output format", "The options -json and -json-into cannot be used together.")
}

/// The number of days to keep finished runs is not valid.
pub fn invalid_days(variable: &str, text: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid number of days",
        format!("{variable} is {text:?}. Set the number of days to keep finished runs, for example 30."),
    )
}

/// The text is an address, but not of the expected kind.
pub fn other_address(text: &str, wanted: &str) -> Diagnostic {
    Diagnostic::error("Invalid address", format!("{text:?} must name {wanted}."))
}

/// Unfinished runs hold the part of the state that an edit would change.
pub fn state_held(reasons: &[String]) -> Diagnostic {
    Diagnostic::error(
        "State is held by a run",
        format!(
            "An unfinished run needs this part of the state as it is:\n  - {}\n\nNothing was written. Continue that \
             run with \"weft runs resume\", or give up that run with \"weft runs abandon\".",
            reasons.join("\n  - ")
        ),
    )
}

/// An option asks for generated configuration, but the plan cannot create objects.
pub fn generation_in_other_mode() -> Diagnostic {
    Diagnostic::error(
        "Invalid generate-config-out flag",
        "Configuration can only be generated in the normal planning mode. Remove -destroy and -refresh-only.",
    )
}

/// The file for generated configuration exists.
pub fn generated_file_exists(path: &str) -> Diagnostic {
    Diagnostic::error(
        "Target generated file already exists",
        format!("The file {path} already exists. Name another file, or move the existing file."),
    )
}

/// A problem of a reference to an object whose block the plan would generate, with advice. `path` is the file for the
/// generated configuration.
pub fn about_generated(problem: Diagnostic, address: &str, path: &str) -> Diagnostic {
    let detail = format!(
        "{} The block of {address} would be generated by this plan, so the configuration cannot refer to it yet. Remove \
         the reference, make the plan, and put the reference back when {path} is part of the configuration.",
        problem.detail
    );
    Diagnostic { detail, ..problem }
}

/// `-chdir` has no value.
pub fn no_directory_named() -> Diagnostic {
    Diagnostic::error("Invalid -chdir option", "The -chdir option must name a directory: -chdir=DIR.")
}

/// An option before the command is unknown.
pub fn unknown_flag(name: &str) -> Diagnostic {
    Diagnostic::error("Failed to parse command-line flags", format!("flag provided but not defined: -{name}"))
}

/// The providers to attach to cannot be read.
pub fn attached_providers_unreadable(variable: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(format!("Invalid format for {variable}"), format!("{error}."))
}

/// The arguments in an environment variable cannot be split.
pub fn extra_arguments_unreadable(variable: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(format!("Error parsing extra CLI args from {variable}"), format!("{error}."))
}

/// The directory of `-chdir` cannot be entered.
pub fn directory_not_entered(directory: &Path, why: &dyn Display) -> Diagnostic {
    Diagnostic::error("Error handling -chdir option", format!("{}: {why}.", directory.display()))
}

/// The lock of a state could not be released at the end of a command.
pub fn lock_not_released(lock: &UnreleasedLock) -> Diagnostic {
    let UnreleasedLock { place, id, error } = lock;
    let error = error.trim_end_matches(['.', ' ']);
    Diagnostic::error(
        "Error releasing the state lock",
        format!(
            "Error message: {error}\n\nThe command is done, but the state in {place} may still be locked. Weft takes \
             over this lock if it can determine that the holder has ended. To release the lock now, run \"weft \
             force-unlock {id}\"."
        ),
    )
}

/// A store is empty or has lost its last records, or a dead process left results that can no longer be used.
pub fn store_lost_records(lost: &LostStore) -> Diagnostic {
    let LostStore {
        store,
        copy,
        emptied,
        serial,
        since,
        runs,
        replayed,
        frozen,
        recovered,
        uncertain,
        changed,
        unused,
    } = lost;
    let mut detail = match (emptied, serial) {
        (true, Some(serial)) => {
            format!("{store} has lost its state. Weft restored the state from the copy in {copy}, serial {serial}.")
        }
        (true, None) if copy.is_empty() => {
            format!("{store} has lost its state. Only results in write-ahead files of this machine could be restored.")
        }
        (true, None) => format!("{store} has lost its state, and there is no copy of it in {copy}."),
        (false, Some(serial)) => {
            format!(
                "The state in {store} is older than its copy in {copy}. Weft restored the state from the copy, serial \
                 {serial}."
            )
        }
        (false, None) => format!("{store} has lost records that this machine has in its write-ahead files."),
    };
    let mut add = |text: String| detail.push_str(&format!("\n\n{text}"));
    if !since.is_empty() {
        add(format!("The copy has all results from before {since}."));
    }
    if !replayed.is_empty() {
        add(format!("All records of these runs were restored: {}.", replayed.join(", ")));
    }
    if !frozen.is_empty() {
        add(format!(
            "These runs are frozen, because some of their records are lost: {}. Look at the objects, then give each \
             run up with `weft runs abandon RUN`.",
            frozen.join(", ")
        ));
    }
    if !runs.is_empty() {
        add(format!("These runs had not ended, and their plans are lost: {}. Make new plans.", runs.join(", ")));
    }
    if !recovered.is_empty() {
        add(format!(
            "Results of these objects were taken from the write-ahead file of this machine: {}.",
            listed(recovered)
        ));
    }
    if !uncertain.is_empty() {
        add(format!(
            "Calls for these objects may have begun, and their results are unknown: {}. Look at the real objects before \
             you apply again: they may have been created or changed without a record in the state.",
            listed(uncertain)
        ));
    }
    if !changed.is_empty() {
        add(format!(
            "These objects have changed since their results were written to a write-ahead file, or another run holds \
             them, so the results were not taken from the file: {}.",
            listed(changed)
        ));
    }
    if !unused.is_empty() {
        add(format!(
            "Not all results in these write-ahead files could be used: {}. Check the real objects, then remove these \
             files.",
            unused.join(", ")
        ));
    }
    Diagnostic::warning(if *emptied { "Store came back empty" } else { "Store lost its last records" }, detail)
}

/// Joins names into one line, up to a maximum number of names. More would hide the advice.
fn listed(names: &[String]) -> String {
    const LISTED: usize = 100;
    let mut list = names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > LISTED {
        list.push_str(&format!(" and {} more", names.len() - LISTED));
    }
    list
}

/// The code of problems with the contents of a state file.
pub const BAD_STATE: &str = "state-file";

/// A problem as OpenTofu reports it with `-lock=false`. For an invalid state, the summary is the problem itself, and
/// does not mention the lock. Other problems are returned unchanged.
pub fn without_lock(problem: &Diagnostic) -> Diagnostic {
    if problem.code != BAD_STATE {
        return problem.clone();
    }
    Diagnostic::error(format!("error loading state: {}", problem.detail), "")
}

/// The selected workspace cannot be stored.
pub fn workspace_not_selected(directory: &Path, error: &dyn Display) -> Diagnostic {
    let detail = format!("The selected workspace cannot be stored in {}: {error}.", directory.display());
    Diagnostic::error("Cannot select workspace", detail)
}

/// The file of a signature or a key cannot be read.
pub fn signature_file_unreadable(path: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error("Cannot read file", format!("{path} cannot be read: {error}."))
}

/// The file of a signature or a key is too large.
pub fn signature_file_too_large(path: &str, most: usize) -> Diagnostic {
    Diagnostic::error(
        "File too large",
        format!("{path} is larger than {most} bytes, so it is neither a key nor a signature."),
    )
}

/// The file of trusted keys does not exist.
pub fn key_file_missing(path: &str) -> Diagnostic {
    Diagnostic::error(
        "Key not found",
        format!("The file {path}, which should contain the key, does not exist. Name an existing PEM file."),
    )
}

/// The file has no usable key.
pub fn key_refused(path: &str, error: &SignatureError) -> Diagnostic {
    Diagnostic::error("Key refused", format!("{path} cannot be used: {error}."))
}

/// The plan has no signature.
pub fn signature_missing(path: &str) -> Diagnostic {
    Diagnostic::error(
        "Plan not signed",
        format!(
            "There is no signature {path}. Have the plan signed with \"weft plan sign\", or name the file with \
             -signature."
        ),
    )
}

/// The signature is not valid.
pub fn signature_refused(path: &str, error: &SignatureError) -> Diagnostic {
    Diagnostic::error("Signature refused", format!("The signature {path} is not valid: {error}."))
}

/// The signed plan was applied before.
pub fn signature_used(run: &RunId, status: RunStatus) -> Diagnostic {
    let way_out = weft_coordinator::term::after_signed_run(run, status);
    Diagnostic::error(
        "Signature already used",
        format!(
            "A signature is valid for one run, and run {run} has already used the signature of this plan. {way_out}"
        ),
    )
}

/// The text of `-metrics` is not an address.
pub fn invalid_metrics_address(text: &str, forms: &str) -> Diagnostic {
    Diagnostic::error("Invalid -metrics option", format!("{text:?} is not a valid address for metrics. Give {forms}."))
}

/// Metrics cannot be served at an address.
pub fn metrics_not_served(error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::error("Cannot listen", format!("{error}. Give another address with -metrics."))
}

/// The maximum number of listed names. More would hide the advice.
const LISTED: usize = 20;

/// The lines of a list of names, each after a line break.
pub fn lines_of(names: &[String]) -> String {
    let mut list: String = names.iter().take(LISTED).map(|name| format!("\n  - {name}")).collect();
    if names.len() > LISTED {
        list.push_str(&format!("\n  and {} more", names.len() - LISTED));
    }
    list
}
