//! Pairs of brackets.

use crate::token::TokenKind;

/// The effect of a token on the nesting of brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bracket {
    Opens(Family),
    Closes(Family),
}

/// A kind of bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Brace,
    Bracket,
    Parenthesis,
    Quote,
    Heredoc,
    Sequence,
}

/// The family of a bracket, and whether it opens or closes; `None` for other tokens.
pub(super) fn bracket(kind: TokenKind) -> Option<Bracket> {
    Some(match kind {
        TokenKind::OpenBrace => Bracket::Opens(Family::Brace),
        TokenKind::CloseBrace => Bracket::Closes(Family::Brace),
        TokenKind::OpenBracket => Bracket::Opens(Family::Bracket),
        TokenKind::CloseBracket => Bracket::Closes(Family::Bracket),
        TokenKind::OpenParenthesis => Bracket::Opens(Family::Parenthesis),
        TokenKind::CloseParenthesis => Bracket::Closes(Family::Parenthesis),
        TokenKind::OpenQuote => Bracket::Opens(Family::Quote),
        TokenKind::CloseQuote => Bracket::Closes(Family::Quote),
        TokenKind::OpenHeredoc => Bracket::Opens(Family::Heredoc),
        TokenKind::CloseHeredoc => Bracket::Closes(Family::Heredoc),
        TokenKind::OpenInterpolation | TokenKind::OpenDirective => Bracket::Opens(Family::Sequence),
        TokenKind::CloseSequence => Bracket::Closes(Family::Sequence),
        _ => return None,
    })
}
