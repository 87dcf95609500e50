//! Operators and conditionals.

use crate::expression::{BinaryOperator, ExprId, ExprKind, UnaryOperator};
use crate::problems::expressions as problems;
use crate::source::Span;
use crate::token::TokenKind;

use super::Parser;
use super::frame::{Next, Outer, Work};

/// The binary operator of a token.
fn binary_operator(kind: TokenKind) -> Option<BinaryOperator> {
    Some(match kind {
        TokenKind::Or => BinaryOperator::Or,
        TokenKind::And => BinaryOperator::And,
        TokenKind::Equal => BinaryOperator::Equal,
        TokenKind::NotEqual => BinaryOperator::NotEqual,
        TokenKind::Greater => BinaryOperator::Greater,
        TokenKind::GreaterOrEqual => BinaryOperator::GreaterOrEqual,
        TokenKind::Less => BinaryOperator::Less,
        TokenKind::LessOrEqual => BinaryOperator::LessOrEqual,
        TokenKind::Plus => BinaryOperator::Add,
        TokenKind::Minus => BinaryOperator::Subtract,
        TokenKind::Star => BinaryOperator::Multiply,
        TokenKind::Slash => BinaryOperator::Divide,
        TokenKind::Percent => BinaryOperator::Modulo,
        _ => return None,
    })
}

/// The precedence of an operator. Operators of a higher precedence bind more tightly. All operators are
/// left-associative.
const fn precedence(operator: BinaryOperator) -> u8 {
    match operator {
        BinaryOperator::Or => 1,
        BinaryOperator::And => 2,
        BinaryOperator::Equal | BinaryOperator::NotEqual => 3,
        BinaryOperator::Greater
        | BinaryOperator::GreaterOrEqual
        | BinaryOperator::Less
        | BinaryOperator::LessOrEqual => 4,
        BinaryOperator::Add | BinaryOperator::Subtract => 5,
        BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo => 6,
    }
}

impl Parser<'_> {
    /// Continues after an operand: completes all pending operations that bind at least as tightly as the operator that
    /// follows.
    pub(super) fn operator(&mut self, operand: ExprId) -> Next {
        let next = self.peek();
        let failed = self.failed();
        let following = if failed { None } else { binary_operator(next.kind) };
        let tightness = following.map_or(0, precedence);
        let mut value = operand;
        while let Some(Work::Binary { operator, .. }) = self.frames.last().map(|frame| &frame.work)
            && precedence(*operator) >= tightness
        {
            let Some((Work::Binary { operator, operator_span, left }, outer)) = self.pop() else { break };
            self.leave(outer);
            value = self.finish_binary(operator, operator_span, left, value);
        }
        if let Some(operator) = following {
            self.advance();
            self.push(Work::Binary { operator, operator_span: next.span, left: value });
            return Next::Operand;
        }
        if !failed && next.kind == TokenKind::Question {
            let question = self.read();
            if self.push_nested(Work::Then { condition: value }, question.span) {
                return Next::Operand;
            }
        }
        Next::Done(value)
    }

    pub(super) fn finish_unary(&mut self, operator: UnaryOperator, operator_span: Span, operand: ExprId) -> ExprId {
        let span = operator_span.through(self.span_of(operand));
        self.add(ExprKind::Unary { operator, operator_span, operand }, span)
    }

    pub(super) fn finish_binary(
        &mut self,
        operator: BinaryOperator,
        operator_span: Span,
        left: ExprId,
        right: ExprId,
    ) -> ExprId {
        let span = self.span_of(left).through(self.span_of(right));
        self.add(ExprKind::Binary { operator, operator_span, left, right }, span)
    }

    pub(super) fn finish_conditional(&mut self, condition: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        let span = self.span_of(condition).through(self.span_of(otherwise));
        self.add(ExprKind::Conditional { condition, then, otherwise }, span)
    }

    /// Continues after the value for a true condition. A colon follows.
    pub(super) fn after_then(&mut self, outer: Outer, condition: ExprId, then: ExprId) -> Next {
        let failed = self.failed();
        self.leave(outer);
        let colon = self.peek();
        if failed || colon.kind != TokenKind::Colon {
            if !failed {
                let context = self.span_of(condition).through(colon.span);
                self.report_within(colon.span, context, problems::no_second_result());
            }
            let otherwise = self.hole(Span::empty(self.previous().end));
            return Next::Done(self.finish_conditional(condition, then, otherwise));
        }
        self.advance();
        self.push(Work::Otherwise { condition, then });
        Next::Operand
    }
}
