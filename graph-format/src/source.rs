//! Positions in source files.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// One position in a source file.
///
/// `byte` counts from 0; `line` and `column` count from 1. Columns count grapheme clusters, as HCL does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// Offset in bytes from the beginning of the file.
    pub byte: u32,
    /// The line. The first line is 1.
    pub line: u32,
    /// The column in grapheme clusters. The first column is 1.
    pub column: u32,
}

impl Position {
    /// The first position of a file.
    pub const START: Position = Position { byte: 0, line: 1, column: 1 };
}

/// A half-open range of text in a named file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceRange {
    /// The file, relative to the working directory of the command, as a user would write it.
    pub file: SmolStr,
    /// The first position in the range.
    pub start: Position,
    /// The first position after the range.
    pub end: Position,
}

impl SourceRange {
    /// Whether this range contains the range `other`.
    pub fn holds(&self, other: &SourceRange) -> bool {
        self.file == other.file && self.start <= other.start && other.end <= self.end
    }

    /// The range that covers this range and the range `other`.
    ///
    /// Both ranges must be in the same file. The result has the file of `self`.
    pub fn through(&self, other: &SourceRange) -> SourceRange {
        SourceRange { file: self.file.clone(), start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}
