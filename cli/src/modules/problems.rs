//! The diagnostics of modules and their manifest, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;

/// The manifest cannot be read.
pub fn manifest_unreadable(path: &Path, why: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to read modules manifest file",
        format!("{}: {why}. Run \"weft init\" to write it again.", path.display()),
    )
}

/// The manifest cannot be written.
pub fn manifest_not_written(path: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to update module manifest", format!("{}: {error}.", path.display()))
}

/// Fetching needs a runtime, which cannot start.
pub fn no_runtime(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot start", format!("Weft cannot start its runtime: {error}."))
}
