//! Unfinished constructs of the parser.

use smol_str::SmolStr;

use crate::expression::{
    BinaryOperator, ExprId, ExprKind, KeyForm, Name, ObjectItem, Splat, TemplateForm, UnaryOperator,
};
use crate::source::Span;

use super::Parser;

/// A construct that waits for the expression inside of it.
pub(super) struct Frame {
    /// What waits.
    pub work: Work,
    /// The parser's state outside of it.
    newlines: bool,
    mark: usize,
    depth: usize,
}

/// An unfinished construct, with its parts so far. `open` is the index of its opening bracket.
pub(super) enum Work {
    /// The caller of the expression parser.
    Caller,
    /// An operator for its operand.
    Unary { operator: UnaryOperator, operator_span: Span },
    /// An operator for its right operand.
    Binary { operator: BinaryOperator, operator_span: Span, left: ExprId },
    /// `c ?` for the value when true.
    Then { condition: ExprId },
    /// `c ? a :` for the value when false.
    Otherwise { condition: ExprId, then: ExprId },
    /// A splat for the steps that are applied to each element.
    Splat { source: ExprId, element: ExprId, marker: Span },
    /// `(`
    Parentheses { open: usize },
    /// `a[` for the key.
    Index { open: usize, collection: ExprId },
    /// `[` for the next item.
    Tuple { open: usize, items: Vec<ExprId> },
    /// `{` for the next key.
    ObjectKey { open: usize, items: Vec<ObjectItem>, parenthesised: bool },
    /// `{ k =` for the value.
    ObjectValue { open: usize, items: Vec<ObjectItem>, key: ExprId, form: KeyForm },
    /// `[for` or `{for` for its next part.
    For(Box<ForDraft>),
    /// `f(` for the next argument.
    Call(Box<CallDraft>),
    /// A template between two sequences.
    Template(Box<TemplateDraft>),
    /// `${`
    Interpolation { open: usize },
    /// `%{ if`
    DirectiveIf { open: usize },
    /// `%{ for k, v in`
    DirectiveFor { open: usize, key_variable: Option<Name>, value_variable: Name },
}

/// A `for` expression as far as it has been read.
pub(super) struct ForDraft {
    pub open: usize,
    pub is_object: bool,
    pub key_variable: Option<Name>,
    pub value_variable: Name,
    pub part: ForPart,
    pub collection: Option<ExprId>,
    pub key: Option<ExprId>,
    pub value: Option<ExprId>,
    pub grouping: Option<Span>,
}

/// Which part of a `for` expression is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ForPart {
    Collection,
    /// The key, or the value if there is no key.
    First,
    Value,
    Condition,
}

/// A call as far as it has been read.
pub(super) struct CallDraft {
    pub open: usize,
    pub name: SmolStr,
    pub name_span: Span,
    pub arguments: Vec<ExprId>,
}

/// A template as far as it has been read.
pub(super) struct TemplateDraft {
    /// The opening mark; `None` for a text that is one template.
    pub open: Option<usize>,
    pub form: TemplateForm,
    pub start: Span,
    pub parts: Vec<Piece>,
    /// The last sequence ended with `~}`.
    pub trim_next: bool,
}

/// A piece of a template, before directives are matched with their ends.
#[derive(Debug)]
pub(super) enum Piece {
    Text { text: String, span: Span },
    Interpolation { expression: ExprId, span: Span },
    If { condition: ExprId, span: Span },
    Else { span: Span },
    EndIf { span: Span },
    For { key_variable: Option<Name>, value_variable: Name, collection: ExprId, span: Span },
    EndFor { span: Span },
}

/// The next step of the parser.
pub(super) enum Next {
    /// An operand begins.
    Operand,
    /// A term has been read; steps and indices may follow.
    Postfix(ExprId),
    /// An operand has been read; an operator may follow.
    Operator(ExprId),
    /// An expression has been read; the frame on top waits for it.
    Done(ExprId),
    /// The top frame is an unfinished template.
    Template,
}

