//! Escapes in the text of strings.

use crate::problems::strings as problems;
use crate::source::{Span, offset};
use crate::token::{SyntaxToken, TokenKind};

use super::Parser;

impl Parser<'_> {
    /// The text of a token. Backslashes are escapes only between quotes; `$${` and `%%{` are escapes everywhere.
    pub(super) fn unescape(&mut self, token: SyntaxToken) -> String {
        let quoted = token.kind == TokenKind::QuotedText;
        let source = self.source;
        let text = source.slice(token.span);
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['\\', '$', '%']) {
            let (before, found) = rest.split_at(at);
            result.push_str(before);
            let start = token.span.start + offset(text.len() - found.len());
            let length = if found.starts_with('\\') {
                if quoted { self.backslash(found, start, &mut result) } else { copy(found, 1, &mut result) }
            } else if found.starts_with("$${") {
                result.push_str("${");
                3
            } else if found.starts_with("%%{") {
                result.push_str("%{");
                3
            } else {
                copy(found, 1, &mut result)
            };
            rest = found.get(length..).unwrap_or_default();
        }
        result.push_str(rest);
        result
    }

    /// Resolves an escape that begins with a backslash. Returns its length.
    fn backslash(&mut self, text: &str, start: u32, result: &mut String) -> usize {
        let Some(selector) = text.chars().nth(1) else {
            self.report(Span::new(start, start + 1), problems::lone_backslash());
            return copy(text, 1, result);
        };
        let simple = match selector {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '"' => '"',
            '\\' => '\\',
            'u' => return self.unicode(text, 4, start, result),
            'U' => return self.unicode(text, 8, start, result),
            other => {
                let length = 1 + other.len_utf8();
                self.report(Span::new(start, start + offset(length)), problems::unknown_escape(other));
                result.push(other);
                return length;
            }
        };
        result.push(simple);
        2
    }

    /// Resolves `\u` or `\U` followed by `digits` hexadecimal digits. Returns the length of the escape.
    fn unicode(&mut self, text: &str, digits: usize, start: u32, result: &mut String) -> usize {
        let given = text.bytes().skip(2).take(digits).take_while(u8::is_ascii_hexdigit).count();
        let length = 2 + given;
        let span = Span::new(start, start + offset(length));
        let written = text.get(2..length).unwrap_or_default();
        if given < digits {
            let escape = text.get(..2).unwrap_or_default();
            self.report(span, problems::too_few_digits(escape, digits, given));
            return copy(text, length, result);
        }
        match u32::from_str_radix(written, 16).ok().and_then(char::from_u32) {
            Some(character) => {
                result.push(character);
                length
            }
            None => {
                self.report(span, problems::no_character(written));
                copy(text, length, result)
            }
        }
    }
}

/// Copies text unchanged. Returns its length.
fn copy(text: &str, length: usize, result: &mut String) -> usize {
    result.push_str(text.get(..length).unwrap_or_default());
    length
}
