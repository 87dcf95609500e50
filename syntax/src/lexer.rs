//! Splits text into tokens.
//!
//! Invariants: the tokens cover the text without gaps or overlaps, and the last token is [`TokenKind::End`]. The
//! meaning of a character depends on its context (outside, in a string, in a heredoc, in an interpolation), so the
//! lexer keeps a stack of modes on the heap. The lexer never looks back. It reads each byte a bounded number of times.

use crate::source::{Span, offset};
use crate::token::{SyntaxToken, TokenKind};

/// The kind of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A file.
    File,
    /// A single expression. The closing tag of a heredoc may be the last token of the text.
    Expression,
    /// A whole text that is one template.
    Template,
}

/// The context of the text at the current position.
#[derive(Debug)]
enum Mode<'text> {
    /// Code inside `${ }` or `%{ }`, with the number of braces that are open in it.
    Sequence { braces: u32 },
    /// Text between quotes.
    Quoted,
    /// Text of a heredoc. `line_start` is true if nothing of the current line has been read.
    Heredoc { tag: &'text str, line_start: bool },
}

struct Lexer<'text> {
    text: &'text str,
    at: usize,
    tokens: Vec<SyntaxToken>,
    modes: Vec<Mode<'text>>,
    start: Start,
    /// Whether the rest of the text has no `*/`. Keeps a failed search from being repeated.
    comments_done: bool,
}

/// Splits a text into tokens.
pub(crate) fn lex(text: &str, start: Start) -> Vec<SyntaxToken> {
    let tokens = Vec::with_capacity(text.len() / 4);
    let mut lexer = Lexer { text, at: 0, tokens, modes: Vec::new(), start, comments_done: false };
    if text.starts_with('\u{feff}') {
        lexer.take('\u{feff}'.len_utf8(), TokenKind::ByteOrderMark);
    }
    while lexer.at < text.len() {
        match lexer.modes.last() {
            None if start == Start::Template => lexer.template_text(),
            None | Some(Mode::Sequence { .. }) => lexer.code(),
            Some(Mode::Quoted) => lexer.quoted(),
            Some(Mode::Heredoc { tag, line_start }) => {
                let (tag, line_start) = (*tag, *line_start);
                lexer.heredoc(tag, line_start);
            }
        }
    }
    lexer.take(0, TokenKind::End);
    lexer.tokens.shrink_to_fit();
    lexer.tokens
}

/// Whether a character can begin a name.
pub(crate) fn begins_name(character: char) -> bool {
    character == '_' || unicode_ident::is_xid_start(character)
}

/// Whether a name can contain this character after its first character.
pub(crate) fn continues_name(character: char) -> bool {
    character == '-' || unicode_ident::is_xid_continue(character)
}

/// Whether a text is a valid name of the language.
pub fn is_identifier(text: &str) -> bool {
    text.starts_with(begins_name) && text.chars().all(continues_name)
}

/// The length of the name at the start of a text; 0 if there is none.
fn name_length(text: &str) -> usize {
    if !text.starts_with(begins_name) {
        return 0;
    }
    text.find(|character| !continues_name(character)).unwrap_or(text.len())
}

/// The length of the number at the start of a text.
///
/// Digits, dots and exponents in any order form one token, so that `1.2.3` is one malformed number. A final dot is
/// excluded, because a name may follow it.
fn number_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    let mut end = 0;
    loop {
        match bytes.get(at) {
            Some(byte) if byte.is_ascii_digit() => {
                at += 1;
                end = at;
            }
            Some(b'.') if at > 0 => at += 1,
            Some(b'e' | b'E') if at > 0 => {
                let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
                if !bytes.get(at + 1 + sign).is_some_and(u8::is_ascii_digit) {
                    return end;
                }
                at += 2 + sign;
                end = at;
            }
            _ => return end,
        }
    }
}

/// The length of the line end at the start of `bytes`; 0 if there is none.
fn newline_length(bytes: &[u8]) -> usize {
    match bytes {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        _ => 0,
    }
}

impl<'text> Lexer<'text> {
    fn rest(&self) -> &'text str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Adds the next `length` bytes as a token.
    fn take(&mut self, length: usize, kind: TokenKind) {
        let end = self.at + length;
        self.tokens.push(SyntaxToken { kind, span: Span::new(offset(self.at), offset(end)) });
        self.at = end;
    }

