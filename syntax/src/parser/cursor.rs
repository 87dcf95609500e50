//! Going through the tokens.

use crate::source::Span;
use crate::token::{Token, TokenKind};

use super::{Parser, pairs};

/// What is read behind the end of the tokens.
const NOTHING: Token = Token { kind: TokenKind::End, span: Span::empty(0) };

impl Parser<'_> {
    /// Whether a token has no meaning where the parser is.
    fn skips(&self, kind: TokenKind) -> bool {
        kind.is_trivia() || (kind == TokenKind::Newline && !self.newlines)
    }

    /// Index of the next token that means something, from `at` on.
    fn meaningful(&self, mut at: usize) -> usize {
        while self.tokens.get(at).is_some_and(|token| self.skips(token.kind)) {
            at += 1;
        }
        at
    }

    /// The token of an index; the end token for those behind it.
    pub(super) fn token(&self, at: usize) -> Token {
        self.tokens.get(at).or(self.tokens.last()).copied().unwrap_or(NOTHING)
    }

    /// The next token that means something.
    pub(super) fn peek(&self) -> Token {
        self.token(self.meaningful(self.position))
    }

    /// The token behind the next one.
    pub(super) fn peek_second(&self) -> Token {
        self.token(self.meaningful(self.meaningful(self.position) + 1))
    }

    /// The kind of the next token.
    pub(super) fn peek_kind(&self) -> TokenKind {
        self.peek().kind
    }

    /// Whether the next token is this keyword. Keywords are names with a meaning in some places only.
    pub(super) fn peek_word(&self, word: &str) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Identifier && self.source.slice(token.span) == word
    }

    /// Consumes the next token that means something, and says where it is.
    pub(super) fn advance(&mut self) -> usize {
        let at = self.meaningful(self.position);
        if at < self.tokens.len() {
            self.position = at + 1;
            self.consumed = at + 1;
        }
        at
    }

    /// Consumes the next token that means something.
    pub(super) fn read(&mut self) -> Token {
        let at = self.advance();
        self.token(at)
    }

    /// Consumes the next token if it is of this kind.
    pub(super) fn accept(&mut self, kind: TokenKind) -> Option<Token> {
        (self.peek_kind() == kind).then(|| self.read())
    }

    /// The last token that was consumed.
    pub(super) fn previous(&self) -> Span {
        match self.consumed.checked_sub(1) {
            Some(at) => self.token(at).span,
            None => self.peek().span,
        }
    }

    /// From the beginning of a token to the end of the last one that was consumed.
    pub(super) fn since(&self, start: Span) -> Span {
        start.through(self.previous())
    }

    /// The closing bracket of the bracket at `open`, if it has one that has not been passed yet.
    pub(super) fn closing(&mut self, open: usize) -> Option<usize> {
        let tokens = self.tokens;
        let pairs = self.pairs.get_or_insert_with(|| pairs::pair(tokens));
        let close = pairs.get(open).map(|close| *close as usize).filter(|close| *close > open)?;
        (close >= self.position).then_some(close)
    }

    /// Goes into recovery and behind the closing bracket of the bracket at `open`. Without one the parser stays
    /// where it is.
    pub(super) fn recover_behind(&mut self, open: usize) {
        self.recovery = true;
        if let Some(close) = self.closing(open) {
            self.position = close + 1;
            self.consumed = close + 1;
        }
    }
}
