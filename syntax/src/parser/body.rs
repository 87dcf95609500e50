//! Files: attributes and blocks.

use std::collections::HashMap;

use smol_str::SmolStr;

use crate::body::{Attribute, Block, Body, BodyId, Label};
use crate::expression::Name;
use crate::problems::bodies as problems;
use crate::problems::strings;
use crate::source::{Span, offset};
use crate::token::{SyntaxToken, TokenKind};

use super::Parser;
use super::pairs::{Bracket, Family, bracket};

/// The names of one body, with their positions.
type Names = HashMap<SmolStr, Span>;

/// A body that is being parsed.
#[derive(Default)]
struct Draft {
    body: Body,
    names: Names,
    /// The block of the body; `None` for a file.
    header: Option<Header>,
}

/// The header of a block, up to its opening brace.
struct Header {
    block_type: Name,
    labels: Vec<Label>,
    span: Span,
    open: usize,
    open_span: Span,
}

impl Parser<'_> {
    /// Parses a whole file.
    pub(super) fn file(&mut self) -> BodyId {
        let start = self.peek().span;
        let mut outer: Vec<Draft> = Vec::new();
        let mut draft = Draft::default();
        loop {
            let next = self.peek();
            match next.kind {
                TokenKind::Newline => {
                    self.advance();
                }
                TokenKind::Identifier => {
                    self.mark = self.diagnostics.len();
                    if let Some(header) = self.item(&mut draft) {
                        let inner = Draft { header: Some(header), ..Draft::default() };
                        outer.push(std::mem::replace(&mut draft, inner));
                    }
                }
                TokenKind::CloseBrace if !outer.is_empty() => {
                    self.advance();
                    let Some(parent) = outer.pop() else { continue };
                    draft = self.close_block(draft, parent, Some(next.span));
                }
                TokenKind::End => match outer.pop() {
                    Some(parent) => {
                        self.unclosed(&draft);
                        draft = self.close_block(draft, parent, None);
                    }
                    None => break,
                },
                _ => {
                    self.bad_item();
                    match outer.pop() {
                        Some(parent) => {
                            self.skip_behind(Family::Brace);
                            let close = self.previous();
                            draft = self.close_block(draft, parent, Some(close));
                        }
                        None => self.give_up(),
                    }
                }
            }
        }
        draft.body.span = start.through(self.peek().span);
        self.add_body(draft.body)
    }

    /// Reports a token that cannot begin an item. The rest of the body is not parsed.
    fn bad_item(&mut self) {
        let bad = self.read();
        if bad.kind == TokenKind::OpenQuote {
            self.complain(bad.span, problems::quoted_name);
        } else {
            self.complain(bad.span, problems::no_item);
        }
    }

    fn add_body(&mut self, mut body: Body) -> BodyId {
        body.index();
        let id = BodyId(offset(self.bodies.len()));
        self.bodies.push(body);
        id
    }

    /// Handles the end of the text before the closing brace of a block.
    fn unclosed(&mut self, draft: &Draft) {
        if let Some(header) = &draft.header {
            let context = header.span.through(header.open_span);
            self.complain_within(header.open_span, context, problems::unclosed_block);
        }
        self.recovery = true;
    }

    /// Adds a complete block to the body around it.
    fn close_block(&mut self, mut draft: Draft, mut parent: Draft, close: Option<Span>) -> Draft {
        self.depth = self.depth.saturating_sub(1);
        let Some(header) = draft.header.take() else { return parent };
        let end = self.previous().end;
        let close_span = close.unwrap_or(Span::empty(end));
        draft.body.span = header.open_span.through(close_span);
        let body = self.add_body(draft.body);
        let Header { block_type, labels, span, open_span, .. } = header;
        parent.body.blocks.push(Block { block_type, labels, body, header_span: span, open_span, close_span });
        if close.is_some() {
            self.end_of_block(span);
        }
        parent
    }

    /// Expects a line end after the closing brace of a block.
    fn end_of_block(&mut self, header: Span) {
        let next = self.peek();
        match next.kind {
            TokenKind::Newline => {
                self.advance();
            }
            TokenKind::End => {}
            _ => {
                self.complain_within(next.span, header.through(next.span), problems::no_newline_after_block);
                self.skip_item();
            }
        }
    }

    /// Parses one attribute or one block. For a block with a body, only the header is parsed.
    fn item(&mut self, draft: &mut Draft) -> Option<Header> {
        let name = self.read();
        match self.peek_kind() {
            TokenKind::Assign => {
                self.attribute(draft, name, false);
                None
            }
            TokenKind::OpenQuote | TokenKind::OpenBrace | TokenKind::Identifier => self.block(draft, name),
            _ => {
                self.report(name.span, problems::lone_name());
                self.skip_item();
                None
            }
        }
    }

    /// Parses `= expression` after a name. `single_line` means that the argument is in a block on one line, so no line
    /// end follows.
    fn attribute(&mut self, draft: &mut Draft, token: SyntaxToken, single_line: bool) {
        let equals_span = self.read().span;
        let expression = self.expression();
        let end = self.previous();
        if self.failed() {
            self.skip_item();
        } else if !single_line {
            let next = self.peek();
            match next.kind {
                TokenKind::Newline => {
                    self.advance();
                }
                TokenKind::End => {}
                kind => {
                    let context = token.span.through(next.span);
                    let problem = match kind {
                        TokenKind::Comma => problems::comma_after_argument,
                        _ => problems::no_newline_after_argument,
                    };
                    self.complain_within(next.span, context, problem);
                    self.skip_item();
                }
            }
        }
        let name = self.name_of(token);
        if let Some(first) = draft.names.get(&name.text) {
            let line = self.source.position(first.start).line;
            self.report(token.span, problems::duplicate_argument(&name.text, line));
            return;
        }
        draft.names.insert(name.text.clone(), token.span);
        let span = token.span.through(end);
        draft.body.attributes.push(Attribute { name, equals_span, expression, span });
    }

    /// Parses labels and opening brace after a name. A block on one line is parsed completely and added.
    fn block(&mut self, draft: &mut Draft, name: SyntaxToken) -> Option<Header> {
        let mut labels = Vec::new();
        let open = loop {
            let next = self.peek();
            match next.kind {
                TokenKind::OpenBrace => break self.advance(),
                TokenKind::OpenQuote => {
                    let (text, span) = self.quoted_literal();
                    labels.push(Label { text, span, quoted: true });
                }
                TokenKind::Identifier => {
                    self.advance();
                    labels.push(Label { text: self.source.slice(next.span).into(), span: next.span, quoted: false });
                }
                _ => {
                    self.broken_header(name.span, next);
                    let span = self.since(name.span);
                    let block = self.bodiless(name, labels, span);
                    draft.body.blocks.push(block);
                    self.skip_item();
                    return None;
                }
            }
        };
        let span = match labels.last() {
            Some(label) => name.span.through(label.span),
            None => name.span,
        };
        let open_span = self.token(open).span;
        let header = Header { block_type: self.name_of(name), labels, span, open, open_span };
        if !self.descend(open_span) {
            self.recover_behind(open);
            self.skip_item();
            return None;
        }
        match self.peek_kind() {
            TokenKind::Newline | TokenKind::End | TokenKind::CloseBrace => Some(header),
            _ => {
                self.single_line_block(draft, header);
                None
            }
        }
    }

    /// Reports a block whose labels are not followed by a brace.
    fn broken_header(&mut self, start: Span, found: SyntaxToken) {
        let context = start.through(found.span);
        match found.kind {
            TokenKind::Assign => self.report_within(found.span, context, problems::labels_of_argument()),
            TokenKind::Newline => self.report_within(found.span, context, problems::newline_before_brace()),
            _ => self.complain_within(found.span, context, problems::no_brace),
        }
    }

    /// Creates a block of which only the header could be parsed.
    fn bodiless(&mut self, name: SyntaxToken, labels: Vec<Label>, span: Span) -> Block {
        let end = Span::empty(span.end);
        let body = self.add_body(Body { span: end, ..Body::default() });
        Block { block_type: self.name_of(name), labels, body, header_span: span, open_span: end, close_span: end }
    }

    /// Parses `{ name = value }` on one line: one argument, followed by the closing brace.
    fn single_line_block(&mut self, parent: &mut Draft, header: Header) {
        let (open, header_span) = (header.open, header.span);
        let mut draft = Draft { header: Some(header), ..Draft::default() };
        self.single_argument(&mut draft);
        let next = self.peek();
        match next.kind {
            TokenKind::CloseBrace => {}
            TokenKind::Comma => self.report(next.span, problems::second_argument_on_line()),
            TokenKind::Newline => self.report(next.span, problems::newline_after_single_argument()),
            TokenKind::End => self.unclosed(&draft),
            _ => self.complain(next.span, problems::more_after_single_argument),
        }
        if next.kind == TokenKind::CloseBrace {
            self.advance();
        } else {
            self.recover_behind(open);
        }
        let close_span = self.previous();
        let Some(header) = draft.header.take() else { return };
        self.depth = self.depth.saturating_sub(1);
        draft.body.span = header.open_span.through(close_span);
        let body = self.add_body(draft.body);
        let Header { block_type, labels, span, open_span, .. } = header;
        parent.body.blocks.push(Block { block_type, labels, body, header_span: span, open_span, close_span });
        self.end_of_block(header_span);
    }

    /// Parses the argument of a block on one line. If there is none, skips the line.
    fn single_argument(&mut self, draft: &mut Draft) {
        let name = self.read();
        if name.kind != TokenKind::Identifier {
            self.report(name.span, problems::no_argument_on_line());
            return self.skip_item();
        }
        let next = self.peek();
        match next.kind {
            TokenKind::Assign => {
                self.attribute(draft, name, true);
            }
            TokenKind::OpenQuote | TokenKind::OpenBrace | TokenKind::Identifier => {
                self.report(name.span.through(next.span), problems::block_on_line());
                self.skip_item();
            }
            _ => {
                self.report(name.span, problems::no_equals_on_line());
                self.skip_item();
            }
        }
    }

    /// Parses a string without template sequences, such as a label. Returns its text and its span. The next token is
    /// the opening quote.
    pub(super) fn quoted_literal(&mut self) -> (SmolStr, Span) {
        let open = self.advance();
        let start = self.token(open).span;
        let mut text = String::new();
        loop {
            let at = self.advance();
            let token = self.token(at);
            let context = start.through(token.span);
            match token.kind {
                TokenKind::CloseQuote => break,
                TokenKind::QuotedText => text.push_str(&self.unescape(token)),
                TokenKind::OpenInterpolation | TokenKind::OpenDirective => {
                    let sign = if token.kind == TokenKind::OpenDirective { '%' } else { '$' };
                    self.report_within(token.span, context, strings::sequence_in_literal(sign));
                    self.recover_behind(at);
                    text.push_str(self.source.slice(self.since(token.span)));
                }
                TokenKind::End => {
                    self.unterminated(start);
                    break;
                }
                _ => {
                    self.report_within(token.span, context, strings::not_in_literal());
                    self.recover_behind(open);
                    break;
                }
            }
        }
        (text.into(), self.since(start))
    }

    /// Reports a string without an end.
    fn unterminated(&mut self, start: Span) {
        let end = self.token(self.tokens.len()).span;
        self.report_within(end, start.through(end), strings::unterminated());
    }

    /// Skips the rest of a broken item, up to the end of the line on which all brackets of the item are closed. A
    /// closing bracket also closes all brackets that were opened after its partner. If it has no partner, it closes all
    /// open brackets.
    fn skip_item(&mut self) {
        self.recovery = true;
        self.newlines = true;
        let mut open: Vec<Family> = Vec::new();
        loop {
            let next = self.read();
            match bracket(next.kind) {
                Some(Bracket::Opens(family)) => open.push(family),
                Some(Bracket::Closes(family)) => while open.pop().is_some_and(|of| of != family) {},
                None if next.kind == TokenKind::End => return,
                None if next.kind == TokenKind::Newline && open.is_empty() => return,
                None => {}
            }
        }
    }
}
