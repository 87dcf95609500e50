//! HCL text to lossless trees and back.

pub mod body;
pub mod expression;
mod lexer;
mod lexical;
mod parse;
mod parser;
mod references;
pub mod source;
pub mod token;
pub mod tree;
mod views;

pub use body::{Attribute, Block, Body, BodyId, Label};
pub use expression::{
    BinaryOperator, Call, ExprId, ExprKind, ExprNode, For, Key, KeyForm, Literal, Name, ObjectItem, Splat, Step,
    StepKind, Template, TemplateForm, TemplatePart, Traversal, UnaryOperator,
};
pub use lexer::is_identifier;
pub use parse::{parse_bytes, parse_expression, parse_file, parse_template, parse_traversal};
pub use references::references;
pub use source::{SourceFile, Span};
pub use token::{Token, TokenKind};

/// How deep brackets, templates, unary operators, splats and blocks may nest. Deeper is an error.
///
/// OpenTofu takes more than a thousand; what walks trees may take stack in proportion to this.
pub const MAX_NESTING: usize = 2_048;

pub use tree::{Expression, Root, Tree};
