//! The source lines that a diagnostic shows, and the marked part.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_syntax::{ExprId, ExprKind, KeyForm, Syntax, Tree};

use super::SourceLines;

/// The maximum number of lines that are shown of one range. Its beginning is enough.
const MOST_LINES: u32 = 40;

/// Source lines with a marked part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// Number of the first line.
    pub first: u32,
    /// The lines, without their ends.
    pub lines: Vec<String>,
    /// The start of the marked part, in bytes of the lines joined by newlines.
    pub start: usize,
    /// Its end, likewise; greater than `start` if there is a character to mark.
    pub end: usize,
}

impl Snippet {
    /// The snippet of a diagnostic; `None` if it has no range, or its text is not available.
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
            // An empty range is shown by the character at it.
            let text = lines.join("\n");
            end += text[start..].chars().next().map_or(0, char::len_utf8);
        }
        Some(Snippet { first, lines, start, end })
    }

    /// The lines joined by newlines.
    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// The marked part of a line, which counts from 0, in bytes of that line; `None` if no part of it is marked.
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

/// The header of the outermost block around a byte of a file, labels quoted. In the JSON syntax, the names of all
/// objects and the indices of all arrays around it.
pub fn enclosing_block(tree: &Tree, byte: u32) -> Option<String> {
    if tree.syntax() == Syntax::Json {
        return enclosing_properties(tree, byte);
    }
    let blocks = &tree.root_body().blocks;
    let block = &blocks[blocks.partition_point(|block| block.header_span.start <= byte).checked_sub(1)?];
    if byte >= block.span().end {
        return None;
    }
    let labels = block.labels.iter().map(|label| format!(" {}", weft_graph_format::address::quoted(&label.text)));
    Some(format!("{}{}", block.block_type.text, labels.collect::<String>()))
}

/// The path from the root of a JSON text to the innermost object or array around a byte.
fn enclosing_properties(tree: &Tree, byte: u32) -> Option<String> {
    let mut way = String::new();
    let mut here = ExprId(tree.root_id().0);
    let holds = |id: ExprId| {
        let node = tree.node(id);
        let nested = matches!(node.kind, ExprKind::Object { .. } | ExprKind::Tuple { .. });
        nested && (node.span.start..node.span.end).contains(&byte)
    };
    loop {
        let (step, inner) = match &tree.node(here).kind {
            ExprKind::Object { items } => {
                let Some(item) = items.iter().find(|item| holds(item.value)) else { break };
                let KeyForm::Property(name) = &item.form else { break };
                (format!(".{name}"), item.value)
            }
            ExprKind::Tuple { items } => {
                let Some(index) = items.iter().position(|item| holds(*item)) else { break };
                (format!("[{index}]"), items[index])
            }
            _ => break,
        };
        way.push_str(&step);
        here = inner;
    }
    let way = way.strip_prefix('.').unwrap_or(&way);
    (!way.is_empty()).then(|| way.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_block_is_named_by_its_header() {
        let text = "a = 1\nresource \"x_y\" \"z\" {\n  b = 2\n}\nlocals {\n}\n";
        let (tree, _) = weft_syntax::parse_file("main.tf", Arc::from(text));
        let at = |needle: &str| u32::try_from(text.find(needle).unwrap_or_default()).unwrap_or_default();
        assert_eq!(enclosing_block(&tree, at("b = 2")).as_deref(), Some("resource \"x_y\" \"z\""));
        assert_eq!(enclosing_block(&tree, at("a = 1")), None);
        assert_eq!(enclosing_block(&tree, at("locals")).as_deref(), Some("locals"));
    }
    #[test]
    fn the_property_around_a_byte_is_found() {
        let text = r#"{"variable": {"x": {"default": 1}}, "locals": [{"a": {"b": [2]}}], "c": 3}"#;
        let (tree, _) = weft_syntax::parse_json_file("main.tf.json", Arc::from(text));
        let at = |needle: &str| u32::try_from(text.find(needle).unwrap_or_default()).unwrap_or_default();
        assert_eq!(enclosing_block(&tree, at("1}")).as_deref(), Some("variable.x"));
        assert_eq!(enclosing_block(&tree, at("2]")).as_deref(), Some("locals[0].a.b"));
        assert_eq!(enclosing_block(&tree, at("3}")), None);
    }
}
