//! Tokens that are invalid everywhere in the language.

use weft_graph_format::diagnostic::Diagnostic;

use crate::source::SourceFile;
use crate::token::{Token, TokenKind};

/// Bitwise operators after these are not reported: a text that is full of them is not of this language.
const MAX_BITWISE_REPORTS: usize = 4;

/// One error for each invalid token, in order. Tokens that often come in pairs or groups are reported once: backticks
/// and apostrophes at the first and the third, semicolons at the first.
pub(crate) fn check(source: &SourceFile, tokens: &[Token]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let (mut bitwise, mut backticks, mut apostrophes, mut semicolons) = (0, 0, 0, 0);
    for token in tokens {
        let text = source.slice(token.span);
        let (summary, detail) = match token.kind {
            TokenKind::BitwiseOperator => {
                bitwise += 1;
                if bitwise > MAX_BITWISE_REPORTS {
                    continue;
                }
                let meant = match text {
                    "&" => " For a boolean AND write \"&&\".",
                    "|" => " For a boolean OR write \"||\".",
                    "~" => " For a boolean NOT write \"!\".",
                    _ => "",
                };
                ("Unsupported operator", format!("The language has no bitwise operators.{meant}"))
            }
            TokenKind::QuotedNewline => (
                "Invalid multi-line string",
                "A quoted string ends on the line it begins on. Write \\n for a line break in it, or use a heredoc \
                 (<<EOT) for text of several lines."
                    .to_owned(),
            ),
            TokenKind::Invalid => {
                let detail = match text {
                    "`" => {
                        backticks += 1;
                        if backticks != 1 && backticks != 3 {
                            continue;
                        }
                        "The character \"`\" has no meaning here. For text of several lines use a heredoc (<<EOT)."
                    }
                    "'" => {
                        apostrophes += 1;
                        if apostrophes != 1 && apostrophes != 3 {
                            continue;
                        }
                        "Single quotes have no meaning here. Strings are written between double quotes (\")."
                    }
                    ";" => {
                        semicolons += 1;
                        if semicolons > 1 {
                            continue;
                        }
                        "The character \";\" has no meaning here. Arguments and blocks are separated by line breaks, \
                         items of collections by commas."
                    }
                    "\u{201c}" | "\u{201d}" => {
                        "Curly quotes have no meaning here; they often come with text copied from a document. \
                         Strings are written between straight quotes (\")."
                    }
                    _ => "This character has no meaning in the language.",
                };
                ("Invalid character", detail.to_owned())
            }
            _ => continue,
        };
        found.push(Diagnostic::error(summary, detail).at(source.range(token.span)));
    }
    found
}
