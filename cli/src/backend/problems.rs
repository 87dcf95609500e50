//! The diagnostics of backends, as constructors.

use std::fmt::Display;
use std::path::Path;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::types::Type;
use weft_state::remote::BackendError;

use super::CLOUD;

/// The configuration has a `backend "cloud"` block instead of a `cloud` block.
pub fn cloud_as_backend(init: bool) -> Diagnostic {
    Diagnostic::error(
        unknown_summary(init),
        "There is no explicit backend type named \"cloud\". To configure cloud backend, declare a 'cloud' block instead.",
    )
}

/// OpenTofu has this type of backend, but Weft does not.
pub fn backend_unsupported(kind: &str) -> Diagnostic {
    Diagnostic::error(
        "Backend not supported yet",
        format!(
            "This version of Weft does not support the backend {kind:?}. Use \"local\" or {known}, or keep state in \
             Redis with -store=redis://HOST/DB?state=NAME.",
            known = weft_backends::catalog::kinds().map(|kind| format!("{kind:?}")).collect::<Vec<_>>().join(", ")
        ),
    )
}

/// OpenTofu no longer has this type of backend.
pub fn backend_removed(kind: &str, instead: Option<&str>, init: bool) -> Diagnostic {
    let detail = match instead {
        Some(instead) => format!("The {kind:?} backend name has been removed, please use {instead:?}."),
        None => format!("The {kind:?} backend is not supported in OpenTofu v1.3 or later."),
    };
    Diagnostic::error(unknown_summary(init), detail)
}

/// This type of backend does not exist.
pub fn backend_unknown(kind: &str, init: bool) -> Diagnostic {
    Diagnostic::error(unknown_summary(init), format!("There is no backend type named {kind:?}."))
}

fn unknown_summary(init: bool) -> &'static str {
    const AT_INIT: &str = "Unsupported backend type";
    const LATER: &str = "Invalid backend type";
    if init { AT_INIT } else { LATER }
}

/// A request to a backend failed.
pub fn of_backend(error: &BackendError) -> Diagnostic {
    const PLAIN: [&str; 2] = ["workspaces not supported", "default workspace not supported"];
    match error {
        BackendError::NoWorkspaces => Diagnostic::error(PLAIN[0], "This backend supports only one state."),
        BackendError::NoDefault => {
            Diagnostic::error(PLAIN[1], "Create and select a workspace with \"weft workspace new NAME\".")
        }
        BackendError::Problem(problem) => (**problem).clone(),
        BackendError::Credentials { .. } => Diagnostic::error("No valid credential sources found", sentence(error)),
        error => Diagnostic::error("Error accessing the state in its backend", sentence(error)),
    }
}

fn sentence(error: &BackendError) -> String {
    let text = error.to_string().trim_end().to_owned();
    if text.ends_with('.') { text } else { text + "." }
}

/// The directory of a workspace cannot be removed.
pub fn workspace_not_deleted(path: &Path, error: &dyn Display) -> Diagnostic {
    let detail = format!("The directory {} cannot be removed: {error}.", path.display());
    Diagnostic::error("Cannot delete workspace", detail)
}

/// A plan contains a record of its backend that cannot be read.
pub fn plan_without_backend() -> Diagnostic {
    Diagnostic::error(
        "Backend of the plan not readable",
        "This version of Weft cannot read the settings of the backend in the plan. Make a new plan.",
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

/// A `-backend-config` option has a value of another type than the argument.
pub fn invalid_argument(name: &str, ty: &Type) -> Diagnostic {
    Diagnostic::error(
        "Invalid backend configuration argument",
        format!("The backend configuration argument {name:?} must be of the type {ty}."),
    )
}

/// How the backend settings differ from those that `init` has saved.
#[derive(Clone, Debug)]
pub enum SettingsChange {
    /// The block is new. Holds its type.
    Added(SmolStr),
    /// The block was removed. Holds the type of the saved settings.
    Removed(SmolStr),
    /// The block has another type. Holds the type of the saved settings and the type of the block.
    Kind(SmolStr, SmolStr),
    /// The block has other settings.
    Settings,
    /// The `cloud` block has other settings.
    CloudSettings,
}

impl SettingsChange {
    /// Whether the configuration now has a `cloud` block that is new or has other settings.
    fn is_to_cloud(&self) -> bool {
        match self {
            SettingsChange::Added(now) | SettingsChange::Kind(_, now) => now == CLOUD,
            SettingsChange::CloudSettings => true,
            SettingsChange::Removed(_) | SettingsChange::Settings => false,
        }
    }
}

/// The backend settings have changed since the last `init`.
pub fn initialization_required(change: &SettingsChange) -> Diagnostic {
    const MISSING: &str = "Backend initialization required, please run \"tofu init\"";
    const CHANGED: &str = "Backend initialization required: please run \"tofu init\"";
    const CLOUDED: &str = "Cloud backend initialization required: please run \"tofu init\"";
    let (summary, reason) = match change {
        SettingsChange::Added(kind) if kind == CLOUD => (CLOUDED, "Initial configuration of cloud backend".to_owned()),
        SettingsChange::Kind(before, now) if now == CLOUD => {
            (CLOUDED, format!("Changed from backend \"{before}\" to cloud backend"))
        }
        SettingsChange::Kind(before, now) if before == CLOUD => {
            (CHANGED, format!("Changed from cloud backend to backend \"{now}\""))
        }
        SettingsChange::CloudSettings => (CLOUDED, "Cloud backend configuration block has changed".to_owned()),
        SettingsChange::Added(kind) => (MISSING, format!("Initial configuration of the requested backend \"{kind}\"")),
        SettingsChange::Removed(kind) => (MISSING, format!("Unsetting the previously set backend \"{kind}\"")),
        SettingsChange::Kind(before, now) => (CHANGED, format!("Backend type changed from \"{before}\" to \"{now}\"")),
        SettingsChange::Settings => (CHANGED, "Backend configuration block has changed".to_owned()),
    };
    let advice = match change.is_to_cloud() {
        true => "run \"weft init\".",
        false => {
            "run \"weft init\" with -migrate-state to copy the state, or with -reconfigure to leave it where it is."
        }
    };
    Diagnostic::error(
        summary,
        format!(
            "Reason: {reason}\n\nThe backend determines where state is stored. After a change of its settings, {advice}"
        ),
    )
}

/// The saved settings of the backend cannot be read.
pub fn settings_unreadable(path: &Path, why: &dyn Display) -> Diagnostic {
    let detail = format!(
        "The file {} cannot be read: {why}. Repair the file, or remove it and run \"weft init\" again.",
        path.display()
    );
    Diagnostic::error("Failed to read the saved backend settings", detail)
}

/// The saved settings of the backend have another version.
pub fn settings_of_other_version(path: &Path, known: u64) -> Diagnostic {
    let why = format!("it does not have the format version {known}, the only one that Weft reads");
    settings_unreadable(path, &why)
}

/// The settings of the backend cannot be saved.
pub fn settings_not_saved(path: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot save the backend settings", format!("{}: {error}.", path.display()))
}
