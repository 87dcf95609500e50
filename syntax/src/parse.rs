//! The ways in: text to trees.

use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::Position;

use crate::body::{Body, BodyId};
use crate::expression::{ExprId, ExprKind, ExprNode};
use crate::source::{SourceFile, Span};
use crate::tree::{Expression, Root, Tree};

fn pending(source: SourceFile, root: Root) -> Arc<Tree> {
    Arc::new(Tree {
        source: Arc::new(source),
        tokens: Vec::new(),
        expressions: vec![ExprNode { kind: ExprKind::Error, span: Span::empty(0) }],
        bodies: vec![Body::default()],
        root,
    })
}

/// Parses a configuration file. The tree is whole whatever is wrong with the text; all errors come back at once.
pub fn parse_file(name: &str, text: Arc<str>) -> (Arc<Tree>, Vec<Diagnostic>) {
    (pending(SourceFile::new(name, text), Root::Body(BodyId(0))), Vec::new())
}

/// The same from bytes; text that is not UTF-8 is an error.
pub fn parse_bytes(name: &str, bytes: &[u8]) -> (Arc<Tree>, Vec<Diagnostic>) {
    parse_file(name, Arc::from(String::from_utf8_lossy(bytes).as_ref()))
}

/// Parses a text that is one expression, as if it stood between parentheses: newlines mean nothing.
///
/// `start` is where the first byte of `text` stands in the file `name`.
pub fn parse_expression(name: &str, text: Arc<str>, start: Position) -> (Expression, Vec<Diagnostic>) {
    (pending(SourceFile::starting_at(name, text, start), Root::Expression(ExprId(0))).expression(ExprId(0)), Vec::new())
}

/// Parses a text that is a template as a whole.
///
/// `start` is where the first byte of `text` stands in the file `name`.
pub fn parse_template(name: &str, text: Arc<str>, start: Position) -> (Expression, Vec<Diagnostic>) {
    parse_expression(name, text, start)
}

/// Parses a text that is one traversal, such as an address: the expression is a [`ExprKind::Traversal`], or a
/// [`ExprKind::Error`] when there are errors.
pub fn parse_traversal(name: &str, text: Arc<str>, start: Position) -> (Expression, Vec<Diagnostic>) {
    parse_expression(name, text, start)
}
