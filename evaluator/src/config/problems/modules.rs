//! Diagnostics of the locations of called modules.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::module_source::ModuleSource;
use weft_graph_format::source::SourceRange;

const NOT_INSTALLED: &str = "Module not installed";

/// A module whose directory does not exist.
pub(in crate::config) fn missing_directory(dir: &str, call: &SourceRange) -> Diagnostic {
    Diagnostic::error(NOT_INSTALLED, format!("The directory {dir:?} of this module does not exist.")).at(call.clone())
}

/// A remote module that is not installed.
pub(in crate::config) fn not_installed(source: &ModuleSource, call: &SourceRange) -> Diagnostic {
    let detail = format!("This module comes from {source}, but is not installed yet. Run \"weft init\".");
    Diagnostic::error(NOT_INSTALLED, detail).at(call.clone())
}
