//! Tuples, objects, `for` expressions and the arguments of calls.

use weft_graph_format::diagnostic::Diagnostic;

use crate::expression::{Call, ExprId, ExprKind, For, KeyForm, Name, ObjectItem};
use crate::problems::collections::{self as problems, ForForm};
use crate::source::Span;
use crate::token::{SyntaxToken, TokenKind};

use super::Parser;
use super::frame::{CallDraft, ForDraft, ForPart, Next, Outer, Work};

impl Parser<'_> {
    /// Begins a tuple, an object or a `for` expression.
    pub(super) fn collection(&mut self, start: SyntaxToken) -> Next {
        let open = self.advance();
        let is_object = start.kind == TokenKind::OpenBrace;
        let newlines = self.newlines;
        self.newlines = false;
        let is_for = self.peek_word("for");
        self.newlines = newlines;
        if is_for {
            return self.open_for(start, open, is_object);
        }
        let work = if is_object {
            Work::ObjectKey { open, items: Vec::new(), parenthesised: false }
        } else {
            Work::Tuple { open, items: Vec::new() }
        };
        if !self.push_nested(work, start.span) {
            return self.too_deep(open, start);
        }
        self.newlines = is_object;
        self.next_member()
    }

    /// Continues the tuple or object on top of the stack: reads its next member, or its end.
    fn next_member(&mut self) -> Next {
        match self.pop() {
            Some((Work::Tuple { open, items }, outer)) => {
                if self.accept(TokenKind::CloseBracket).is_some() {
                    return self.close_tuple(outer, open, items);
                }
                self.push_again(Work::Tuple { open, items }, outer);
            }
            Some((Work::ObjectKey { open, items, .. }, outer)) => {
                while self.accept(TokenKind::Newline).is_some() {}
                if self.accept(TokenKind::CloseBrace).is_some() {
                    return self.close_object(outer, open, items);
                }
                let parenthesised = self.peek_kind() == TokenKind::OpenParenthesis;
                self.push_again(Work::ObjectKey { open, items, parenthesised }, outer);
            }
            Some((work, outer)) => self.push_again(work, outer),
            None => {}
        }
        Next::Operand
    }

    fn close_tuple(&mut self, outer: Outer, open: usize, items: Vec<ExprId>) -> Next {
        self.leave(outer);
        let span = self.since(self.token(open).span);
        Next::Postfix(self.add(ExprKind::Tuple { items }, span))
    }

    fn close_object(&mut self, outer: Outer, open: usize, items: Vec<ObjectItem>) -> Next {
        self.leave(outer);
        let span = self.since(self.token(open).span);
        Next::Postfix(self.add(ExprKind::Object { items }, span))
    }

    /// Continues after an item of a tuple.
    pub(super) fn after_item(&mut self, outer: Outer, open: usize, mut items: Vec<ExprId>, item: ExprId) -> Next {
        items.push(item);
        let next = self.peek();
        let start = self.token(open).span;
        match next.kind {
            _ if self.failed() => {}
            TokenKind::CloseBracket => {
                self.advance();
                return self.close_tuple(outer, open, items);
            }
            TokenKind::Comma => {
                self.advance();
                self.push_again(Work::Tuple { open, items }, outer);
                return self.next_member();
            }
            TokenKind::End => self.complain(start, problems::unterminated_tuple),
            _ => self.complain_within(next.span, start.through(next.span), problems::no_item_separator),
        }
        self.recover_behind(open);
        self.close_tuple(outer, open, items)
    }

    /// Continues after the key of an object item.
    pub(super) fn after_key(
        &mut self,
        outer: Outer,
        open: usize,
        items: Vec<ObjectItem>,
        parenthesised: bool,
        key: ExprId,
    ) -> Next {
        let next = self.peek();
        let start = self.token(open).span;
        let context = start.through(next.span);
        match next.kind {
            _ if self.failed() => {}
            TokenKind::Assign | TokenKind::Colon => {
                self.advance();
                let form = self.key_form(key, parenthesised);
                self.push_again(Work::ObjectValue { open, items, key, form }, outer);
                return Next::Operand;
            }
            TokenKind::End => self.complain(start, problems::unterminated_object),
            TokenKind::Newline | TokenKind::Comma => {
                self.complain_within(next.span, context, problems::no_value);
            }
            TokenKind::Identifier => self.complain_within(next.span, context, problems::name_after_key),
            _ => self.complain_within(next.span, context, problems::no_key_separator),
        }
        self.recover_behind(open);
        self.close_object(outer, open, items)
    }

    /// The notation of a key.
    fn key_form(&self, key: ExprId, parenthesised: bool) -> KeyForm {
        if parenthesised {
            return KeyForm::Parenthesised;
        }
        match self.expressions.get(key.index()).map(|node| &node.kind) {
            Some(ExprKind::Traversal(traversal)) if traversal.steps.is_empty() => {
                KeyForm::Bare(traversal.root.text.clone())
            }
            Some(ExprKind::Traversal(_)) => KeyForm::Ambiguous,
            Some(ExprKind::Literal(literal)) => {
                literal.word().map_or(KeyForm::Expression, |word: &'static str| KeyForm::Bare(word.into()))
            }
            _ => KeyForm::Expression,
        }
    }

    /// Continues after the value of an object item.
    pub(super) fn after_value(
        &mut self,
        outer: Outer,
        open: usize,
        mut items: Vec<ObjectItem>,
        key: ExprId,
        form: KeyForm,
        value: ExprId,
    ) -> Next {
        let next = self.peek();
        let start = self.token(open).span;
        if self.failed() {
            // Nothing is reported for an item that could not be parsed.
            self.recover_behind(open);
            return self.close_object(outer, open, items);
        }
        items.push(ObjectItem { key, form, value });
        match next.kind {
            TokenKind::CloseBrace => {
                self.advance();
                return self.close_object(outer, open, items);
            }
            TokenKind::Comma | TokenKind::Newline => {
                self.advance();
                self.push_again(Work::ObjectKey { open, items, parenthesised: false }, outer);
                return self.next_member();
            }
            TokenKind::End => self.complain(start, problems::unterminated_object),
            _ => self.complain_within(next.span, start.through(next.span), problems::no_attribute_separator),
        }
        self.recover_behind(open);
        self.close_object(outer, open, items)
    }

    /// Continues the call on top of the stack: reads its next argument, or its end.
    pub(super) fn next_argument(&mut self) -> Next {
        if self.peek_kind() != TokenKind::CloseParenthesis {
            return Next::Operand;
        }
        self.advance();
        match self.pop() {
            Some((Work::Call(draft), outer)) => self.close_call(outer, *draft, false),
            Some((work, outer)) => {
                self.push_again(work, outer);
                Next::Operand
            }
            None => Next::Operand,
        }
    }

    fn close_call(&mut self, outer: Outer, draft: CallDraft, expand_final: bool) -> Next {
        self.leave(outer);
        let CallDraft { open, name, name_span, arguments } = draft;
        let parentheses = self.since(self.token(open).span);
        let span = name_span.through(parentheses);
        let call = Call { name, name_span, arguments, expand_final, parentheses };
        Next::Postfix(self.add(ExprKind::Call(Box::new(call)), span))
    }

    /// Continues after an argument of a call.
    pub(super) fn after_argument(&mut self, outer: Outer, mut draft: Box<CallDraft>, argument: ExprId) -> Next {
        draft.arguments.push(argument);
        let next = self.peek();
        let open = draft.open;
        let context = draft.name_span.through(next.span);
        let mut expand_final = false;
        match next.kind {
            _ if self.failed() => self.recover_behind(open),
            TokenKind::CloseParenthesis => {
                self.advance();
            }
            TokenKind::Comma => {
                self.advance();
                self.push_again(Work::Call(draft), outer);
                return self.next_argument();
            }
            TokenKind::Ellipsis => {
                expand_final = true;
                self.advance();
                if self.accept(TokenKind::CloseParenthesis).is_none() {
                    self.complain_within(next.span, context, problems::more_after_expansion);
                    self.recover_behind(open);
                }
            }
            TokenKind::End => {
                let subject = draft.name_span.through(self.token(open).span);
                self.report(subject, problems::unterminated_call());
                self.give_up();
            }
            _ => {
                self.report_within(next.span, context, problems::no_argument_separator());
                self.advance();
                self.recover_behind(open);
            }
        }
        self.close_call(outer, *draft, expand_final)
    }

    /// Begins a `for` expression. Its bracket has been read, and `for` is next.
    fn open_for(&mut self, start: SyntaxToken, open: usize, is_object: bool) -> Next {
        let newlines = self.newlines;
        self.newlines = false;
        self.advance();
        let names = self.for_names(ForForm::Expression, Some(start.span));
        self.newlines = newlines;
        let Some((key_variable, value_variable)) = names else {
            self.recover_behind(open);
            let span = self.since(start.span);
            return Next::Postfix(self.hole(span));
        };
        let draft = ForDraft {
            open,
            is_object,
            key_variable,
            value_variable,
            part: ForPart::Collection,
            collection: None,
            key: None,
            value: None,
            grouping: None,
        };
        if !self.push_nested(Work::For(Box::new(draft)), start.span) {
            return self.too_deep(open, start);
        }
        self.newlines = false;
        Next::Operand
    }

    /// Parses the names of a `for` expression or `for` directive, and the word `in`. If a name or `in` is missing,
    /// reports the problem and returns `None`.
    pub(super) fn for_names(&mut self, form: ForForm, context: Option<Span>) -> Option<(Option<Name>, Name)> {
        let wrong = |parser: &mut Self, problem: fn(ForForm) -> Diagnostic| {
            let span = parser.peek().span;
            match context {
                Some(start) => parser.complain_within(span, start.through(span), || problem(form)),
                None => parser.complain(span, || problem(form)),
            }
        };
        let Some(first) = self.accept(TokenKind::Identifier) else {
            wrong(self, problems::for_without_name);
            return None;
        };
        let mut names = (None, self.name_of(first));
        if self.accept(TokenKind::Comma).is_some() {
            let Some(second) = self.accept(TokenKind::Identifier) else {
                wrong(self, problems::for_without_second_name);
                return None;
            };
            names = (Some(names.1), self.name_of(second));
        }
        if !self.peek_word("in") {
            wrong(self, problems::for_without_in);
            return None;
        }
        self.advance();
        Some(names)
    }

    /// Continues after a part of a `for` expression.
    pub(super) fn after_for_part(&mut self, outer: Outer, mut draft: Box<ForDraft>, part: ExprId) -> Next {
        let next = self.peek();
        let start = self.token(draft.open).span;
        let context = start.through(next.span);
        if self.failed() {
            return self.abandon_for(outer, draft.open);
        }
        match draft.part {
            ForPart::Collection => {
                if next.kind != TokenKind::Colon {
                    self.complain_within(next.span, context, problems::for_without_colon);
                    return self.abandon_for(outer, draft.open);
                }
                self.advance();
                draft.collection = Some(part);
                draft.part = ForPart::First;
                self.push_again(Work::For(draft), outer);
                Next::Operand
            }
            ForPart::First if next.kind == TokenKind::Arrow => {
                self.advance();
                draft.key = Some(part);
                draft.part = ForPart::Value;
                self.push_again(Work::For(draft), outer);
                Next::Operand
            }
            ForPart::First | ForPart::Value => {
                draft.value = Some(part);
                draft.grouping = self.accept(TokenKind::Ellipsis).map(|token| token.span);
                if self.peek_word("if") {
                    self.advance();
                    draft.part = ForPart::Condition;
                    self.push_again(Work::For(draft), outer);
                    return Next::Operand;
                }
                self.close_for(outer, *draft, None)
            }
            ForPart::Condition => self.close_for(outer, *draft, Some(part)),
        }
    }

    /// Abandons a `for` expression that is invalid.
    fn abandon_for(&mut self, outer: Outer, open: usize) -> Next {
        self.recover_behind(open);
        self.leave(outer);
        let span = self.since(self.token(open).span);
        Next::Postfix(self.hole(span))
    }

    /// Reads the end of a `for` expression.
    fn close_for(&mut self, outer: Outer, draft: ForDraft, condition: Option<ExprId>) -> Next {
        let start = self.token(draft.open).span;
        let close = if draft.is_object { TokenKind::CloseBrace } else { TokenKind::CloseBracket };
        let next = self.peek();
        if next.kind == close {
            self.advance();
        } else {
            self.complain_within(next.span, start.through(next.span), problems::more_after_for);
            self.recover_behind(draft.open);
        }
        self.leave(outer);
        let span = self.since(start);
        let (Some(collection), Some(value)) = (draft.collection, draft.value) else {
            return Next::Postfix(self.hole(span));
        };
        if draft.is_object {
            if draft.key.is_none() {
                self.report_within(self.span_of(value), span, problems::for_without_key());
            }
        } else {
            if let Some(key) = draft.key {
                self.report_within(self.span_of(key), span, problems::key_in_tuple());
            }
            if let Some(grouping) = draft.grouping {
                self.report_within(grouping, span, problems::grouping_in_tuple());
            }
        }
        let node = For {
            key_variable: draft.key_variable,
            value_variable: draft.value_variable,
            collection,
            key: draft.key,
            value,
            condition,
            grouping: draft.grouping.is_some(),
        };
        Next::Postfix(self.add(ExprKind::For(Box::new(node)), span))
    }
}
