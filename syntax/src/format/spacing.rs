//! Blanks between two tokens of a line.

use crate::token::TokenKind;

use super::Piece;

/// How a token changes the number of open brackets. Quotes do not count.
pub(super) fn bracket_change(kind: TokenKind) -> isize {
    match kind {
        TokenKind::OpenBrace
        | TokenKind::OpenBracket
        | TokenKind::OpenParenthesis
        | TokenKind::OpenInterpolation
        | TokenKind::OpenDirective => 1,
        TokenKind::CloseBrace | TokenKind::CloseBracket | TokenKind::CloseParenthesis | TokenKind::CloseSequence => -1,
        _ => 0,
    }
}

/// Whether a minus after this token is a sign.
fn precedes_sign(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::OpenParenthesis
            | TokenKind::OpenBrace
            | TokenKind::OpenBracket
            | TokenKind::Assign
            | TokenKind::Colon
            | TokenKind::Comma
            | TokenKind::Question
            | TokenKind::Plus
            | TokenKind::Star
            | TokenKind::Slash
            | TokenKind::Percent
            | TokenKind::Minus
            | TokenKind::Equal
            | TokenKind::NotEqual
            | TokenKind::Greater
            | TokenKind::GreaterOrEqual
            | TokenKind::Less
            | TokenKind::LessOrEqual
            | TokenKind::And
            | TokenKind::Or
            | TokenKind::Not
    )
}

/// Whether a blank separates `left` and `right`. `before` is the token before `left` on the line.
pub(super) fn is_spaced(before: Option<&Piece<'_>>, left: &Piece<'_>, right: &Piece<'_>) -> bool {
    use TokenKind::*;
    match (left.kind, right.kind) {
        (Identifier, OpenParenthesis | DoubleColon) | (DoubleColon, Identifier) => false,
        (Dot, _) | (_, Dot | Comma | Ellipsis) => false,
        (Comma, _) => true,
        // Blanks in templates are text.
        (QuotedText | TemplateText | OpenQuote | OpenHeredoc, _)
        | (_, QuotedText | TemplateText | CloseQuote | CloseHeredoc) => false,
        // Before a tuple, `in` is the keyword of a `for`, not the name of an indexed collection.
        (Identifier, _) if left.text == "in" && before.is_some_and(|before| before.kind == Identifier) => true,
        (Identifier | Number, OpenBracket) => false,
        (kind, OpenBracket) if bracket_change(kind) < 0 => false,
        (Not, _) => false,
        (Minus, _) => before.is_some_and(|before| !precedes_sign(before.kind)),
        (OpenBrace, CloseBrace) => false,
        (OpenBrace, _) | (_, CloseBrace) => true,
        (OpenInterpolation | OpenDirective, OpenBrace) | (CloseBrace, CloseSequence) => true,
        (CloseSequence, OpenInterpolation | OpenDirective) => false,
        (left, right) => bracket_change(left) <= 0 && bracket_change(right) >= 0,
    }
}
