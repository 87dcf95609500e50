//! The entry points: functions that parse a text into a tree.

use std::sync::Arc;

use weft_graph_format::address::quoted;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::Position;

use crate::expression::{ExprKind, Key, StepKind};
use crate::json;
use crate::parser::{Goal, parse};
use crate::problems::text as problems;
use crate::source::{MAX_SOURCE_BYTES, SourceFile, Span, offset};
use crate::tree::{Expression, Root, Tree};

/// Parses a configuration file. The tree is complete even if the text is invalid, with holes for the parts that could
/// not be parsed. All errors are returned together. Errors of single characters come first.
pub fn parse_file(name: &str, text: Arc<str>) -> (Arc<Tree>, Vec<Diagnostic>) {
    whole(SourceFile::new(name, text), Goal::File)
}

/// Parses the bytes of a file. If the bytes are not UTF-8, this is the only error that is reported, and the tree
/// contains the readable parts.
pub fn parse_bytes(name: &str, bytes: &[u8]) -> (Arc<Tree>, Vec<Diagnostic>) {
    decoded(name, bytes, parse_file)
}

/// A function that parses the text of a file.
type Parse = fn(&str, Arc<str>) -> (Arc<Tree>, Vec<Diagnostic>);

fn decoded(name: &str, bytes: &[u8], parse: Parse) -> (Arc<Tree>, Vec<Diagnostic>) {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => return parse(name, Arc::from(text)),
        Err(error) => error.valid_up_to(),
    };
    let text = String::from_utf8_lossy(bytes);
    let (tree, _) = parse(name, Arc::from(text.as_ref()));
    let replaced = offset(valid)..offset(valid + char::REPLACEMENT_CHARACTER.len_utf8());
    let range = tree.range(Span::new(replaced.start, replaced.end));
    (tree, vec![problems::not_utf8().at(range)])
}

/// Parses a configuration file in JSON syntax. The tree is complete even if the text is invalid. All errors are
/// returned together, except for invalid templates in strings: [`Expression::template_problems`] reports those. A text
/// that is too long is not parsed, and gives an empty tree.
pub fn parse_json_file(name: &str, text: Arc<str>) -> (Arc<Tree>, Vec<Diagnostic>) {
    if text.len() > MAX_SOURCE_BYTES {
        let (tree, _) = json::parse(SourceFile::new(name, "{}"));
        return (Arc::new(tree), vec![problems::too_long(MAX_SOURCE_BYTES)]);
    }
    let (tree, diagnostics) = json::parse(SourceFile::new(name, text));
    (Arc::new(tree), diagnostics)
}

/// Parses the bytes of a file in JSON syntax. If the bytes are not UTF-8, this is the only error that is reported, and
/// the tree contains the readable parts.
pub fn parse_json_bytes(name: &str, bytes: &[u8]) -> (Arc<Tree>, Vec<Diagnostic>) {
    decoded(name, bytes, parse_json_file)
}

/// Parses a text as one expression. Line ends have no meaning, as between parentheses. The errors are in source order.
///
/// `start` is the position of the first byte of `text` in the file `name`.
pub fn parse_expression(name: &str, text: Arc<str>, start: Position) -> (Expression, Vec<Diagnostic>) {
    part(SourceFile::starting_at(name, text, start), Goal::Expression)
}

/// Parses a text as one template.
///
/// `start` is the position of the first byte of `text` in the file `name`.
pub fn parse_template(name: &str, text: Arc<str>, start: Position) -> (Expression, Vec<Diagnostic>) {
    part(SourceFile::starting_at(name, text, start), Goal::Template)
}

/// Parses a text as one traversal with literal keys, such as an address, or a reference in the JSON syntax. The result
/// is a [traversal](crate::ExprKind::Traversal), or a [hole](crate::ExprKind::Error) if there are errors.
///
/// `start` is the position of the first byte of `text` in the file `name`.
pub fn parse_traversal(name: &str, text: Arc<str>, start: Position) -> (Expression, Vec<Diagnostic>) {
    part(SourceFile::starting_at(name, text, start), Goal::Traversal)
}

/// Removes the spaces and comments between the parts of a traversal with literal keys. `None` if `text` is not such a
/// traversal.
pub fn compact_traversal(text: &str) -> Option<String> {
    let (expression, problems) = parse_traversal("", Arc::from(text), Position::START);
    let ExprKind::Traversal(traversal) = expression.kind() else { return None };
    let mut compact = traversal.root.text.to_string();
    for step in &traversal.steps {
        match &step.kind {
            StepKind::Attribute(name) | StepKind::LegacyIndex(name) => compact.push_str(&format!(".{name}")),
            StepKind::Index(Key::Number(number)) => compact.push_str(&format!("[{number}]")),
            StepKind::Index(Key::String(key)) => compact.push_str(&format!("[{}]", quoted(key))),
            StepKind::Index(Key::Bool(value)) => compact.push_str(&format!("[{value}]")),
            StepKind::Index(Key::Null) => compact.push_str("[null]"),
        }
    }
    problems.is_empty().then_some(compact)
}

fn part(source: SourceFile, goal: Goal) -> (Expression, Vec<Diagnostic>) {
    let (tree, mut diagnostics) = whole(source, goal);
    diagnostics.sort_by_key(|diagnostic| diagnostic.subject.as_ref().map(|subject| subject.start));
    let id = match tree.root() {
        Root::Expression(id) => id,
        Root::Body(_) => Tree::NO_EXPRESSION,
    };
    (tree.expression(id), diagnostics)
}

fn whole(source: SourceFile, goal: Goal) -> (Arc<Tree>, Vec<Diagnostic>) {
    if source.text().len() > MAX_SOURCE_BYTES {
        let (tree, _) = parse(SourceFile::new(source.name().clone(), ""), goal);
        return (Arc::new(tree), vec![problems::too_long(MAX_SOURCE_BYTES)]);
    }
    let (tree, diagnostics) = parse(source, goal);
    (Arc::new(tree), diagnostics)
}
