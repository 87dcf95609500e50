//! Access to the tokens: look ahead, consume, skip.

use crate::source::Span;
use crate::token::{SyntaxToken, TokenKind};

use super::Parser;
use super::pairs::{Bracket, Family, bracket};

/// The token that stands for the end of a text without tokens.
const NOTHING: SyntaxToken = SyntaxToken { kind: TokenKind::End, span: Span::empty(0) };

impl Parser<'_> {
    /// Whether a token has no meaning at the current position.
    fn skips(&self, kind: TokenKind) -> bool {
        kind.is_trivia() || (kind == TokenKind::Newline && !self.newlines)
    }

    /// Index of the next token with a meaning, from `at` on.
    fn meaningful(&self, mut at: usize) -> usize {
        while self.tokens.get(at).is_some_and(|token| self.skips(token.kind)) {
            at += 1;
        }
        at
    }

    /// The token at an index. After the last token of the text, an end token.
    pub(super) fn token(&self, at: usize) -> SyntaxToken {
        self.tokens.get(at).or(self.tokens.last()).copied().unwrap_or(NOTHING)
    }

    /// The next token with a meaning.
    pub(super) fn peek(&self) -> SyntaxToken {
        self.token(self.meaningful(self.position))
    }

    /// The kind of the next token with a meaning.
    pub(super) fn peek_kind(&self) -> TokenKind {
        self.peek().kind
    }

    /// Whether the next token is this keyword. Keywords are names that have a meaning only in some positions.
    pub(super) fn peek_word(&self, word: &str) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Identifier && self.source.slice(token.span) == word
    }

    /// Consumes the next significant token, and returns its position.
    pub(super) fn advance(&mut self) -> usize {
        let at = self.meaningful(self.position);
        if at < self.tokens.len() {
            self.position = at + 1;
            self.consumed = at + 1;
        }
        at
    }

    /// Consumes the next token with a meaning.
    pub(super) fn read(&mut self) -> SyntaxToken {
        let at = self.advance();
        self.token(at)
    }

    /// Consumes the next token if it is of this kind.
    pub(super) fn accept(&mut self, kind: TokenKind) -> Option<SyntaxToken> {
        (self.peek_kind() == kind).then(|| self.read())
    }

    /// The last token that was consumed.
    pub(super) fn previous(&self) -> Span {
        match self.consumed.checked_sub(1) {
            Some(at) => self.token(at).span,
            None => self.peek().span,
        }
    }

    /// The span from the start of a token to the end of the last consumed token.
    pub(super) fn since(&self, start: Span) -> Span {
        start.through(self.previous())
    }

    /// Enters recovery, and continues after the next unmatched closing bracket of the same family as the opening
    /// bracket at `open`. If the parser has already passed the partner of `open`, it continues after a bracket of an
    /// outer construct. Brackets of other families do not count, because they are probably unbalanced. If there is no
    /// unmatched closing bracket of the family, the rest of the text is skipped.
    pub(super) fn recover_behind(&mut self, open: usize) {
        let Some(Bracket::Opens(family)) = bracket(self.token(open).kind) else { return self.give_up() };
        self.skip_behind(family);
    }

    /// Enters recovery, and continues after the next unmatched closing bracket of this family. A closing bracket counts
    /// as matched if its opening bracket comes after this point.
    pub(super) fn skip_behind(&mut self, family: Family) {
        self.recovery = true;
        let mut inner = 0usize;
        loop {
            let next = self.read();
            match bracket(next.kind) {
                Some(Bracket::Opens(of)) if of == family => inner += 1,
                Some(Bracket::Closes(of)) if of == family => match inner.checked_sub(1) {
                    Some(outer) => inner = outer,
                    None => return,
                },
                _ if next.kind == TokenKind::End => return,
                _ => {}
            }
        }
    }

    /// Enters recovery, and skips the rest of the text.
    pub(super) fn give_up(&mut self) {
        self.recovery = true;
        while self.read().kind != TokenKind::End {}
    }
}
