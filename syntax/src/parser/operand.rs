//! Terms, and the steps that follow them.

use smol_str::SmolStr;

use crate::expression::{
    ExprId, ExprKind, Key, Literal, Name, Splat, StepKind, Template, TemplatePart, Traversal, TraversalStep,
    UnaryOperator,
};
use crate::problems::expressions as problems;
use crate::source::Span;
use crate::token::{SyntaxToken, TokenKind};

use super::Parser;
use super::frame::{CallDraft, Next, Outer, Work};
use super::pairs::Family;

/// Whether a text is the notation of a number: digits, a fraction, an exponent.
fn is_number(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.trim_start_matches(['+', '-']))),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    digits(whole) && digits(fraction) && exponent.is_none_or(|digits| digits.parse::<i32>().is_ok())
}

/// The usual number of steps of a reference. Memory for these steps is reserved in one allocation, because a large
/// configuration has very many references.
const USUAL_STEPS: usize = 2;

impl Parser<'_> {
    /// Parses an operand.
    pub(super) fn operand(&mut self) -> Next {
        let start = self.peek();
        match start.kind {
            TokenKind::OpenParenthesis => self.bracketed(start, |open| Work::Parentheses { open }),
            TokenKind::Minus => self.unary(start, UnaryOperator::Negate),
            TokenKind::Not => self.unary(start, UnaryOperator::Not),
            TokenKind::OpenBracket | TokenKind::OpenBrace => self.collection(start),
            TokenKind::OpenQuote | TokenKind::OpenHeredoc => self.open_template(start),
            TokenKind::Identifier => {
                self.advance();
                match self.peek_kind() {
                    TokenKind::OpenParenthesis | TokenKind::DoubleColon => self.open_call(start),
                    _ => Next::Postfix(self.name(start)),
                }
            }
            TokenKind::Number => {
                self.advance();
                let number = self.number(start);
                Next::Postfix(self.add(ExprKind::Literal(Literal::Number(number)), start.span))
            }
            TokenKind::End => {
                self.complain(start.span, problems::no_expression);
                self.recovery = true;
                Next::Postfix(self.hole(start.span))
            }
            _ => {
                self.complain(start.span, problems::invalid_expression);
                self.recovery = true;
                Next::Postfix(self.hole(Span::empty(start.span.start)))
            }
        }
    }

    /// Begins a construct between brackets in which line ends have no meaning.
    fn bracketed(&mut self, start: SyntaxToken, work: impl FnOnce(usize) -> Work) -> Next {
        let open = self.advance();
        if self.push_nested(work(open), start.span) {
            self.newlines = false;
            return Next::Operand;
        }
        self.too_deep(open, start)
    }

    /// Skips a construct that is nested too deep.
    pub(super) fn too_deep(&mut self, open: usize, start: SyntaxToken) -> Next {
        self.recover_behind(open);
        let hole = self.hole(self.since(start.span));
        self.settle(hole)
    }

    fn unary(&mut self, start: SyntaxToken, operator: UnaryOperator) -> Next {
        self.advance();
        if self.push_nested(Work::Unary { operator, operator_span: start.span }, start.span) {
            return Next::Operand;
        }
        let hole = self.hole(start.span);
        self.settle(hole)
    }

    /// Parses a name that is not a call.
    fn name(&mut self, token: SyntaxToken) -> ExprId {
        let kind = match self.source.slice(token.span) {
            "true" => ExprKind::Literal(Literal::Bool(true)),
            "false" => ExprKind::Literal(Literal::Bool(false)),
            "null" => ExprKind::Literal(Literal::Null),
            _ => ExprKind::Traversal(Traversal { root: self.name_of(token), steps: Vec::new() }),
        };
        self.add(kind, token.span)
    }

    /// The name of a token.
    pub(super) fn name_of(&self, token: SyntaxToken) -> Name {
        Name { text: self.source.slice(token.span).into(), span: token.span }
    }

    /// The text of a number. An invalid number is reported.
    pub(super) fn number(&mut self, token: SyntaxToken) -> SmolStr {
        let text = self.source.slice(token.span);
        if !is_number(text) {
            self.report(token.span, problems::invalid_number(text));
        }
        text.into()
    }

    /// Begins a call. The first part of its name has been read, and `(` or `::` is next.
    fn open_call(&mut self, first: SyntaxToken) -> Next {
        let mut name = self.source.slice(first.span).to_owned();
        let mut name_span = first.span;
        loop {
            let at = self.advance();
            let token = self.token(at);
            match token.kind {
                TokenKind::OpenParenthesis => {
                    let draft = CallDraft { open: at, name: name.into(), name_span, arguments: Vec::new() };
                    if !self.push_nested(Work::Call(Box::new(draft)), token.span) {
                        return self.too_deep(at, token);
                    }
                    self.newlines = false;
                    return self.next_argument();
                }
                TokenKind::DoubleColon if self.peek_kind() == TokenKind::Identifier => {
                    let part = self.read();
                    name.push_str("::");
                    name.push_str(self.source.slice(part.span));
                    name_span = name_span.through(part.span);
                    if !matches!(self.peek_kind(), TokenKind::OpenParenthesis | TokenKind::DoubleColon) {
                        let found = self.read();
                        self.report_within(found.span, name_span.through(found.span), problems::no_parenthesis());
                        return self.abandon_call(name_span);
                    }
                }
                _ => {
                    let found = self.read();
                    self.report_within(found.span, first.span.through(found.span), problems::no_function_name());
                    return self.abandon_call(name_span);
                }
            }
        }
    }

    /// Abandons a call with an invalid name. Skips everything up to the end of the next parentheses.
    fn abandon_call(&mut self, name: Span) -> Next {
        while !matches!(self.read().kind, TokenKind::OpenParenthesis | TokenKind::End) {}
        self.skip_behind(Family::Parenthesis);
        Next::Postfix(self.hole(name))
    }

    /// Parses the steps after a term.
    pub(super) fn postfix(&mut self, mut term: ExprId) -> Next {
        loop {
            match self.peek_kind() {
                TokenKind::Dot => term = self.dot(term),
                TokenKind::OpenBracket => {
                    let open = self.advance();
                    let start = self.token(open);
                    if self.peek_kind() == TokenKind::Star {
                        return self.full_splat(term, open, start);
                    }
                    if !self.push_nested(Work::Index { open, collection: term }, start.span) {
                        return self.too_deep(open, start);
                    }
                    self.newlines = false;
                    return Next::Operand;
                }
                _ => return self.settle(term),
            }
        }
    }

    /// Parses `.name`, `.0` or `.*`.
    fn dot(&mut self, term: ExprId) -> ExprId {
        let dot = self.read();
        let what = self.peek();
        match what.kind {
            TokenKind::Identifier | TokenKind::Number => {
                self.advance();
                let step = self.dotted_step(dot, what);
                self.extend(term, step)
            }
            TokenKind::Star => {
                self.advance();
                self.attribute_splat(term, dot.span.through(what.span))
            }
            _ => {
                self.report(what.span, problems::no_attribute_name());
                self.recovery = true;
                let span = self.span_of(term).through(dot.span);
                self.hole(span)
            }
        }
    }

    /// The step after a dot: a name or a number.
    fn dotted_step(&mut self, dot: SyntaxToken, what: SyntaxToken) -> TraversalStep {
        let span = dot.span.through(what.span);
        let text = self.source.slice(what.span);
        if what.kind == TokenKind::Identifier {
            return TraversalStep { kind: StepKind::Attribute(text.into()), span };
        }
        match text.split_once('.') {
            Some((first, second)) => {
                self.report(what.span, problems::two_legacy_indices(first, second));
                TraversalStep { kind: StepKind::LegacyIndex(first.into()), span }
            }
            None => TraversalStep { kind: StepKind::LegacyIndex(self.number(what)), span },
        }
    }

    /// Adds a step to a term. A traversal grows; any other term becomes the source of a relative traversal.
    fn extend(&mut self, term: ExprId, step: TraversalStep) -> ExprId {
        if let Some(node) = self.expressions.get_mut(term.index()) {
            let steps = match &mut node.kind {
                ExprKind::Traversal(traversal) => Some(&mut traversal.steps),
                ExprKind::RelativeTraversal { steps, .. } => Some(steps),
                _ => None,
            };
            if let Some(steps) = steps {
                node.span = node.span.through(step.span);
                if steps.is_empty() {
                    steps.reserve_exact(USUAL_STEPS);
                }
                steps.push(step);
                return term;
            }
        }
        let span = self.span_of(term).through(step.span);
        self.add(ExprKind::RelativeTraversal { source: term, steps: vec![step] }, span)
    }

    /// Parses `.*` and the names and numbers after it, which apply to each element.
    fn attribute_splat(&mut self, source: ExprId, marker: Span) -> ExprId {
        let element = self.add(ExprKind::AnonymousElement, marker);
        let mut each = element;
        while self.peek_kind() == TokenKind::Dot {
            let dot = self.read();
            let what = self.peek();
            if !matches!(what.kind, TokenKind::Identifier | TokenKind::Number) {
                let problem = match what.kind {
                    TokenKind::Star => problems::nested_splat,
                    _ => problems::no_attribute_name_in_splat,
                };
                self.complain(what.span, problem);
                self.recovery = true;
                break;
            }
            self.advance();
            let step = self.dotted_step(dot, what);
            each = self.extend(each, step);
        }
        let span = self.span_of(source).through(self.span_of(each));
        self.add(ExprKind::Splat(Splat { source, full: false, each, element, marker }), span)
    }

    /// Parses `[*]`. All steps after it apply to each element.
    fn full_splat(&mut self, source: ExprId, open: usize, start: SyntaxToken) -> Next {
        self.advance();
        let close = self.read();
        if close.kind != TokenKind::CloseBracket && !self.recovery {
            self.report(close.span, problems::unclosed_splat());
            self.recover_behind(open);
        }
        let marker = self.since(start.span);
        let mark = self.mark;
        let element = self.add(ExprKind::AnonymousElement, marker);
        if !self.push_nested(Work::Splat { source, element, marker }, marker) {
            return self.settle(source);
        }
        // The splat's own errors count for the surrounding expression.
        self.mark = mark;
        Next::Postfix(element)
    }

    /// Continues after the key between brackets.
    pub(super) fn after_index(&mut self, outer: Outer, open: usize, collection: ExprId, key: ExprId) -> Next {
        if self.failed() {
            self.recover_behind(open);
        } else {
            let close = self.read();
            if close.kind != TokenKind::CloseBracket && !self.recovery {
                self.report(close.span, problems::unclosed_index());
                self.recover_behind(open);
            }
        }
        self.leave(outer);
        let brackets = self.since(self.token(open).span);
        if let Some(key) = self.take_literal_key(key) {
            return Next::Postfix(
                self.extend(collection, TraversalStep { kind: StepKind::Index(key), span: brackets }),
            );
        }
        let span = self.span_of(collection).through(brackets);
        Next::Postfix(self.add(ExprKind::Index { collection, key, brackets }, span))
    }

    /// Takes a literal key out of the tree, so that it becomes part of a step.
    fn take_literal_key(&mut self, id: ExprId) -> Option<Key> {
        if id.index() + 1 != self.expressions.len() {
            return None;
        }
        let key = match &self.expressions.get(id.index())?.kind {
            ExprKind::Literal(Literal::Number(number)) => Key::Number(number.clone()),
            ExprKind::Literal(Literal::Bool(value)) => Key::Bool(*value),
            ExprKind::Literal(Literal::Null) => Key::Null,
            ExprKind::Template(Template { parts, .. }) => match parts.as_slice() {
                [] => Key::String(SmolStr::default()),
                [TemplatePart::Literal { text, .. }] => Key::String(text.clone()),
                _ => return None,
            },
            _ => return None,
        };
        self.expressions.pop();
        Some(key)
    }

    /// Continues after the expression between parentheses.
    pub(super) fn after_parentheses(&mut self, outer: Outer, open: usize, inner: ExprId) -> Next {
        let close = self.peek();
        if self.diagnostics.len() > self.mark {
            self.recover_behind(open);
        } else if close.kind == TokenKind::CloseParenthesis {
            self.advance();
        } else {
            let start = self.token(open).span;
            self.report_within(close.span, start.through(close.span), problems::unbalanced_parentheses());
            self.recovery = true;
            self.advance();
        }
        self.leave(outer);
        let span = self.since(self.token(open).span);
        Next::Postfix(self.add(ExprKind::Parentheses { inner }, span))
    }
}

#[cfg(test)]
mod tests {
    use super::is_number;

    #[test]
    fn numbers_have_one_point_and_one_exponent() {
        for text in ["0", "007", "1.5", "1e9", "1.5E-400", "9e+99"] {
            assert!(is_number(text), "{text}");
        }
        for text in ["1.2.3", "1..2", "1e1e1", "1e1.5", "1e99999999999"] {
            assert!(!is_number(text), "{text}");
        }
    }
}
