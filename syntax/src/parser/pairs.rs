//! Which bracket closes which, in a text where some may be missing.

use crate::source::offset;
use crate::token::{Token, TokenKind};

/// Number of bracket families.
const FAMILIES: usize = 6;

/// What a token does to the nesting of brackets.
enum Bracket {
    Opens(usize),
    Closes(usize),
}

/// The family of a bracket, and whether it opens or closes.
fn bracket(kind: TokenKind) -> Option<Bracket> {
    Some(match kind {
        TokenKind::OpenBrace => Bracket::Opens(0),
        TokenKind::CloseBrace => Bracket::Closes(0),
        TokenKind::OpenBracket => Bracket::Opens(1),
        TokenKind::CloseBracket => Bracket::Closes(1),
        TokenKind::OpenParenthesis => Bracket::Opens(2),
        TokenKind::CloseParenthesis => Bracket::Closes(2),
        TokenKind::OpenQuote => Bracket::Opens(3),
        TokenKind::CloseQuote => Bracket::Closes(3),
        TokenKind::OpenHeredoc => Bracket::Opens(4),
        TokenKind::CloseHeredoc => Bracket::Closes(4),
        TokenKind::OpenInterpolation | TokenKind::OpenDirective => Bracket::Opens(5),
        TokenKind::CloseSequence => Bracket::Closes(5),
        _ => return None,
    })
}

/// For each token the index of its partner; a token that has none is its own.
///
/// A closing bracket belongs to the innermost open one of its family; those inside of that are left without partner.
/// Linear: each opening bracket is put on the stack once and taken off once.
pub(super) fn pair(tokens: &[Token]) -> Vec<u32> {
    let mut partners: Vec<u32> = (0..tokens.len()).map(offset).collect();
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut counts = [0usize; FAMILIES];
    for (at, token) in tokens.iter().enumerate() {
        match bracket(token.kind) {
            Some(Bracket::Opens(family)) => {
                open.push((at, family));
                counts[family] += 1;
            }
            Some(Bracket::Closes(family)) if counts[family] > 0 => {
                while let Some((opener, of)) = open.pop() {
                    counts[of] -= 1;
                    if of == family {
                        partners[opener] = offset(at);
                        partners[at] = offset(opener);
                        break;
                    }
                }
            }
            Some(Bracket::Closes(_)) | None => {}
        }
    }
    partners
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::{Start, lex};

    #[test]
    fn missing_brackets_leave_the_others_paired() {
        let tokens = lex("a{[(}])", Start::File);
        let partners = pair(&tokens);
        assert_eq!(partners, [0, 4, 2, 3, 1, 5, 6, 7]);
    }
}
