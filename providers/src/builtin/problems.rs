//! The diagnostics of the built-in provider, as constructors.

use std::fmt::Display;

use weft_graph_format::codec::DecodeError;
use weft_graph_format::path::Path;

use crate::diagnostic::ProviderDiagnostic;
use crate::states::SettingsMismatch;

/// The configuration sets a computed attribute.
pub(super) fn read_only_attribute(name: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error(format!("\"{name}\" attribute is read-only"), "")
}

/// A stored object has the legacy form.
pub(super) fn stored_as_flat_map() -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        "Unsupported state format",
        "This object is stored as a flat map, but terraform_data never used this format. The object belongs to another \
         resource type. Remove it from the state with \"weft state rm\", and import it at an address of its own type.",
    )
}

/// A stored object cannot be decoded.
pub(super) fn stored_object_unreadable(error: &dyn Display) -> ProviderDiagnostic {
    ProviderDiagnostic::error("Stored object cannot be read", format!("{error}."))
}

/// An object to move has the legacy form.
pub(super) fn moved_flat_map() -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        "Unsupported state format",
        "The object to move is stored as a flat map (attributes_flat), a format of Terraform 0.11 and earlier. Only \
         objects in the current format can be moved to terraform_data.",
    )
}

/// An object of another type cannot be moved.
pub(super) fn moved_from_other_type(type_name: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        "Unable to Move Resource State",
        format!("Objects of {type_name} cannot be moved to terraform_data."),
    )
}

/// An import names its object by something other than an id.
pub(super) fn import_without_id() -> ProviderDiagnostic {
    let detail = "Objects of terraform_data have no identity. Import them by id.";
    ProviderDiagnostic::error("Unsupported import", detail)
}

/// The defaults of `terraform_remote_state` are not an object.
pub(super) fn defaults_not_an_object() -> ProviderDiagnostic {
    ProviderDiagnostic::error("Invalid default values", "Defaults must be given as an object.")
        .at(attribute("defaults"))
}

/// The backend has no state of the workspace.
pub(super) fn no_remote_state() -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        "Unable to find remote state",
        "No stored state was found for the given workspace in the given backend.",
    )
    .at(attribute("workspace"))
}

/// A state cannot be decrypted.
pub(super) fn state_not_opened(error: &dyn Display) -> ProviderDiagnostic {
    ProviderDiagnostic::error("Error loading state error", format!("The state cannot be decrypted: {error}."))
        .at(attribute("backend"))
}

/// A state cannot be read.
pub(super) fn state_unreadable(file: &std::path::Path, what: &dyn Display) -> ProviderDiagnostic {
    ProviderDiagnostic::error("Error loading state error", format!("{} cannot be read: {what}.", file.display()))
        .at(attribute("backend"))
}

/// A file is larger than any state.
pub(super) fn state_too_large(file: &std::path::Path) -> ProviderDiagnostic {
    state_unreadable(file, &"it is too large for a state file")
}

/// A state in a service cannot be read.
pub(super) fn state_not_read(error: &dyn Display) -> ProviderDiagnostic {
    let what = error.to_string();
    let stop = if what.ends_with('.') { "" } else { "." };
    ProviderDiagnostic::error("Error loading state error", format!("{what}{stop}")).at(attribute("backend"))
}

/// The backend does not exist.
pub(super) fn unknown_backend(backend: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error("Invalid backend configuration", format!("The backend type {backend:?} does not exist."))
        .at(attribute("backend"))
}

/// OpenTofu can read states in this backend, but this build of Weft cannot.
pub(super) fn backend_unsupported(backend: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        "Backend not supported yet",
        format!("This build of Weft cannot read states in a backend of type {backend:?}."),
    )
    .at(attribute("backend"))
}

/// The path of the state is empty.
pub(super) fn empty_path() -> ProviderDiagnostic {
    let detail = "The argument \"path\" must not be empty.";
    ProviderDiagnostic::error("Invalid local state file path", detail).at(attribute("path"))
}

/// The folder for the states of workspaces is empty.
pub(super) fn empty_workspace_directory() -> ProviderDiagnostic {
    let detail = "The argument \"workspace_dir\" must not be empty.";
    ProviderDiagnostic::error("Invalid local workspace directory path", detail).at(attribute("workspace_dir"))
}

/// The settings of a backend are not an object.
pub(super) fn settings_not_an_object() -> ProviderDiagnostic {
    invalid_settings("The configuration must be an object.".to_owned())
}

/// The settings do not fit their backend.
pub(super) fn settings_mismatch(backend: &str, mismatch: &SettingsMismatch) -> ProviderDiagnostic {
    let what = mismatch.to_string();
    let what = what.trim_end_matches('.');
    invalid_settings(format!("The settings do not fit the backend {backend:?}: {what}."))
}

fn invalid_settings(detail: String) -> ProviderDiagnostic {
    ProviderDiagnostic::error("Invalid backend configuration", detail).at(attribute("config"))
}

/// The outputs are not available, for the reason in another diagnostic.
pub(super) fn remote_state_not_read(address: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::bare(format!("{address}: Unable to read remote state"), "")
}

/// Why a text is not a state file with outputs. The message is a sentence.
#[derive(Debug, thiserror::Error)]
pub(super) enum StateFormProblem {
    #[error("The state file is not valid JSON: {0}.")]
    Json(#[from] serde_json::Error),
    #[error("The state file has format version {0}; only version 4 is supported.")]
    Version(u64),
    #[error("The state file has no \"version\" of its format.")]
    NoVersion,
    #[error("The output {name:?} cannot be read: {error}.")]
    Output { name: String, error: DecodeError },
}

/// The file does not have the form of a state file.
pub(super) fn unsupported_format(problem: &StateFormProblem) -> ProviderDiagnostic {
    ProviderDiagnostic::bare("Unsupported state file format", problem.to_string())
}

fn attribute(name: &str) -> Path {
    Path::ROOT.attribute(name)
}
