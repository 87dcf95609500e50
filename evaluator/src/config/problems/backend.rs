//! Diagnostics of `backend`, `cloud` and `provider_meta` blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A `backend` block in a called module.
pub(in crate::config) fn ignored(at: SourceRange) -> Diagnostic {
    Diagnostic::warning(
        "Backend configuration ignored",
        "Only the backend block of the root module is used, so this one has no effect. It applies when this module is \
         itself the root module.",
    )
    .at(at)
}

/// A second `backend` block.
pub(in crate::config) fn duplicate(first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "A module can have only one backend block. The first one is at {}:{}. Remove one of them.",
        first.file, first.start.line
    );
    Diagnostic::error("Duplicate backend configuration", detail).at(at.clone())
}

/// A second `cloud` block.
pub(in crate::config) fn duplicate_cloud(first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "A module can have only one cloud block. The first one is at {}:{}. Remove one of them.",
        first.file, first.start.line
    );
    Diagnostic::error("Duplicate cloud configurations", detail).at(at.clone())
}

/// A sensitive or ephemeral value in a `backend` block.
pub(in crate::config) fn secret(kind: &str, at: &SourceRange) -> Diagnostic {
    let detail = "The settings of a backend are stored unencrypted in .terraform and in plan files. Give secrets to the \
                  backend with its environment variables.";
    Diagnostic::error(format!("Backend config contains {kind} values"), detail).at(at.clone())
}

/// A `backend` block and a `cloud` block in one module.
pub(in crate::config) fn beside_cloud(backend: &SourceRange, cloud: &SourceRange) -> Diagnostic {
    let detail = format!(
        "A backend block and a cloud block both choose where the state is stored, so a module can have only one of \
         them. The cloud block is at {}:{}. Remove one of them.",
        cloud.file, cloud.start.line
    );
    Diagnostic::error("Both a backend and a cloud configuration are present", detail).at(backend.clone())
}

/// A second `provider_meta` block for a provider.
pub(in crate::config) fn duplicate_provider_meta(provider: &str, first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "A module can have only one provider_meta block for {provider:?}. The first one is at {}:{}. Remove one of \
         them.",
        first.file, first.start.line
    );
    Diagnostic::error("Duplicate provider_meta block", detail).at(at.clone())
}
