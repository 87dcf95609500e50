//! The source lines that a diagnostic shows, and the marked part.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use super::SourceLines;

/// The maximum number of lines that are shown for one range. The beginning of a range is enough.
const MOST_LINES: u32 = 40;

/// Source lines with a marked part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The number of the first line.
    pub first: u32,
    /// The lines, without line endings.
    pub lines: Vec<String>,
    /// The start of the marked part, in bytes of the lines joined by newlines.
    pub start: usize,
    /// The end of the marked part, in bytes of the lines joined by newlines. It is greater than `start` if there is a
    /// character to mark.
    pub end: usize,
}

impl Snippet {
    /// The snippet for a diagnostic. `None` if the diagnostic has no range, or its source is not available.
    pub fn of(problem: &Diagnostic, sources: &dyn SourceLines) -> Option<Snippet> {
        let subject = problem.subject.as_ref()?;
        let shown = match &problem.context {
            Some(context) if context.file == subject.file => subject.through(context),
            _ => subject.clone(),
        };
        let first = shown.start.line;
        let mut lines = Vec::new();
        let last = last_line(&shown).min(first.saturating_add(MOST_LINES - 1)).max(subject.start.line);
        for number in first..=last {
            match sources.line(&subject.file, number) {
                Some(line) => lines.push(line),
                None if number <= subject.start.line => return None,
                None => break,
            }
        }
        let text_length = lines.iter().map(|line| line.len() + 1).sum::<usize>().saturating_sub(1);
        let start = offset(&lines, first, subject.start.line, subject.start.column).min(text_length);
        let mut end = offset(&lines, first, subject.end.line, subject.end.column).min(text_length).max(start);
        if end == start {
            // An empty range marks the character at its position.
            let text = lines.join("\n");
            end += text[start..].chars().next().map_or(0, char::len_utf8);
        }
        Some(Snippet { first, lines, start, end })
    }

    /// The lines joined by newlines.
    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// The marked part of a line, in bytes of that line. Lines are counted from 0. `None` if no part of the line is
    /// marked.
    pub fn marked_in(&self, line: usize) -> Option<(usize, usize)> {
        let before: usize = self.lines.iter().take(line).map(|line| line.len() + 1).sum();
        let length = self.lines.get(line)?.len();
        let start = self.start.saturating_sub(before).min(length);
        let end = self.end.saturating_sub(before).min(length);
        (self.end > before && start < end).then_some((start, end))
    }
}

/// The last line of a range. A range that ends at the start of a line does not include that line.
fn last_line(range: &SourceRange) -> u32 {
    if range.end.column <= 1 && range.end.line > range.start.line { range.end.line - 1 } else { range.end.line }
}

/// The offset of a position in the lines joined by newlines. Columns count grapheme clusters.
fn offset(lines: &[String], first: u32, line: u32, column: u32) -> usize {
    use unicode_segmentation::UnicodeSegmentation;
    let index = line.saturating_sub(first) as usize;
    let before: usize = lines.iter().take(index).map(|line| line.len() + 1).sum();
    let Some(text) = lines.get(index) else { return before };
    let column = column.saturating_sub(1) as usize;
    before + text.grapheme_indices(true).nth(column).map_or(text.len(), |(at, _)| at)
}
