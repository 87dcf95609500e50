//! Diagnostics of the loading of modules and their files.

use std::io;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::module_source::ModuleSourceError;
use weft_graph_format::source::SourceRange;

const INVALID_SOURCE: &str = "Invalid module source address";
const INVALID_VERSION: &str = "Invalid version constraint";

/// A directory of a module that cannot be read.
pub(in crate::config) fn unreadable_directory(path: &str, cause: &io::Error) -> Diagnostic {
    Diagnostic::error("Unreadable module directory", format!("The directory {path} cannot be read: {cause}."))
}

/// A file with more than `most` bytes.
pub(in crate::config) fn file_too_large(file: &str, bytes: u64, most: u64) -> Diagnostic {
    let detail = format!("The file {file} has {bytes} bytes, but the limit is {most} bytes. Split the file.");
    Diagnostic::error("Configuration file too large", detail)
}

/// A file that cannot be read.
pub(in crate::config) fn unreadable_file(file: &str, cause: &io::Error) -> Diagnostic {
    Diagnostic::error("Failed to read file", format!("The file {file} cannot be read: {cause}."))
}

/// Module calls that are nested deeper than `most` levels.
pub(in crate::config) fn nested_too_deeply(most: usize, at: &SourceRange) -> Diagnostic {
    let detail =
        format!("Module calls are nested more than {most} levels deep here. Look for a module that calls itself.");
    Diagnostic::error("Module calls nested too deeply", detail).at(at.clone())
}

/// A sensitive version.
pub(in crate::config) fn sensitive_version(at: SourceRange) -> Diagnostic {
    Diagnostic::error(INVALID_VERSION, "The version is shown and stored, so it cannot be sensitive.").at(at)
}

/// An ephemeral version.
pub(in crate::config) fn ephemeral_version(at: SourceRange) -> Diagnostic {
    Diagnostic::error(INVALID_VERSION, "The version is stored, so it cannot be ephemeral.").at(at)
}

/// A version that is not a string.
pub(in crate::config) fn version_not_text(at: SourceRange) -> Diagnostic {
    let detail = "The argument \"version\" must be a string with version constraints, such as \"~> 1.2\".";
    Diagnostic::error(INVALID_VERSION, detail).at(at)
}

/// The reason that is reported for a `for_each` of a `provider` block whose keys are unknown.
pub(in crate::config) fn unknown_provider_keys() -> String {
    String::from("The keys of this provider are not known, because its for_each has errors.")
}

/// A `for_each` of a `provider` block that has no keys, for the reason `why`.
pub(in crate::config) fn unsuitable_provider_keys(why: String, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Invalid for_each argument", why).at(at)
}

/// A module call has a source that cannot be parsed. If `versioned` is set, the call has a version, so it needs a
/// source in a registry.
pub(in crate::config) fn invalid_source(error: &ModuleSourceError, versioned: bool, at: SourceRange) -> Diagnostic {
    let problem = match error {
        ModuleSourceError::Relative(text) => Diagnostic::error(
            INVALID_SOURCE,
            format!(
                "{text:?} is not the address of a module. For a directory below the directory of this module, write \
                 \"./{text}\". Local paths start with ./ or ../."
            ),
        ),
        error if versioned => Diagnostic::error(
            "Invalid registry module source address",
            format!(
                "A module call with the argument \"version\" needs a source in a registry, but this source is not the \
                 address of a registry module: {error}."
            ),
        ),
        error => Diagnostic::error(INVALID_SOURCE, format!("This source is not the address of a module: {error}.")),
    };
    problem.at(at)
}
