//! Errors of JSON parsing. They have only the position and the kind of the error, and quote nothing, because any part
//! of the text may be secret, such as an encryption key.

use std::fmt;

use serde_json::error::Category;

/// Why a JSON text cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonProblem {
    /// Whether the text is valid JSON, but has an unexpected form. If false, the text is not valid JSON.
    pub shape: bool,
    /// The line, counted from 1; 0 if unknown.
    pub line: usize,
    /// The column in bytes, counted from 1.
    pub column: usize,
}

impl From<serde_json::Error> for JsonProblem {
    fn from(error: serde_json::Error) -> JsonProblem {
        JsonProblem { shape: error.classify() == Category::Data, line: error.line(), column: error.column() }
    }
}

impl std::error::Error for JsonProblem {}

impl fmt::Display for JsonProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.shape { "JSON of an unexpected form" } else { "not valid JSON" })?;
        if self.line > 0 { write!(out, ", at line {}, column {}", self.line, self.column) } else { Ok(()) }
    }
}
