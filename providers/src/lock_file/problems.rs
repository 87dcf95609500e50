//! The diagnostics of the lock file, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::Diagnostic;

/// The lock file cannot be read.
pub(super) fn unreadable(path: &Path, error: &str) -> Diagnostic {
    Diagnostic::error(
        "Failed to read dependency lock file",
        format!("The dependency lock file {} cannot be read: {error}.", path.display()),
    )
}

/// The faults of a lock file.
#[derive(Clone, Copy)]
pub(super) enum Fault<'a> {
    /// The text cannot be parsed.
    Syntax(&'a str),
    /// The address of a provider is not in its normal form.
    OtherForm(&'a ProviderSource),
    /// The address of a provider is not valid.
    Address(&'a dyn Display),
    /// A provider has two locks.
    Duplicate(&'a ProviderSource),
    /// A version cannot be parsed.
    Version(&'a dyn Display),
    /// A version is not a string.
    VersionNotAString,
    /// Constraints cannot be parsed.
    Constraints(&'a dyn Display),
    /// Constraints are not a string.
    ConstraintsNotAString,
    /// A checksum cannot be parsed.
    Checksum(&'a dyn Display),
    /// Checksums are not a list of strings.
    ChecksumsNotAList,
    /// A lock has no version.
    NoVersion(&'a ProviderSource),
}

/// A lock file is not valid.
pub(super) fn invalid(line: usize, fault: Fault<'_>) -> Diagnostic {
    let text = "A string is required.";
    let (summary, detail) = match fault {
        Fault::Syntax(problem) => ("Invalid dependency lock file", problem.to_owned()),
        Fault::OtherForm(source) => (
            "Non-normalized provider source address",
            format!("The provider address must be written in its normal form, \"{source}\"."),
        ),
        Fault::Address(error) => ("Invalid provider source address", error.to_string()),
        Fault::Duplicate(source) => {
            ("Duplicate provider lock", format!("There is more than one lock for provider {}.", source.for_display()))
        }
        Fault::Version(error) => ("Invalid provider version number", error.to_string()),
        Fault::VersionNotAString => ("Invalid provider version number", text.to_owned()),
        Fault::Constraints(error) => ("Invalid provider version constraints", error.to_string()),
        Fault::ConstraintsNotAString => ("Invalid provider version constraints", text.to_owned()),
        Fault::Checksum(error) => ("Invalid provider hash set", error.to_string()),
        Fault::ChecksumsNotAList => ("Invalid provider hash set", "A list of strings is required.".to_owned()),
        Fault::NoVersion(source) => {
            ("Missing required argument", format!("The lock of provider {} has no version.", source.for_display()))
        }
    };
    Diagnostic::error(summary, format!("On line {line} of the dependency lock file: {detail}"))
}

/// A lock file has a lock of a module.
pub(super) fn module_lock(line: usize) -> Diagnostic {
    Diagnostic::warning(
        "Dependency locks for modules are not yet supported",
        format!(
            "On line {line} of the dependency lock file: Locks for modules are reserved for a later version. This \
             block is ignored."
        ),
    )
}

/// A lock file has an unknown setting.
pub(super) fn unknown_setting(line: usize, words: &str) -> Diagnostic {
    Diagnostic::warning(
        "Unknown setting in dependency lock file",
        format!(
            "On line {line} of the dependency lock file: \"{words}\" is not a known setting. This setting is ignored."
        ),
    )
}
