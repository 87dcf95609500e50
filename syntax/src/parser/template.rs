//! Templates: strings, heredocs, template files.

use unicode_segmentation::UnicodeSegmentation;
use weft_graph_format::diagnostic::Diagnostic;

use crate::expression::{ExprId, ExprKind, Name, TemplateForm};
use crate::problems::collections::ForForm;
use crate::problems::templates as problems;
use crate::source::Span;
use crate::token::{SyntaxToken, TokenKind};

use super::Parser;
use super::frame::{Next, Outer, TemplateDraft, TemplatePiece, Work};

impl Parser<'_> {
    /// Parses a whole text as one template.
    pub(super) fn whole_template(&mut self) -> ExprId {
        // A byte order mark is not part of the template.
        let start = Span::empty(self.peek().span.start);
        self.push(Work::Caller);
        let draft = TemplateDraft { open: None, form: TemplateForm::Bare, start, parts: Vec::new(), trim_next: false };
        self.push(Work::Template(Box::new(draft)));
        self.run(Next::Template)
    }

    /// Begins a string or a heredoc.
    pub(super) fn open_template(&mut self, start: SyntaxToken) -> Next {
        let open = self.advance();
        let form = match start.kind {
            TokenKind::OpenHeredoc => TemplateForm::Heredoc { flush: self.source.slice(start.span).starts_with("<<-") },
            _ => TemplateForm::Quoted,
        };
        let draft = TemplateDraft { open: Some(open), form, start: start.span, parts: Vec::new(), trim_next: false };
        if !self.push_nested(Work::Template(Box::new(draft)), start.span) {
            return self.too_deep(open, start);
        }
        Next::Template
    }

    /// Continues the template on top of the stack: reads its pieces up to the next expression, or its end.
    pub(super) fn template(&mut self) -> Next {
        let (mut draft, outer) = match self.pop() {
            Some((Work::Template(draft), outer)) => (draft, outer),
            Some((work, outer)) => {
                self.push_again(work, outer);
                return Next::Operand;
            }
            None => return Next::Operand,
        };
        let closer = match draft.form {
            TemplateForm::Quoted => TokenKind::CloseQuote,
            TemplateForm::Heredoc { .. } => TokenKind::CloseHeredoc,
            TemplateForm::Bare | TemplateForm::Fragment => TokenKind::End,
        };
        loop {
            // Blanks are text here, so no token of a template is skipped.
            let at = self.advance();
            let token = self.token(at);
            let trim = std::mem::take(&mut draft.trim_next);
            match token.kind {
                kind if kind == closer => return self.close_template(outer, *draft, token.span),
                TokenKind::QuotedText | TokenKind::TemplateText => {
                    let mut text = self.unescape(token);
                    if trim {
                        text.drain(..text.len() - text.trim_start().len());
                    }
                    draft.parts.push(TemplatePiece::Text { text, span: token.span });
                }
                TokenKind::OpenInterpolation => {
                    self.trim_before(at, token, &mut draft);
                    self.push_again(Work::Template(draft), outer);
                    self.push(Work::Interpolation { open: at });
                    self.newlines = false;
                    return Next::Operand;
                }
                TokenKind::OpenDirective => {
                    self.trim_before(at, token, &mut draft);
                    self.push_again(Work::Template(draft), outer);
                    return self.open_directive(at);
                }
                _ => {
                    self.complain_within(token.span, draft.start.through(token.span), problems::unterminated);
                    match draft.open {
                        Some(open) => self.recover_behind(open),
                        None => self.give_up(),
                    }
                    let end = self.previous();
                    return self.close_template(outer, *draft, end);
                }
            }
        }
    }

    /// Removes the blanks before a sequence that begins with `${~` or `%{~`, back to the start of the preceding piece.
    /// In heredocs, a piece is a line.
    fn trim_before(&self, at: usize, token: SyntaxToken, draft: &mut TemplateDraft) {
        let text_before = at.checked_sub(1).map(|before| self.token(before).kind);
        let is_text = matches!(text_before, Some(TokenKind::QuotedText | TokenKind::TemplateText));
        if is_text
            && self.source.slice(token.span).ends_with('~')
            && let Some(TemplatePiece::Text { text, .. }) = draft.parts.last_mut()
        {
            text.truncate(text.trim_end().len());
        }
    }

    /// Completes a template.
    fn close_template(&mut self, outer: Outer, mut draft: TemplateDraft, end: Span) -> Next {
        self.leave(outer);
        if draft.form == (TemplateForm::Heredoc { flush: true }) {
            flush(&mut draft.parts);
        }
        let span = draft.start.through(end);
        if let [TemplatePiece::Interpolation { expression, .. }] = draft.parts.as_slice() {
            let inner = *expression;
            return Next::Postfix(self.add(ExprKind::TemplateWrap { inner }, span));
        }
        let template = self.structure(draft.form, draft.parts, span, end);
        let next = self.add(ExprKind::Template(template), span);
        // No step can follow a template file.
        if draft.form == TemplateForm::Bare { Next::Done(next) } else { Next::Postfix(next) }
    }

    /// The template that contains the current sequence. This template is the frame on top of the stack.
    fn enclosing(&mut self) -> Option<&mut TemplateDraft> {
        match self.frames.last_mut().map(|frame| &mut frame.work) {
            Some(Work::Template(draft)) => Some(draft),
            _ => None,
        }
    }

    /// Ends a sequence, and notes whether it ended with `~}`.
    fn end_sequence(&mut self) -> Span {
        let close = self.read();
        let trim = self.source.slice(close.span).starts_with('~');
        if let Some(draft) = self.enclosing() {
            draft.trim_next = trim;
        }
        close.span
    }

    /// Continues after the expression of an interpolation.
    pub(super) fn after_interpolation(&mut self, outer: Outer, open: usize, expression: ExprId) -> Next {
        let next = self.peek();
        let open_span = self.token(open).span;
        let (start, form) = match self.enclosing() {
            Some(draft) => (draft.start, draft.form),
            None => (open_span, TemplateForm::Quoted),
        };
        let end = if next.kind == TokenKind::CloseSequence {
            self.end_sequence()
        } else {
            let quote = matches!(next.kind, TokenKind::OpenQuote | TokenKind::CloseQuote);
            let (subject, problem): (Span, fn() -> Diagnostic) = match next.kind {
                TokenKind::End => (open_span, problems::unclosed_in_text),
                _ if quote && form == TemplateForm::Quoted => (open_span, problems::unclosed_in_string),
                TokenKind::Colon => (next.span, problems::colon_after_expression),
                _ => (next.span, problems::more_after_expression),
            };
            self.complain_within(subject, start.through(subject), problem);
            self.recover_behind(open);
            self.previous()
        };
        self.leave(outer);
        let span = open_span.through(end);
        if let Some(draft) = self.enclosing() {
            draft.parts.push(TemplatePiece::Interpolation { expression, span });
        }
        Next::Template
    }

    /// Parses a directive after `%{`: its keyword and the parts that follow the keyword.
    fn open_directive(&mut self, open: usize) -> Next {
        let open_span = self.token(open).span;
        let outer_newlines = std::mem::replace(&mut self.newlines, false);
        let keyword = self.peek();
        let word = if keyword.kind == TokenKind::Identifier { self.source.slice(keyword.span) } else { "" };
        match word {
            "if" => {
                self.advance();
                self.newlines = outer_newlines;
                self.push(Work::DirectiveIf { open });
                self.newlines = false;
                return Next::Operand;
            }
            "for" => {
                self.advance();
                if let Some((key_variable, value_variable)) = self.for_names(ForForm::Directive, None) {
                    self.newlines = outer_newlines;
                    self.push(Work::DirectiveFor { open, key_variable, value_variable });
                    self.newlines = false;
                    return Next::Operand;
                }
                self.recover_behind(open);
            }
            "else" | "endif" | "endfor" => {
                self.advance();
                let span = self.close_directive(open, word);
                let piece = match word {
                    "else" => TemplatePiece::Else { span },
                    "endif" => TemplatePiece::EndIf { span },
                    _ => TemplatePiece::EndFor { span },
                };
                if let Some(draft) = self.enclosing() {
                    draft.parts.push(piece);
                }
            }
            "" => {
                self.complain_within(keyword.span, open_span.through(keyword.span), problems::no_keyword);
                self.recover_behind(open);
            }
            other => {
                let context = open_span.through(keyword.span);
                self.complain_within(keyword.span, context, || problems::unknown_keyword(other));
                self.recover_behind(open);
            }
        }
        self.newlines = outer_newlines;
        Next::Template
    }

    /// Reads the end of a directive. Nothing else may follow its parts. Returns the span of the whole directive.
    fn close_directive(&mut self, open: usize, word: &str) -> Span {
        let next = self.peek();
        let open_span = self.token(open).span;
        if next.kind == TokenKind::CloseSequence {
            return open_span.through(self.end_sequence());
        }
        self.complain_within(next.span, open_span.through(next.span), || problems::more_in_directive(word));
        self.recover_behind(open);
        self.since(open_span)
    }

    /// Continues after the condition of an `if` directive.
    pub(super) fn after_directive_if(&mut self, outer: Outer, open: usize, condition: ExprId) -> Next {
        let span = self.close_directive(open, "if");
        self.leave(outer);
        if let Some(draft) = self.enclosing() {
            draft.parts.push(TemplatePiece::If { condition, span });
        }
        Next::Template
    }

    /// Continues after the collection of a `for` directive.
    pub(super) fn after_directive_for(
        &mut self,
        outer: Outer,
        open: usize,
        key_variable: Option<Name>,
        value_variable: Name,
        collection: ExprId,
    ) -> Next {
        let span = self.close_directive(open, "for");
        self.leave(outer);
        if let Some(draft) = self.enclosing() {
            draft.parts.push(TemplatePiece::For { key_variable, value_variable, collection, span });
        }
        Next::Template
    }
}

/// Removes the common indentation of all lines of a heredoc.
///
/// A line counts if it contains a template sequence, or text that is not blank. Indentation is measured in
/// user-perceived characters. Blank lines are unchanged.
fn flush(parts: &mut [TemplatePiece]) {
    let mut common = usize::MAX;
    let mut line_start = true;
    let mut indented = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let text = match part {
            TemplatePiece::Text { text, .. } => Some(text),
            _ => None,
        };
        if std::mem::replace(&mut line_start, text.is_some_and(|text| text.ends_with('\n'))) {
            match text {
                Some(text) => {
                    let blank = text.len() - text.trim_start().len();
                    if blank < text.len() || !text.ends_with('\n') {
                        common = common.min(text.get(..blank).unwrap_or_default().graphemes(true).count());
                        indented.push(at);
                    }
                }
                None => common = 0,
            }
        }
    }
    for at in indented {
        if let Some(TemplatePiece::Text { text, .. }) = parts.get_mut(at) {
            let end = text.grapheme_indices(true).nth(common).map_or(text.len(), |(end, _)| end);
            text.drain(..end);
        }
    }
}
