//! HCL text to lossless trees: files, expressions, templates.
//!
//! The way in is [`parse_file`] (or [`parse_bytes`]), [`parse_expression`], [`parse_template`] and
//! [`parse_traversal`]. Each gives a tree, whole whatever the text is, and all errors at once. The parser is our own,
//! written by hand: text to tokens, tokens to nodes, with a stack on the heap and never by
//! recursion, in linear time.
//!
//! Reading order: [`source`] is the text, with names for places in it; [`token`] the pieces it is cut into, nothing
//! left out; [`expression`] and [`body`] what the pieces mean; [`tree`] holds it all together, and an [`Expression`]
//! is a handle on one node that is cheap to clone. What can be said of an expression without evaluating it is said by
//! methods of [`Expression`] (as a traversal, call, list, map, keyword, string) and by [`references()`]. [`format()`]
//! writes a file in the canonical style.
//!
//! What is not here: values (numbers and strings stay text; escapes and indentation of strings are resolved,
//! normalisation is left to whoever makes values), schemas, and any knowledge of what a block means.
//!
//! The JSON syntax ([`parse_json_file`]) gives the same trees. What a property of a body stands for only its reader can
//! tell: both syntaxes are read by [`Tree::content`], with a [`Role`] for each name.

pub mod body;
pub mod expression;
mod format;
mod json;
mod lexer;
mod lexical;
mod parse;
mod parser;
mod references;
pub mod source;
pub mod token;
pub mod tree;
mod views;

pub use body::{Attribute, Block, Body, BodyId, Label, Role};
pub use expression::{
    BinaryOperator, Call, ExprId, ExprKind, ExprNode, For, Key, KeyForm, Literal, Name, ObjectItem, Splat, Step,
    StepKind, Template, TemplateForm, TemplatePart, Traversal, UnaryOperator,
};
pub use format::format;
pub use lexer::is_identifier;
pub use parse::{
    parse_bytes, parse_expression, parse_file, parse_json_bytes, parse_json_file, parse_template, parse_traversal,
};
pub use references::references;
pub use source::{SourceFile, Span};
pub use token::{Token, TokenKind};

/// How deep brackets, templates, unary operators, splats and blocks may nest. Deeper is an error.
///
/// OpenTofu takes more than a thousand; what walks trees may take stack in proportion to this.
pub const MAX_NESTING: usize = 2_048;

pub use tree::{Content, Expression, Root, Syntax, Tree};
