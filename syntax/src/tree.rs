//! Parsed texts: source, tokens and nodes in one object.

use std::fmt;
use std::sync::Arc;

use weft_graph_format::source::SourceRange;

use crate::body::{Body, BodyId};
use crate::expression::{ExprId, ExprKind, ExprNode};
use crate::source::{SourceFile, Span};
use crate::token::SyntaxToken;

/// The form of the whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A file.
    Body(BodyId),
    /// An expression or a template.
    Expression(ExprId),
}

/// The syntax of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// The native syntax.
    Native,
    /// The JSON syntax.
    Json,
}

/// A parsed text. The tree is immutable and shared, and dropping it does not recurse.
pub struct Tree {
    pub(crate) source: Arc<SourceFile>,
    pub(crate) tokens: Vec<SyntaxToken>,
    pub(crate) expressions: Vec<ExprNode>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) root: Root,
    pub(crate) syntax: Syntax,
}

/// The result for an expression number outside of the tree.
static HOLE: ExprNode = ExprNode { kind: ExprKind::Error, span: Span::empty(0) };

/// The result for a body number outside of the tree.
static NOTHING: Body = Body { attributes: Vec::new(), blocks: Vec::new(), span: Span::empty(0), by_name: Vec::new() };

impl Tree {
    /// A number that no expression has.
    pub(crate) const NO_EXPRESSION: ExprId = ExprId(u32::MAX);

    /// The text with an index of its lines.
    pub fn source(&self) -> &Arc<SourceFile> {
        &self.source
    }

    /// All tokens, including blanks and comments. Their concatenated texts are the text of the file.
    pub fn tokens(&self) -> &[SyntaxToken] {
        &self.tokens
    }

    /// The form of the whole text.
    pub fn root(&self) -> Root {
        self.root
    }

    /// The syntax of the text.
    pub fn syntax(&self) -> Syntax {
        self.syntax
    }

    /// The number of the body of a file. An expression has no body.
    pub fn root_id(&self) -> BodyId {
        match self.root {
            Root::Body(id) => id,
            Root::Expression(_) => BodyId(u32::MAX),
        }
    }

    /// A body as an expression. Exists only in the JSON syntax.
    pub fn body_value(self: &Arc<Self>, id: BodyId) -> Option<Expression> {
        (self.syntax == Syntax::Json).then(|| self.expression(ExprId(id.0)))
    }

    /// The body of a file. Empty if the text is an expression, or a file in JSON syntax.
    pub fn root_body(&self) -> &Body {
        match self.root {
            Root::Body(id) => self.body(id),
            Root::Expression(_) => &NOTHING,
        }
    }

    /// A body of the native syntax by its number. [`Tree::content`] reads bodies of both syntaxes.
    pub fn body(&self, id: BodyId) -> &Body {
        self.bodies.get(id.index()).unwrap_or(&NOTHING)
    }

    /// A node by its number. A hole if the number is unknown.
    pub fn node(&self, id: ExprId) -> &ExprNode {
        self.expressions.get(id.index()).unwrap_or(&HOLE)
    }

    /// All expression nodes, children before their parents.
    pub fn nodes(&self) -> &[ExprNode] {
        &self.expressions
    }

    /// The source range of a span: file, lines and columns.
    pub fn range(&self, span: Span) -> SourceRange {
        self.source.range(span)
    }

    /// The text of a span.
    pub fn text(&self, span: Span) -> &str {
        self.source.slice(span)
    }

    /// A handle on one expression of this tree.
    pub fn expression(self: &Arc<Self>, id: ExprId) -> Expression {
        Expression { tree: Arc::clone(self), id }
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tree")
            .field("source", &self.source)
            .field("expressions", &self.expressions.len())
            .field("bodies", &self.bodies.len())
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

/// An expression and the tree that it is part of. Cloning an expression is cheap.
#[derive(Clone)]
pub struct Expression {
    /// The tree.
    pub tree: Arc<Tree>,
    /// The number of the node.
    pub id: ExprId,
}

impl Expression {
    /// The node itself.
    pub fn node(&self) -> &ExprNode {
        self.tree.node(self.id)
    }

    /// The kind of the node.
    pub fn kind(&self) -> &ExprKind {
        &self.node().kind
    }

    /// The expression with this number in the same tree.
    pub fn child(&self, id: ExprId) -> Expression {
        self.tree.expression(id)
    }

    /// The span of the node in the source text.
    pub fn span(&self) -> Span {
        self.node().span
    }

    /// The source range: file, lines and columns.
    pub fn range(&self) -> SourceRange {
        self.tree.range(self.span())
    }

    /// The source text of the node.
    pub fn text(&self) -> &str {
        self.tree.text(self.span())
    }
}

impl PartialEq for Expression {
    /// Whether both expressions are the same node of the same tree.
    fn eq(&self, other: &Expression) -> bool {
        self.id == other.id && Arc::ptr_eq(&self.tree, &other.tree)
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Expression({:?} at {:?})", self.text(), self.span())
    }
}
