//! Parsed text: source, tokens and nodes, owned together.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use crate::body::{Attribute, Body, BodyId, Role};
use crate::expression::{ExprId, ExprKind, ExprNode};
use crate::source::{SourceFile, Span};
use crate::token::Token;

/// The form of the whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A file.
    Body(BodyId),
    /// An expression or a template.
    Expression(ExprId),
}

/// The syntax that a text is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// The native syntax.
    Native,
    /// The JSON syntax.
    Json,
}

/// A body as its reader takes it.
pub struct BodyView<'tree> {
    /// The content. In the JSON syntax, names without a role are among the attributes.
    pub body: Cow<'tree, Body>,
    /// Problems of its form. Empty in the native syntax, where parsing reports them.
    pub problems: Vec<Diagnostic>,
}

/// One parsed text. Immutable, shared; dropping it never recurses.
pub struct Tree {
    pub(crate) source: Arc<SourceFile>,
    pub(crate) tokens: Vec<Token>,
    pub(crate) expressions: Vec<ExprNode>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) root: Root,
    pub(crate) syntax: Syntax,
}

/// The answer for a number outside of the tree.
static HOLE: ExprNode = ExprNode { kind: ExprKind::Error, span: Span::empty(0) };

/// The answer for a number outside of the tree.
static NOTHING: Body = Body { attributes: Vec::new(), blocks: Vec::new(), span: Span::empty(0), by_name: Vec::new() };

impl Tree {
    /// The number of no node.
    pub(crate) const NO_EXPRESSION: ExprId = ExprId(u32::MAX);

    /// The text and its lines.
    pub fn source(&self) -> &Arc<SourceFile> {
        &self.source
    }

    /// All tokens with blanks and comments; their texts, one after the other, are the text of the file.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The form of the whole text.
    pub fn root(&self) -> Root {
        self.root
    }

    /// The syntax that the text is in.
    pub fn syntax(&self) -> Syntax {
        self.syntax
    }

    /// The number of a file's body. An expression has none.
    pub fn root_id(&self) -> BodyId {
        match self.root {
            Root::Body(id) => id,
            Root::Expression(_) => BodyId(u32::MAX),
        }
    }

    /// The content of a body, where `role` returns the roles of its names. The native syntax shows the roles, and the
    /// body is returned as it is.
    pub fn content<'tree, 'role>(&'tree self, id: BodyId, role: &dyn Fn(&str) -> Role<'role>) -> BodyView<'tree> {
        match self.syntax {
            Syntax::Native => BodyView { body: Cow::Borrowed(self.body(id)), problems: Vec::new() },
            Syntax::Json => {
                let (body, problems) = crate::json::content(self, id, role);
                BodyView { body: Cow::Owned(body), problems }
            }
        }
    }

    /// The content of a body in which every name is an argument, except for those that are `hidden`.
    pub fn arguments(&self, id: BodyId, hidden: &dyn Fn(&str) -> bool) -> BodyView<'_> {
        match self.syntax {
            Syntax::Native => BodyView { body: Cow::Borrowed(self.body(id)), problems: Vec::new() },
            Syntax::Json => {
                let (body, problems) = crate::json::arguments(self, id, hidden);
                BodyView { body: Cow::Owned(body), problems }
            }
        }
    }

    /// One argument of a body, whatever else is in it.
    pub fn argument(&self, id: BodyId, name: &str) -> Option<Attribute> {
        let role = |found: &str| if found == name { Role::Argument } else { Role::Hidden };
        self.content(id, &role).body.attribute(name).cloned()
    }

    /// A body as an expression; there is one in the JSON syntax only.
    pub fn body_value(self: &Arc<Self>, id: BodyId) -> Option<Expression> {
        (self.syntax == Syntax::Json).then(|| self.expression(ExprId(id.0)))
    }

    /// Where something is missing that should be in a body, where the syntax has a place for that.
    pub fn missing_span(&self, id: BodyId) -> Option<Span> {
        (self.syntax == Syntax::Json).then(|| crate::json::missing_of(self, id))
    }

    /// The body of a file; that of an expression is empty, and so is that of a file in JSON syntax.
    pub fn root_body(&self) -> &Body {
        match self.root {
            Root::Body(id) => self.body(id),
            Root::Expression(_) => &NOTHING,
        }
    }

    /// A body of the native syntax by its number; [`Tree::content`] reads those of either.
    pub fn body(&self, id: BodyId) -> &Body {
        self.bodies.get(id.index()).unwrap_or(&NOTHING)
    }

    /// A node by its number; a hole for an unknown number.
    pub fn node(&self, id: ExprId) -> &ExprNode {
        self.expressions.get(id.index()).unwrap_or(&HOLE)
    }

    /// All expression nodes, children before their parents.
    pub fn nodes(&self) -> &[ExprNode] {
        &self.expressions
    }

    /// File, lines and columns of a span.
    pub fn range(&self, span: Span) -> SourceRange {
        self.source.range(span)
    }

    /// The text of a span.
    pub fn text(&self, span: Span) -> &str {
        self.source.slice(span)
    }

    /// The text of a span in the form of the native syntax: within JSON strings, escapes are resolved.
    pub fn native_text(&self, span: Span) -> Cow<'_, str> {
        match self.syntax {
            Syntax::Native => Cow::Borrowed(self.text(span)),
            Syntax::Json => crate::json::unescaped(self.text(span)),
        }
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

/// An expression and the tree that it is part of. Cloning it is cheap.
#[derive(Clone)]
pub struct Expression {
    /// The tree.
    pub tree: Arc<Tree>,
    /// The node.
    pub id: ExprId,
}

impl Expression {
    /// The node.
    pub fn node(&self) -> &ExprNode {
        self.tree.node(self.id)
    }

    /// Its kind.
    pub fn kind(&self) -> &ExprKind {
        &self.node().kind
    }

    /// Another expression of the same tree.
    pub fn child(&self, id: ExprId) -> Expression {
        self.tree.expression(id)
    }

    /// Bytes of the source that it was read from.
    pub fn span(&self) -> Span {
        self.node().span
    }

    /// File, lines and columns.
    pub fn range(&self) -> SourceRange {
        self.tree.range(self.span())
    }

    /// The text that it was read from.
    pub fn text(&self) -> &str {
        self.tree.text(self.span())
    }
}

impl PartialEq for Expression {
    /// Whether both are the same node of the same tree.
    fn eq(&self, other: &Expression) -> bool {
        self.id == other.id && Arc::ptr_eq(&self.tree, &other.tree)
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Expression({:?} at {:?})", self.text(), self.span())
    }
}
