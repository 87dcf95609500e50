//! The diagnostics of backends, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;

/// The configuration has a `cloud` block.
pub fn cloud_unsupported() -> Diagnostic {
    Diagnostic::error(
        "Cloud block not supported",
        "This version of Weft cannot keep state in HCP Terraform or a similar service. Remove the block to keep state \
         in a file, or use -store to keep it in Redis. To bring the state along, use \"state pull\" of the former tool \
         and \"weft state push\".",
    )
}

/// The backend is not `local`.
pub fn backend_unsupported(kind: &str) -> Diagnostic {
    Diagnostic::error(
        "Backend not supported yet",
        format!(
            "The backend {kind:?} is not one that this version of Weft can use. Use \"local\", or keep state in Redis \
             with -store=redis://HOST/DB?state=NAME."
        ),
    )
}

/// A `-backend-config` option sets an argument that the backend does not have.
pub fn unexpected_argument(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid backend configuration argument",
        format!(
            "The backend configuration argument {name:?} given on the command line is not expected for the selected \
             backend type."
        ),
    )
}

/// An argument in a file of settings is not a string.
pub fn argument_not_a_string(name: &str, path: &str) -> Diagnostic {
    Diagnostic::error("Invalid backend configuration", format!("The argument {name:?} in {path} must be a string."))
}

/// How the backend settings differ from those that `init` has saved.
#[derive(Clone, Copy)]
pub enum Change {
    /// The block is new.
    Added,
    /// The block was removed.
    Removed,
    /// The block has other settings.
    Changed,
}

/// The backend settings have changed since the last `init`.
pub fn initialization_required(change: Change) -> Diagnostic {
    const MISSING: &str = "Backend initialization required, please run \"tofu init\"";
    const CHANGED: &str = "Backend initialization required: please run \"tofu init\"";
    let (summary, reason) = match change {
        Change::Added => (MISSING, "Initial configuration of the requested backend \"local\""),
        Change::Removed => (MISSING, "Unsetting the previously set backend \"local\""),
        Change::Changed => (CHANGED, "Backend configuration block has changed"),
    };
    Diagnostic::error(
        summary,
        format!(
            "Reason: {reason}\n\nThe backend determines where state is stored. After a change of its settings, run \"weft \
             init\" with -migrate-state to copy the state, or with -reconfigure to leave it where it is."
        ),
    )
}

/// The saved settings of the backend cannot be read.
pub fn settings_unreadable(path: &Path, why: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to read the saved backend settings", format!("{}: {why}.", path.display()))
}

/// The settings of the backend cannot be saved.
pub fn settings_not_saved(path: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot save the backend settings", format!("{}: {error}.", path.display()))
}
