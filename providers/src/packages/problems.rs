//! The diagnostics of installed packages, as constructors.

use std::fmt::Display;

use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::Diagnostic;

/// The configuration and the lock file have different selections. `lines` has one line for each such provider.
pub(super) fn inconsistent_lock_file(lines: &str, nothing_locked: bool) -> Diagnostic {
    let advice = if nothing_locked {
        "To make the initial dependency selections that will initialize the dependency lock file, run:\n  weft init"
    } else {
        "To update the locked dependency selections to match a changed configuration, run:\n  weft init -upgrade"
    };
    Diagnostic::error(
        "Inconsistent dependency lock file",
        format!(
            "The following dependency selections recorded in the lock file are inconsistent with the current \
             configuration:{lines}\n\n{advice}"
        ),
    )
}

/// The installed packages differ from the packages in the lock file. `lines` has one line for each such provider.
pub(super) fn plugins_missing(lines: &str) -> Diagnostic {
    Diagnostic::error(
        "Required plugins are not installed",
        format!(
            "The installed provider plugins are not consistent with the packages selected in the dependency lock \
             file:{lines}\n\nEach provider is a separate program that calls the API of a service. To install the \
             providers that this configuration needs, run:\n  weft init"
        ),
    )
}

/// A provider is not installed.
pub(super) fn provider_missing(source: &ProviderSource) -> Diagnostic {
    Diagnostic::error(
        "Missing required provider",
        format!(
            "This configuration requires provider {source}, but that provider isn't available. You may be able to \
             install it automatically by running:\n  weft init"
        ),
    )
}

/// A package cannot be used. As in OpenTofu, the summary has the reason.
pub(super) fn unusable(source: &ProviderSource, problem: &dyn Display) -> Diagnostic {
    Diagnostic::error(format!("{source}: {problem}"), "").code("W1032")
}

/// A package has changed. As in OpenTofu, the summary has the reason.
pub(super) fn changed(source: &ProviderSource, problem: &dyn Display) -> Diagnostic {
    let summary = format!(
        "failed to read provider configuration schema for {source}: failed to instantiate provider \"{source}\" to obtain \
         schema: {problem}, run tofu init to ensure all providers are correctly installed"
    );
    Diagnostic::error(summary, "").code("W1032")
}
