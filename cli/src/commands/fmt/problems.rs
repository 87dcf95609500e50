//! The diagnostics of `fmt`, as constructors.

use std::fmt::Display;
use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;

/// The file or directory does not exist.
pub fn nothing_there(path: &Path) -> Diagnostic {
    Diagnostic::error("Invalid file or directory path", format!("No file or directory at {}.", path.display()))
}

/// The file is of a type that is not formatted.
pub fn other_kind_of_file(path: &Path) -> Diagnostic {
    Diagnostic::error(
        "Invalid file extension",
        format!(
            "\"weft fmt\" can process only .tf, .tofu, .tfvars, .tftest.hcl and .tofutest.hcl files. {} is none of \
             these.",
            path.display()
        ),
    )
}

/// A directory cannot be read.
pub fn directory_unreadable(directory: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Cannot read directory", format!("{}: {error}.", directory.display()))
}

/// A file cannot be read.
pub fn file_unreadable(name: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to read file", format!("{name}: {error}."))
}

/// A file cannot be written.
pub fn file_unwritable(name: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to write file", format!("{name}: {error}."))
}

/// The standard input cannot be read.
pub fn input_unreadable(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to read standard input", format!("{error}."))
}
