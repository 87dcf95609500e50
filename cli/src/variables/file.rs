//! Reads files with arguments: variable files, and files of `-backend-config`.

use weft_evaluator::variable_file::VariablesFile;
use weft_graph_format::diagnostic::Diagnostic;

use super::problems;

/// The maximum size of a file in bytes. Larger files are not settings.
const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// Reads a variable file.
pub fn read(path: &str) -> VariablesFile {
    match content(path) {
        Ok(content) => VariablesFile::parse(path, &content),
        Err(problem) => VariablesFile { diagnostics: vec![problem], ..VariablesFile::default() },
    }
}

/// The bytes of a file with arguments.
///
/// # Errors
/// Returns an error if the file cannot be read or is too large.
pub fn content(path: &str) -> Result<Vec<u8>, Diagnostic> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(problems::no_file(path)),
        Ok(found) if found.len() > LARGEST_FILE => {
            return Err(problems::file_too_large(path, found.len(), LARGEST_FILE));
        }
        _ => {}
    }
    std::fs::read(path).map_err(|error| problems::file_unreadable(path, &error))
}
