//! Parses a text that is a single traversal.

use crate::expression::{ExprId, ExprKind, Key, StepKind, Traversal, TraversalStep};
use crate::problems::expressions as problems;
use crate::source::Span;
use crate::token::TokenKind;

use super::Parser;

impl Parser<'_> {
    /// Parses a name followed by steps with literal keys. For anything else, reports one error and returns a hole.
    pub(super) fn whole_traversal(&mut self) -> ExprId {
        self.newlines = false;
        let start = self.peek().span;
        match self.traversal() {
            Some(traversal) => {
                let span = self.since(start);
                self.add(ExprKind::Traversal(traversal), span)
            }
            None => {
                let span = Span::new(start.start, self.token(self.tokens.len()).span.end);
                self.hole(span)
            }
        }
    }

    fn traversal(&mut self) -> Option<Traversal> {
        let root = self.read();
        if root.kind != TokenKind::Identifier {
            self.report(root.span, problems::no_root());
            return None;
        }
        let mut steps = Vec::new();
        loop {
            let next = self.peek();
            match next.kind {
                TokenKind::End => return Some(Traversal { root: self.name_of(root), steps }),
                TokenKind::Dot => {
                    self.advance();
                    let name = self.read();
                    if name.kind != TokenKind::Identifier {
                        let problem = match name.kind {
                            TokenKind::Star => problems::splat_in_traversal(".*"),
                            _ => problems::no_step_name(),
                        };
                        self.report_within(name.span, root.span.through(name.span), problem);
                        return None;
                    }
                    let kind = StepKind::Attribute(self.source.slice(name.span).into());
                    steps.push(TraversalStep { kind, span: next.span.through(name.span) });
                }
                TokenKind::OpenBracket => {
                    self.advance();
                    let errors = self.diagnostics.len();
                    let key = self.literal_key(root.span)?;
                    let close = self.read();
                    let span = next.span.through(close.span);
                    if close.kind != TokenKind::CloseBracket {
                        self.report_within(close.span, span, problems::unclosed_step());
                    }
                    if self.diagnostics.len() > errors {
                        return None;
                    }
                    steps.push(TraversalStep { kind: StepKind::Index(key), span });
                }
                _ => {
                    self.report_within(next.span, root.span.through(next.span), problems::no_step());
                    return None;
                }
            }
        }
    }

    /// A number or a string between brackets.
    fn literal_key(&mut self, root: Span) -> Option<Key> {
        let next = self.peek();
        match next.kind {
            TokenKind::Number => {
                self.advance();
                Some(Key::Number(self.number(next)))
            }
            TokenKind::OpenQuote => Some(Key::String(self.quoted_literal().0)),
            kind => {
                let context = root.through(next.span);
                let problem = match kind {
                    TokenKind::Star => problems::splat_in_traversal("[*]"),
                    _ => problems::no_literal_key(),
                };
                self.report_within(next.span, context, problem);
                None
            }
        }
    }
}
