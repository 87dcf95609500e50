//! A source file: its name, its text, and an index of its lines.

use std::fmt;

use smol_str::SmolStr;
use unicode_segmentation::UnicodeSegmentation;
use weft_graph_format::source::{Position, SourceRange};

/// The distance in bytes between two stored columns of a line that is not plain ASCII.
///
/// To find a column, at most this number of bytes is divided into grapheme clusters, even in a very long line.
const CHECKPOINT_BYTES: usize = 256;

/// The maximum size of a text to parse, in bytes. Offsets have 32 bits, and one value is reserved.
pub const MAX_SOURCE_BYTES: usize = u32::MAX as usize - 1;

/// A half-open range of bytes of one source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The offset of the first byte of the range.
    pub start: u32,
    /// The offset after the last byte of the range.
    pub end: u32,
}

impl Span {
    /// The range from `start` to `end`, without `end`.
    pub const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// The empty range at an offset.
    pub const fn empty(at: u32) -> Span {
        Span { start: at, end: at }
    }

    /// The smallest range that covers both ranges.
    pub fn through(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Length in bytes.
    pub const fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether the range is empty.
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// The range as indices of a text.
    pub const fn indices(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The start of a line and, for a line that is not plain ASCII, the position of its checkpoints.
#[derive(Clone, Debug)]
struct LineStart {
    start: u32,
    /// Index of the first checkpoint of this line. The checkpoints of the line end where those of the next line begin.
    checkpoints: u32,
    ascii: bool,
}

/// A text with a name and an index of its lines.
///
/// The first byte is not always at line 1, column 1. An expression that was cut out of another text keeps its position
/// in that text.
#[derive(Clone)]
pub struct SourceFile {
    name: SmolStr,
    text: std::sync::Arc<str>,
    origin: Position,
    lines: Vec<LineStart>,
    /// Checkpoints of all lines: a byte offset, and the number of grapheme clusters between the start of the line and
    /// this offset.
    checkpoints: Vec<(u32, u32)>,
}

impl SourceFile {
    /// A file whose first byte is at line 1, column 1.
    ///
    /// All positions after [`MAX_SOURCE_BYTES`] are treated as equal.
    pub fn new(name: impl Into<SmolStr>, text: impl Into<std::sync::Arc<str>>) -> SourceFile {
        SourceFile::starting_at(name, text, Position::START)
    }

    /// A text whose first byte is at position `origin` of the file `name`.
    pub fn starting_at(name: impl Into<SmolStr>, text: impl Into<std::sync::Arc<str>>, origin: Position) -> SourceFile {
        let text = text.into();
        let mut lines = Vec::new();
        let mut checkpoints = Vec::new();
        let mut start = 0;
        loop {
            let length = text[start..].find('\n').map(|at| at + 1);
            let line = &text[start..start + length.unwrap_or(text.len() - start)];
            let ascii = line.is_ascii();
            lines.push(LineStart { start: offset(start), checkpoints: offset(checkpoints.len()), ascii });
            if !ascii {
                let mut remembered = 0;
                for (column, (at, _)) in line.grapheme_indices(true).enumerate() {
                    if at >= remembered + CHECKPOINT_BYTES {
                        checkpoints.push((offset(start + at), offset(column)));
                        remembered = at;
                    }
                }
            }
            match length {
                Some(length) => start += length,
                None => break,
            }
        }
        SourceFile { name: name.into(), text, origin, lines, checkpoints }
    }

    /// The name, as a user would write it.
    pub fn name(&self) -> &SmolStr {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &std::sync::Arc<str> {
        &self.text
    }

    /// The text of a range; empty if the range is not within this text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.indices()).unwrap_or_default()
    }

    /// Line and column of a byte offset. An offset after the end of the text stands for the end.
    pub fn position(&self, byte: u32) -> Position {
        let byte = byte.min(offset(self.text.len()));
        let index = self.lines.partition_point(|line| line.start <= byte).saturating_sub(1);
        let Some(line) = self.lines.get(index) else { return self.origin };
        let column = if line.ascii { byte - line.start } else { self.column(index, line, byte) };
        let first = index == 0;
        Position {
            byte: self.origin.byte.saturating_add(byte),
            line: self.origin.line.saturating_add(offset(index)),
            column: if first { self.origin.column.saturating_add(column) } else { column.saturating_add(1) },
        }
    }

    /// The number of grapheme clusters between the start of the line and `byte`.
    fn column(&self, index: usize, line: &LineStart, byte: u32) -> u32 {
        let end = self.lines.get(index + 1).map_or(self.checkpoints.len(), |next| next.checkpoints as usize);
        let remembered = self.checkpoints.get(line.checkpoints as usize..end).unwrap_or_default();
        let before = remembered.partition_point(|(at, _)| *at <= byte);
        let (from, counted) = match before.checked_sub(1).and_then(|at| remembered.get(at)) {
            Some(&(at, column)) => (at, column),
            None => (line.start, 0),
        };
        let mut end = byte as usize;
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let between = self.text.get(from as usize..end).unwrap_or_default();
        let columns = counted.saturating_add(offset(between.graphemes(true).count()));
        // A byte order mark takes no column.
        let marked = index == 0 && byte > 0 && self.text.starts_with('\u{feff}');
        columns - u32::from(marked && columns > 0)
    }

    /// The source range of a span: file, lines and columns.
    pub fn range(&self, span: Span) -> SourceRange {
        SourceRange { file: self.name.clone(), start: self.position(span.start), end: self.position(span.end) }
    }

    /// The text of a line without its line end. Lines are counted from 0.
    pub fn line(&self, index: usize) -> Option<&str> {
        let start = self.lines.get(index)?.start as usize;
        let end = self.lines.get(index + 1).map_or(self.text.len(), |next| next.start as usize);
        Some(self.text.get(start..end)?.trim_end_matches(['\n', '\r']))
    }
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SourceFile({:?}, {} bytes)", self.name, self.text.len())
    }
}

/// A length as an offset in a tree. Saturates.
pub(crate) fn offset(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_grapheme_clusters() {
        let file = SourceFile::new("a.tf", "a = \"e\u{301}👩‍👩‍👧\" x\nb\r\nc");
        let at = file.text().find('x').map(offset).unwrap_or_default();
        assert_eq!(file.position(at), Position { byte: at, line: 1, column: 10 });
        let c = file.text().find('c').map(offset).unwrap_or_default();
        assert_eq!(file.position(c), Position { byte: c, line: 3, column: 1 });
        assert_eq!(file.line(1), Some("b"));
    }

    #[test]
    fn columns_of_long_lines_are_cached_in_steps() {
        let text = "é".repeat(10_000);
        let file = SourceFile::new("a.tf", text.as_str());
        for at in [0u32, 254, 256, 258, 5_000, 20_000] {
            assert_eq!(file.position(at).column, at / 2 + 1);
        }
    }

    #[test]
    fn positions_are_relative_to_the_start_of_the_text() {
        let origin = Position { byte: 100, line: 7, column: 11 };
        let file = SourceFile::starting_at("a.tf", "ab\ncd", origin);
        assert_eq!(file.position(1), Position { byte: 101, line: 7, column: 12 });
        assert_eq!(file.position(4), Position { byte: 104, line: 8, column: 2 });
    }
}
