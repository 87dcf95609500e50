//! The diagnostics of commands on providers, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;
use weft_providers::platform::Platform;
use weft_registry::cli_config::MirrorUrlProblem;

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

/// The URL of `-net-mirror` is not valid.
pub fn invalid_mirror(problem: MirrorUrlProblem) -> Diagnostic {
    Diagnostic::error("Invalid installation method options", problem.to_string())
}

/// The template of `-oci-mirror` is not valid.
pub fn invalid_template(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid installation method options", format!("Invalid template for -oci-mirror: {error}."))
}

/// Providers cannot be fetched for a platform.
pub fn not_retrieved(platform: &Platform, reasons: impl Iterator<Item = String>) -> Diagnostic {
    let reasons: String = reasons.map(|reason| format!("\n  - {reason}")).collect();
    Diagnostic::error(
        "Could not retrieve providers for locking",
        format!("Weft cannot fetch the requested providers for {platform} to compute their checksums:{reasons}"),
    )
}

/// An argument is not the address of a provider.
pub fn not_a_provider(name: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid provider argument", format!("The argument {name:?} is not a provider address: {error}."))
}

/// An argument names a built-in provider.
pub fn builtin_provider(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid provider argument",
        format!("The provider {name} is built in and needs no lock. Remove it from the arguments."),
    )
}

/// An argument names a provider that the configuration does not require.
pub fn provider_not_required(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid provider argument",
        format!("The provider {name} is not required by the current configuration."),
    )
}

/// The index of a mirror cannot be updated.
pub fn index_not_updated(problem: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to update the mirror's index", format!("{problem}."))
}

/// A provider that is to be mirrored is not available.
pub fn not_available(detail: String) -> Diagnostic {
    Diagnostic::error("Provider not available", detail)
}

/// A provider cannot be copied to a mirror.
pub fn not_mirrored(name: &str, problem: &str) -> Diagnostic {
    Diagnostic::error("Cannot mirror provider", format!("{name}: {problem}."))
}
