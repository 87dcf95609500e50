//! HCL text to lossless trees: files, expressions, templates.
//!
//! The entry points are [`parse_file`] (or [`parse_bytes`]), [`parse_expression`], [`parse_template`] and
//! [`parse_traversal`]. Each returns a complete tree, even for an invalid text, together with all errors. The parser is
//! written by hand: it turns text into tokens and tokens into nodes, in linear time, with a stack on the heap instead
//! of recursion.
//!
//! Reading order: [`source`] is the text with its positions, and [`token`] divides the text into tokens without gaps.
//! [`expression`] and [`body`] define the nodes. A [`tree`] contains all of these. An [`Expression`] is a handle on one
//! node. The handle is cheap to clone. Methods of [`Expression`] read the expression as a traversal, call, list, map,
//! keyword or string without evaluating it, and [`references()`] returns its references. [`format()`] writes a file in
//! the canonical style.
//!
//! This crate knows neither values nor schemas nor the meaning of blocks. Numbers and strings stay text. Escapes and
//! indentation of strings are resolved here, but the code that creates a value normalizes the text.
//!
//! The JSON syntax ([`parse_json_file`]) returns the same kind of tree. The text does not show whether a property of a
//! body is an argument or contains blocks, so the reader of a body supplies a [`NameRole`] for each name.
//! [`Tree::content`] reads both syntaxes.

pub mod body;
mod content;
pub mod expression;
mod format;
mod json;
mod lexer;
mod lexical;
mod parse;
mod parser;
mod problems;
mod references;
pub mod source;
pub mod token;
pub mod tree;
mod views;

pub use body::{Attribute, Block, Body, BodyId, Label, NameRole};
pub use content::BodyView;
pub use expression::{
    BinaryOperator, Call, ExprId, ExprKind, ExprNode, For, Key, KeyForm, Literal, Name, ObjectItem, Splat, StepKind,
    Template, TemplateForm, TemplatePart, Traversal, TraversalStep, UnaryOperator,
};
pub use format::format;
pub use lexer::is_identifier;
pub use parse::{
    compact_traversal, parse_bytes, parse_expression, parse_file, parse_json_bytes, parse_json_file, parse_template,
    parse_traversal,
};
pub use references::references;
pub use source::{SourceFile, Span};
pub use token::{SyntaxToken, TokenKind};

/// The maximum nesting depth of brackets, templates, unary operators, splats, middle operands of conditionals, and
/// blocks. Deeper nesting is an error.
///
/// OpenTofu accepts more than a thousand levels. Code that walks trees may use stack in proportion to this number.
pub const MAX_NESTING: usize = 2_048;

pub use tree::{Expression, Root, Syntax, Tree};
