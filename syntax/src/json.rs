//! The JSON syntax of the language.
//!
//! The parser turns a text into the same nodes as in the native syntax: objects, tuples, literals, and strings as
//! templates. JSON does not show two things, which the code that reads a node decides:
//!
//! - whether a property of a body is an argument or contains blocks ([`content`]),
//! - whether a string is a template, plain text, or an expression (methods of [`Expression`](crate::Expression)).
//!
//! Source: the specification of HCL, "JSON Syntax".
//!
//! Reading order: [`scan`] reads tokens, [`parse`] builds nodes, [`string`] resolves escapes and maps positions,
//! [`graft`] parses native syntax in strings, [`content`] reads bodies.

mod content;
mod graft;
mod parse;
mod scan;
mod string;
mod views;

use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;

use crate::body::BodyId;
use crate::source::SourceFile;
use crate::tree::{Root, Syntax, Tree};

pub(crate) use content::{arguments, content, missing_of};
pub(crate) use string::unescaped;

/// Parses the text of a file.
pub(crate) fn parse(source: SourceFile) -> (Tree, Vec<Diagnostic>) {
    let source = Arc::new(source);
    let mut parser = parse::JsonParser::new(&source);
    let root = parser.file();
    let parse::JsonParser { nodes, diagnostics, .. } = parser;
    let root = Root::Body(BodyId(root.0));
    let tree = Tree {
        source: Arc::clone(&source),
        tokens: Vec::new(),
        expressions: nodes,
        bodies: Vec::new(),
        root,
        syntax: Syntax::Json,
    };
    (tree, diagnostics)
}