    /// Reads one token of code.
    fn code(&mut self) {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let Some(&first) = bytes.first() else { return };
        let second = bytes.get(1).copied();
        let (length, kind) = match first {
            b' ' | b'\t' => {
                let blank = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                (blank, TokenKind::Blank)
            }
            b'\n' => (1, TokenKind::Newline),
            b'\r' if second == Some(b'\n') => (2, TokenKind::Newline),
            b'0'..=b'9' => (number_length(bytes), TokenKind::Number),
            b'#' => (line_length(bytes), TokenKind::LineComment),
            b'/' if second == Some(b'/') => (line_length(bytes), TokenKind::LineComment),
            b'/' if second == Some(b'*') => match self.comment_length(rest) {
                Some(length) => (length, TokenKind::BlockComment),
                None => (1, TokenKind::Slash),
            },
            b'"' => {
                self.take(1, TokenKind::OpenQuote);
                self.modes.push(Mode::Quoted);
                return;
            }
            b'<' if second == Some(b'<') && self.open_heredoc(rest) => return,
            b'{' => {
                if let Some(Mode::Sequence { braces }) = self.modes.last_mut() {
                    *braces += 1;
                }
                (1, TokenKind::OpenBrace)
            }
            b'}' => return self.close_brace(1, TokenKind::CloseBrace),
            b'~' if second == Some(b'}') => return self.close_brace(2, TokenKind::CloseSequence),
            _ => match symbol(bytes) {
                Some(found) => found,
                None => match name_length(rest) {
                    0 => (rest.chars().next().map_or(1, char::len_utf8), TokenKind::Invalid),
                    length => (length, TokenKind::Identifier),
                },
            },
        };
        self.take(length, kind);
    }

    /// The length of a block comment. `None` if the comment has no end: the slash is then a token by itself.
    fn comment_length(&mut self, rest: &str) -> Option<usize> {
        if self.comments_done {
            return None;
        }
        let end = rest.get(2..)?.find("*/");
        self.comments_done = end.is_none();
        end.map(|at| at + 4)
    }

    /// Adds a closing brace: as the end of the innermost sequence, or as `otherwise`.
    fn close_brace(&mut self, length: usize, otherwise: TokenKind) {
        let mut kind = otherwise;
        match self.modes.last_mut() {
            Some(Mode::Sequence { braces: 0 }) => {
                self.modes.pop();
                kind = TokenKind::CloseSequence;
            }
            Some(Mode::Sequence { braces }) => *braces -= 1,
            _ => {}
        }
        self.take(length, kind);
    }

    /// Reads `<<TAG` with its line end, if it comes next. Returns whether a heredoc was opened.
    fn open_heredoc(&mut self, rest: &'text str) -> bool {
        let marker = if rest.starts_with("<<-") { 3 } else { 2 };
        let Some(after) = rest.get(marker..) else { return false };
        let length = name_length(after);
        let (tag, behind) = after.split_at(length);
        let newline = newline_length(behind.as_bytes());
        if length == 0 || newline == 0 {
            return false;
        }
        self.take(marker + length + newline, TokenKind::OpenHeredoc);
        self.modes.push(Mode::Heredoc { tag, line_start: true });
        true
    }

    /// Reads `${` or `%{`, if one of them comes next. Returns whether a sequence was opened.
    fn open_sequence(&mut self, bytes: &[u8]) -> bool {
        let kind = match bytes {
            [b'$', b'{', ..] => TokenKind::OpenInterpolation,
            [b'%', b'{', ..] => TokenKind::OpenDirective,
            _ => return false,
        };
        self.take(2 + usize::from(bytes.get(2) == Some(&b'~')), kind);
        if let Some(Mode::Heredoc { line_start, .. }) = self.modes.last_mut() {
            *line_start = false;
        }
        self.modes.push(Mode::Sequence { braces: 0 });
        true
    }

