//! Diagnostics of test files and their directory.

use std::io;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A test directory that does not exist.
pub(in crate::config) fn missing_directory(directory: &str) -> Diagnostic {
    let detail = format!("The directory {directory} does not exist, so it has no test files.");
    Diagnostic::warning("Test directory does not exist", detail)
}

/// A test directory that cannot be read.
pub(in crate::config) fn unreadable_directory(directory: &str, cause: &io::Error) -> Diagnostic {
    let detail = format!("The test directory {directory} cannot be read: {cause}.");
    Diagnostic::error("Failed to read test directory", detail)
}

/// A file with more than `most` bytes.
pub(in crate::config) fn too_large(file: &str, bytes: u64, most: u64) -> Diagnostic {
    let detail = format!("The file {file} has {bytes} bytes, but the limit is {most} bytes. Split the file.");
    Diagnostic::error("Configuration file too large", detail)
}

/// A file that cannot be read.
pub(in crate::config) fn unreadable(file: &str, cause: &io::Error) -> Diagnostic {
    Diagnostic::error("Failed to read file", format!("The file {file} cannot be read: {cause}."))
}

/// A second `variables` block. `parent` describes what contains both blocks.
pub(in crate::config) fn second_variables(parent: &str, first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "A {parent} can have only one variables block. The first one is at {}:{}. Move the values there.",
        first.file, first.start.line
    );
    Diagnostic::error("Multiple \"variables\" blocks", detail).at(at.clone())
}

/// An expression of a test file reads an unknown name.
pub(in crate::config) fn unknown_name(name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("The name {name:?} does not exist here. Test files can use var, run and functions.");
    Diagnostic::error("Unknown variable", detail).at(at)
}

/// An expression of a test file calls a function of a provider.
pub(in crate::config) fn provider_function(name: &str) -> Diagnostic {
    Diagnostic::error("Unknown provider function", format!("{name} cannot be called in a test file."))
}
