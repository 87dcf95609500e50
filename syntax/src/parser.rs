//! Builds trees from tokens.
//!
//! The parser is a loop over a stack of frames on the heap ([`frame`]). No construct of the language makes it recurse,
//! so deep nesting uses memory but no stack. Each step consumes a token, or pushes or pops a frame.
//!
//! The parser reports an error once, enters recovery, and skips each open construct up to and including its closing
//! bracket. Further reports of unexpected tokens are suppressed up to the end of the source text, because they are
//! probably consequences of the first error. The parser skips the same tokens as OpenTofu, because the problems of
//! later items depend on the skipped part.

mod body;
mod brackets;
mod cursor;
mod directive;
mod escape;
mod frame;
mod operand;
mod operator;
mod pairs;
mod template;
mod traversal;

use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;

use crate::MAX_NESTING;
use crate::body::Body;
use crate::expression::{ExprId, ExprKind, ExprNode};
use crate::lexer::{self, Start};
use crate::lexical;
use crate::problems;
use crate::source::{SourceFile, Span, offset};
use crate::token::{SyntaxToken, TokenKind};
use crate::tree::{Root, Syntax, Tree};
use frame::Frame;

/// The state of the parser.
pub(crate) struct Parser<'tree> {
    source: &'tree SourceFile,
    tokens: &'tree [SyntaxToken],
    /// Index of the next token, blanks included.
    position: usize,
    /// Index after the last consumed token that is not a blank.
    consumed: usize,
    /// Whether line ends have a meaning at the current position.
    newlines: bool,
    /// Whether reports of unexpected tokens are suppressed: true from the first such report on.
    recovery: bool,
    /// The number of diagnostics at the start of the current expression.
    mark: usize,
    /// The number of open frames that count against [`MAX_NESTING`], including blocks.
    depth: usize,
    diagnostics: Vec<Diagnostic>,
    expressions: Vec<ExprNode>,
    bodies: Vec<Body>,
    frames: Vec<Frame>,
}

/// The form of a text to parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// A file.
    File,
    /// An expression.
    Expression,
    /// A template.
    Template,
    /// A traversal.
    Traversal,
}

/// Parses a text.
pub(crate) fn parse(source: SourceFile, goal: Goal) -> (Tree, Vec<Diagnostic>) {
    parse_within(source, goal, 0)
}

/// Parses a text that is nested `depth` levels deep in another text.
pub(crate) fn parse_within(source: SourceFile, goal: Goal, depth: usize) -> (Tree, Vec<Diagnostic>) {
    let start = match goal {
        Goal::File => Start::File,
        Goal::Expression | Goal::Traversal => Start::Expression,
        Goal::Template => Start::Template,
    };
    let source = Arc::new(source);
    let tokens = lexer::lex(source.text(), start);
    let mut parser = Parser {
        source: &source,
        tokens: &tokens,
        position: 0,
        consumed: 0,
        newlines: true,
        recovery: false,
        mark: 0,
        depth,
        diagnostics: lexical::check(&source, &tokens),
        expressions: Vec::new(),
        bodies: Vec::new(),
        frames: Vec::new(),
    };
    parser.mark = parser.diagnostics.len();
    let root = match goal {
        Goal::File => Root::Body(parser.file()),
        Goal::Expression => Root::Expression(parser.whole_expression()),
        Goal::Template => Root::Expression(parser.whole_template()),
        Goal::Traversal => Root::Expression(parser.whole_traversal()),
    };
    let Parser { diagnostics, mut expressions, mut bodies, .. } = parser;
    // Saves memory, because trees live as long as the configuration.
    expressions.shrink_to_fit();
    bodies.shrink_to_fit();
    (Tree { source, tokens, expressions, bodies, root, syntax: Syntax::Native }, diagnostics)
}

impl Parser<'_> {
    /// Parses a text that is one expression. Newlines have no meaning in it.
    fn whole_expression(&mut self) -> ExprId {
        self.newlines = false;
        let expression = self.expression();
        let next = self.peek();
        if next.kind != TokenKind::End {
            self.complain(next.span, problems::expressions::more_after_expression);
        }
        expression
    }

    /// Adds a node.
    fn add(&mut self, kind: ExprKind, span: Span) -> ExprId {
        let id = ExprId(offset(self.expressions.len()));
        self.expressions.push(ExprNode { kind, span });
        id
    }

    /// Adds a hole.
    fn hole(&mut self, span: Span) -> ExprId {
        self.add(ExprKind::Error, span)
    }

    /// The source range of a node.
    fn span_of(&self, id: ExprId) -> Span {
        self.expressions.get(id.index()).map_or(Span::empty(0), |node| node.span)
    }

    /// Reports an error, even during recovery.
    fn report(&mut self, span: Span, problem: Diagnostic) {
        self.diagnostics.push(problem.at(self.source.range(span)));
    }

    /// Reports an error with the range to show around it, even during recovery.
    fn report_within(&mut self, span: Span, context: Span, problem: Diagnostic) {
        self.report(span, problem.within(self.source.range(context)));
    }

    /// Reports an error about an unexpected token, unless the parser is in recovery.
    fn complain(&mut self, span: Span, problem: impl FnOnce() -> Diagnostic) {
        if !self.recovery {
            self.report(span, problem());
        }
    }

    /// Like `complain`, with a range that is shown around the error.
    fn complain_within(&mut self, span: Span, context: Span, problem: impl FnOnce() -> Diagnostic) {
        if !self.recovery {
            self.report_within(span, context, problem());
        }
    }

    /// Whether an error in the current expression has put the parser into recovery.
    fn failed(&self) -> bool {
        self.recovery && self.diagnostics.len() > self.mark
    }

    /// Adds one level of nesting. Beyond the limit, reports an error and returns `false`.
    fn descend(&mut self, span: Span) -> bool {
        if self.depth >= MAX_NESTING {
            self.complain(span, || problems::text::too_deep(MAX_NESTING));
            self.recovery = true;
            return false;
        }
        self.depth += 1;
        true
    }
}