impl Parser<'_> {
    /// Begins a construct. The expression inside of it is judged by its own errors only.
    pub(super) fn push(&mut self, work: Work) {
        let frame = Frame { work, newlines: self.newlines, mark: self.mark, depth: self.depth };
        self.frames.push(frame);
        self.mark = self.diagnostics.len();
    }

    /// Begins a construct that counts as a level of nesting. Beyond the limit it is not begun.
    pub(super) fn push_nested(&mut self, work: Work, span: Span) -> bool {
        let (outer, mark) = (self.depth, self.mark);
        if !self.descend(span) {
            return false;
        }
        let frame = Frame { work, newlines: self.newlines, mark, depth: outer };
        self.frames.push(frame);
        self.mark = self.diagnostics.len();
        true
    }

    /// Puts a construct back that waits for one more expression.
    pub(super) fn push_again(&mut self, work: Work, outer: Outer) {
        self.frames.push(Frame { work, newlines: outer.newlines, mark: outer.mark, depth: outer.depth });
        self.mark = self.diagnostics.len();
    }

    /// Takes the construct on top. Its outer state comes apart from it, for [`Parser::leave`] or
    /// [`Parser::push_again`].
    pub(super) fn pop(&mut self) -> Option<(Work, Outer)> {
        let frame = self.frames.pop()?;
        Some((frame.work, Outer { newlines: frame.newlines, mark: frame.mark, depth: frame.depth }))
    }

    /// Goes back to the state outside of a construct.
    pub(super) fn leave(&mut self, outer: Outer) {
        self.newlines = outer.newlines;
        self.mark = outer.mark;
        self.depth = outer.depth;
    }

    /// Parses one expression.
    pub(super) fn expression(&mut self) -> ExprId {
        self.push(Work::Caller);
        self.run(Next::Operand)
    }

    /// Continues until the expression of the last [`Work::Caller`] is complete.
    pub(super) fn run(&mut self, mut next: Next) -> ExprId {
        loop {
            next = match next {
                Next::Operand => self.operand(),
                Next::Postfix(term) => self.postfix(term),
                Next::Operator(operand) => self.operator(operand),
                Next::Template => self.template(),
                Next::Done(value) => match self.pop() {
                    None => return value,
                    Some((Work::Caller, outer)) => {
                        self.leave(outer);
                        return value;
                    }
                    Some((work, outer)) => self.resume(work, outer, value),
                },
            };
        }
    }

    /// A term with all its steps is complete: it belongs to a preceding operator or splat, or it is an operand.
    pub(super) fn settle(&self, term: ExprId) -> Next {
        match self.frames.last().map(|frame| &frame.work) {
            Some(Work::Unary { .. } | Work::Splat { .. }) => Next::Done(term),
            _ => Next::Operator(term),
        }
    }

    /// Gives a construct the expression that it waited for.
    fn resume(&mut self, work: Work, outer: Outer, value: ExprId) -> Next {
        match work {
            Work::Caller => Next::Done(value),
            Work::Unary { operator, operator_span } => {
                self.leave(outer);
                let unary = self.finish_unary(operator, operator_span, value);
                self.settle(unary)
            }
            Work::Binary { operator, operator_span, left } => {
                self.leave(outer);
                Next::Operator(self.finish_binary(operator, operator_span, left, value))
            }
            Work::Splat { source, element, marker } => {
                self.leave(outer);
                let span = self.span_of(source).through(self.span_of(value));
                let splat = Splat { source, full: true, each: value, element, marker };
                Next::Postfix(self.add(ExprKind::Splat(splat), span))
            }
            Work::Then { condition } => self.after_then(outer, condition, value),
            Work::Otherwise { condition, then } => {
                self.leave(outer);
                Next::Done(self.finish_conditional(condition, then, value))
            }
            Work::Parentheses { open } => self.after_parentheses(outer, open, value),
            Work::Index { open, collection } => self.after_index(outer, open, collection, value),
            Work::Tuple { open, items } => self.after_item(outer, open, items, value),
            Work::ObjectKey { open, items, parenthesised } => self.after_key(outer, open, items, parenthesised, value),
            Work::ObjectValue { open, items, key, form } => self.after_value(outer, open, items, key, form, value),
            Work::For(draft) => self.after_for_part(outer, draft, value),
            Work::Call(draft) => self.after_argument(outer, draft, value),
            Work::Interpolation { open } => self.after_interpolation(outer, open, value),
            Work::DirectiveIf { open } => self.after_directive_if(outer, open, value),
            Work::DirectiveFor { open, key_variable, value_variable } => {
                self.after_directive_for(outer, open, key_variable, value_variable, value)
            }
            // A template is taken off the stack by its own loop, before any expression could be given to it.
            Work::Template(_) => Next::Done(value),
        }
    }
}

/// The parser's state outside of a construct.
#[derive(Clone, Copy)]
pub(super) struct Outer {
    newlines: bool,
    mark: usize,
    depth: usize,
}
