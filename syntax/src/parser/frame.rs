//! Unfinished constructs of the parser.

use smol_str::SmolStr;

use crate::expression::{
    BinaryOperator, ExprId, ExprKind, KeyForm, Name, ObjectItem, Splat, TemplateForm, UnaryOperator,
};
use crate::source::Span;

use super::Parser;

/// A construct that waits for an expression inside of it.
pub(super) struct Frame {
    /// The construct.
    pub work: Work,
    /// The parser's state outside of the construct.
    newlines: bool,
    mark: usize,
    depth: usize,
}

/// An unfinished construct, with its parts so far. `open` is the index of its opening bracket.
pub(super) enum Work {
    /// The caller of the expression parser.
    Caller,
    /// Waits for its operand.
    Unary { operator: UnaryOperator, operator_span: Span },
    /// Waits for its right operand.
    Binary { operator: BinaryOperator, operator_span: Span, left: ExprId },
    /// `c ?`: waits for the value if true.
    Then { condition: ExprId },
    /// `c ? a :`: waits for the value if false.
    Otherwise { condition: ExprId, then: ExprId },
    /// Waits for the steps that the splat applies to each element.
    Splat { source: ExprId, element: ExprId, marker: Span },
    /// `(`
    Parentheses { open: usize },
    /// `a[`: waits for the key.
    Index { open: usize, collection: ExprId },
    /// `[`: waits for the next item.
    Tuple { open: usize, items: Vec<ExprId> },
    /// `{`: waits for the next key.
    ObjectKey { open: usize, items: Vec<ObjectItem>, parenthesised: bool },
    /// `{ k =`: waits for the value.
    ObjectValue { open: usize, items: Vec<ObjectItem>, key: ExprId, form: KeyForm },
    /// `[for` or `{for`: waits for its next part.
    For(Box<ForDraft>),
    /// `f(`: waits for the next argument.
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

/// An incomplete `for` expression.
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

/// The part of a `for` expression that is being parsed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ForPart {
    Collection,
    /// The key, or the value if there is no key.
    First,
    Value,
    Condition,
}

/// An incomplete call.
pub(super) struct CallDraft {
    pub open: usize,
    pub name: SmolStr,
    pub name_span: Span,
    pub arguments: Vec<ExprId>,
}

/// An incomplete template.
pub(super) struct TemplateDraft {
    /// The index of the opening token; `None` for a text that is one template.
    pub open: Option<usize>,
    pub form: TemplateForm,
    pub start: Span,
    pub parts: Vec<TemplatePiece>,
    /// Whether the last sequence ended with `~}`.
    pub trim_next: bool,
}

/// A piece of a template, before directives are matched with their ends.
#[derive(Debug)]
pub(super) enum TemplatePiece {
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
    /// An operand is expected.
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
    /// Begins a construct. Only errors of the expression inside of it count as failures of that expression.
    pub(super) fn push(&mut self, work: Work) {
        let frame = Frame { work, newlines: self.newlines, mark: self.mark, depth: self.depth };
        self.frames.push(frame);
        self.mark = self.diagnostics.len();
    }

    /// Begins a construct that adds a level of nesting. Returns `false` without beginning it if the nesting would be
    /// too deep.
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

    /// Takes the construct on top of the stack. Pass the returned outer state to [`Parser::leave`] or
    /// [`Parser::push_again`].
    pub(super) fn pop(&mut self) -> Option<(Work, Outer)> {
        let frame = self.frames.pop()?;
        Some((frame.work, Outer { newlines: frame.newlines, mark: frame.mark, depth: frame.depth }))
    }

    /// Restores the state outside of a construct.
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

    /// Continues after a term with all its steps. If the term follows a unary operator or belongs to a splat, it is
    /// done. Otherwise a binary operator may follow.
    pub(super) fn settle(&self, term: ExprId) -> Next {
        match self.frames.last().map(|frame| &frame.work) {
            Some(Work::Unary { .. } | Work::Splat { .. }) => Next::Done(term),
            _ => Next::Operator(term),
        }
    }

    /// Passes an expression to the construct that waited for it.
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
            // Cannot happen: the loop for templates takes this frame off the stack before any expression is complete.
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