    /// Reads one token between quotes.
    fn quoted(&mut self) {
        let bytes = self.rest().as_bytes();
        if self.open_sequence(bytes) {
            return;
        }
        match bytes.first() {
            Some(b'"') => {
                self.take(1, TokenKind::CloseQuote);
                self.modes.pop();
                return;
            }
            Some(b'\r' | b'\n') => {
                let length = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
                return self.take(length, TokenKind::QuotedNewline);
            }
            _ => {}
        }
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' | b'\r' | b'\n' => break,
                b'\\' => match bytes.get(at + 1) {
                    None | Some(b'\r' | b'\n') => break,
                    Some(_) => at += 2,
                },
                b'$' | b'%' => match text_of_marker(bytes, at) {
                    0 => break,
                    length => at += length,
                },
                _ => at += 1,
            }
        }
        // The character after a backslash may have several bytes.
        while !self.text.is_char_boundary(self.at + at) {
            at += 1;
        }
        match at {
            0 => self.take(1, TokenKind::Invalid),
            _ => self.take(at, TokenKind::QuotedText),
        }
    }

    /// Reads one token of a heredoc: text, at most to the end of the line, or the line that closes the heredoc.
    fn heredoc(&mut self, tag: &str, line_start: bool) {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        if self.open_sequence(bytes) {
            return;
        }
        let (length, newline) = template_line(bytes);
        let whole = length + newline;
        if whole == 0 {
            // Only two cases reach this point: a carriage return that ends no line, or a marker at the end of the text.
            self.modes.clear();
            return self.take(bytes.len(), TokenKind::Invalid);
        }
        let line = rest.get(..length).unwrap_or_default();
        let ends_line = newline > 0 || (self.start == Start::Expression && length == bytes.len());
        if line_start && ends_line && line.trim() == tag {
            self.take(length, TokenKind::CloseHeredoc);
            self.modes.pop();
            // The line end belongs to the code around the heredoc.
            return;
        }
        self.take(whole, TokenKind::TemplateText);
        if let Some(Mode::Heredoc { line_start, .. }) = self.modes.last_mut() {
            *line_start = newline > 0;
        }
    }

    /// Reads one token of a text that is one template.
    fn template_text(&mut self) {
        debug_assert_eq!(self.start, Start::Template);
        let bytes = self.rest().as_bytes();
        if self.open_sequence(bytes) {
            return;
        }
        let (length, newline) = template_line(bytes);
        match length + newline {
            0 => self.take(bytes.len(), TokenKind::TemplateText),
            whole => self.take(whole, TokenKind::TemplateText),
        }
    }
}

/// The length of the text up to the end of the line or up to a sequence, and the length of the line end.
fn template_line(bytes: &[u8]) -> (usize, usize) {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' => return (at, 1),
            b'\r' => return (at, newline_length(bytes.get(at..).unwrap_or_default())),
            b'$' | b'%' => match text_of_marker(bytes, at) {
                0 => return (at, 0),
                length => at += length,
            },
            _ => at += 1,
        }
    }
    (at, 0)
}

/// The number of bytes of literal text that the `$` or `%` at `at` begins: 3 for an escape such as `$${`, and 1 for a
/// single sign. 0 if a template sequence begins there, or if the text ends after the sign.
fn text_of_marker(bytes: &[u8], at: usize) -> usize {
    let marker = bytes.get(at);
    match (bytes.get(at + 1), bytes.get(at + 2)) {
        (None, _) | (Some(b'{'), _) => 0,
        (next, Some(b'{')) if next == marker => 3,
        _ => 1,
    }
}

/// The length of a line without its line end.
fn line_length(bytes: &[u8]) -> usize {
    let length = bytes.iter().position(|byte| *byte == b'\n');
    match length {
        Some(at) if at > 0 && bytes.get(at - 1) == Some(&b'\r') => at - 1,
        Some(at) => at,
        None => bytes.len(),
    }
}

/// The symbol at the start of `bytes`, with its length.
fn symbol(bytes: &[u8]) -> Option<(usize, TokenKind)> {
    Some(match bytes {
        [b'.', b'.', b'.', ..] => (3, TokenKind::Ellipsis),
        [b'=', b'=', ..] => (2, TokenKind::Equal),
        [b'!', b'=', ..] => (2, TokenKind::NotEqual),
        [b'>', b'=', ..] => (2, TokenKind::GreaterOrEqual),
        [b'<', b'=', ..] => (2, TokenKind::LessOrEqual),
        [b'&', b'&', ..] => (2, TokenKind::And),
        [b'|', b'|', ..] => (2, TokenKind::Or),
        [b':', b':', ..] => (2, TokenKind::DoubleColon),
        [b'=', b'>', ..] => (2, TokenKind::Arrow),
        [b'[', ..] => (1, TokenKind::OpenBracket),
        [b']', ..] => (1, TokenKind::CloseBracket),
        [b'(', ..] => (1, TokenKind::OpenParenthesis),
        [b')', ..] => (1, TokenKind::CloseParenthesis),
        [b'*', ..] => (1, TokenKind::Star),
        [b'/', ..] => (1, TokenKind::Slash),
        [b'%', ..] => (1, TokenKind::Percent),
        [b'+', ..] => (1, TokenKind::Plus),
        [b'-', ..] => (1, TokenKind::Minus),
        [b'=', ..] => (1, TokenKind::Assign),
        [b'<', ..] => (1, TokenKind::Less),
        [b'>', ..] => (1, TokenKind::Greater),
        [b'!', ..] => (1, TokenKind::Not),
        [b'.', ..] => (1, TokenKind::Dot),
        [b',', ..] => (1, TokenKind::Comma),
        [b'?', ..] => (1, TokenKind::Question),
        [b':', ..] => (1, TokenKind::Colon),
        [b'&' | b'|' | b'^' | b'~', ..] => (1, TokenKind::BitwiseOperator),
        _ => return None,
    })
}
