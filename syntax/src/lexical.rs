//! Tokens that are invalid everywhere in the language.

use weft_graph_format::diagnostic::Diagnostic;

use crate::problems::text as problems;
use crate::source::SourceFile;
use crate::token::{SyntaxToken, TokenKind};

/// The maximum number of reports about bitwise operators. A text with more bitwise operators is probably not in this
/// language.
const MAX_BITWISE_REPORTS: usize = 4;

/// Returns the errors of invalid tokens, in order. Tokens that often come in pairs or groups are reported less often:
/// only the first and the third backtick and apostrophe, only the first semicolon, and only the first
/// [`MAX_BITWISE_REPORTS`] bitwise operators.
pub(crate) fn check(source: &SourceFile, tokens: &[SyntaxToken]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let (mut bitwise, mut backticks, mut apostrophes, mut semicolons) = (0, 0, 0, 0);
    for token in tokens {
        let text = source.slice(token.span);
        let problem = match token.kind {
            TokenKind::BitwiseOperator => {
                bitwise += 1;
                if bitwise > MAX_BITWISE_REPORTS {
                    continue;
                }
                problems::bitwise_operator(text)
            }
            TokenKind::QuotedNewline => problems::quoted_newline(),
            TokenKind::Invalid => {
                let counted = match text {
                    "`" => Some((&mut backticks, [1, 3])),
                    "'" => Some((&mut apostrophes, [1, 3])),
                    ";" => Some((&mut semicolons, [1, 1])),
                    _ => None,
                };
                if let Some((count, reported)) = counted {
                    *count += 1;
                    if !reported.contains(count) {
                        continue;
                    }
                }
                problems::invalid_character(text)
            }
            _ => continue,
        };
        found.push(problem.at(source.range(token.span)));
    }
    found
}
