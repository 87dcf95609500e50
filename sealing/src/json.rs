//! What is said of JSON that cannot be read: where and of which kind, never a piece of it, since a piece may be a key.

use std::fmt;

use serde_json::error::Category;

/// Why a JSON text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonProblem {
    /// Whether it is JSON, of another shape than expected; not JSON otherwise.
    pub shape: bool,
    /// The line, counted from 1; 0 where there is none.
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
        out.write_str(if self.shape { "JSON of another shape than expected" } else { "not valid JSON" })?;
        if self.line > 0 { write!(out, ", at line {}, column {}", self.line, self.column) } else { Ok(()) }
    }
}
