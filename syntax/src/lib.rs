//! HCL text to lossless trees: files, expressions, templates.
//!
//! The way in is [`parse_file`] (or [`parse_bytes`]), [`parse_expression`], [`parse_template`] and
//! [`parse_traversal`]. Each returns a tree, which is complete whatever the text is, and all errors at once. The parser
//! is our own, written by hand: text to tokens, tokens to nodes, with a stack on the heap instead of recursion, in
//! linear time.
//!
//! Reading order: [`source`] is the text with its positions; [`token`] divides it without gaps; [`expression`] and
//! [`body`] are the meaning of the tokens; [`tree`] contains everything, and an [`Expression`] is a handle on one node
//! that is cheap to clone. Methods of [`Expression`] (as a traversal, call, list, map, keyword, string) and
//! [`references()`] answer questions without evaluation. [`format()`] writes a file in the canonical style.
//!
//! Not here: values (numbers and strings stay text; escapes and indentation of strings are resolved, and the creator of
//! a value normalizes it), schemas, and the meaning of blocks.
//!
//! The JSON syntax ([`parse_json_file`]) returns the same trees. Only the reader knows the meaning of a property of a
//! body: [`Tree::content`] reads both syntaxes, with a [`NameRole`] for each name.

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

/// How deep brackets, templates, unary operators, splats and blocks may nest. Deeper is an error.
///
/// OpenTofu takes more than a thousand; what walks trees may take stack in proportion to this.
pub const MAX_NESTING: usize = 2_048;

pub use tree::{Expression, Root, Syntax, Tree};
