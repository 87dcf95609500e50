//! JSON text to tokens, one at a time.
//!
//! The scanner accepts more than JSON: anything like a number, a string or a keyword is one token, and the parser
//! reports its problems. A character that begins no other token is a [`JsonToken::Invalid`], and the text after it is
//! ignored.

use crate::source::{Span, offset};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonToken {
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `,`
    Comma,
    /// `:`
    Colon,
    /// `=`, which some languages use in place of the colon.
    Equals,
    /// From a quote to the next unescaped quote, or to the end of the line.
    String,
    /// Digits, signs, dots and exponents in any order.
    Number,
    /// Letters.
    Keyword,
    /// Anything else.
    Invalid,
    /// The end of the text; empty.
    End,
}

/// The state of the scanner.
pub(super) struct Scanner<'text> {
    text: &'text str,
    at: usize,
    /// The next token.
    next: (JsonToken, Span),
}

impl<'text> Scanner<'text> {
    /// Creates a scanner at the start of a text. Skips a byte order mark.
    pub(super) fn new(text: &'text str) -> Scanner<'text> {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut scanner = Scanner { text, at, next: (JsonToken::End, Span::empty(0)) };
        scanner.next = scanner.scan();
        scanner
    }

    /// The next token.
    pub(super) fn peek(&self) -> JsonToken {
        self.next.0
    }

    /// The span of the next token.
    pub(super) fn place(&self) -> Span {
        self.next.1
    }

    /// Consumes the next token. The end can be consumed repeatedly.
    pub(super) fn take(&mut self) -> (JsonToken, Span) {
        let taken = self.next;
        if taken.0 != JsonToken::End {
            self.next = self.scan();
        }
        taken
    }

    fn scan(&mut self) -> (JsonToken, Span) {
        let bytes = self.text.as_bytes();
        let rest = |from: usize| bytes.get(from..).unwrap_or_default();
        self.at += rest(self.at).iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        let here = rest(self.at);
        let (kind, length) = match here.first() {
            None => (JsonToken::End, 0),
            Some(b'{') => (JsonToken::OpenBrace, 1),
            Some(b'}') => (JsonToken::CloseBrace, 1),
            Some(b'[') => (JsonToken::OpenBracket, 1),
            Some(b']') => (JsonToken::CloseBracket, 1),
            Some(b',') => (JsonToken::Comma, 1),
            Some(b':') => (JsonToken::Colon, 1),
            Some(b'=') => (JsonToken::Equals, 1),
            Some(b'"') => (JsonToken::String, string_length(here)),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => {
                let part = |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'0'..=b'9' | b'e' | b'E');
                (JsonToken::Number, here.iter().take_while(part).count())
            }
            Some(b'a'..=b'z' | b'A'..=b'Z') => {
                let part = |byte: &&u8| byte.is_ascii_alphabetic() || **byte == b'_';
                (JsonToken::Keyword, here.iter().take_while(part).count())
            }
            Some(_) => {
                let length = self.text.get(self.at..).and_then(|text| text.chars().next()).map_or(1, char::len_utf8);
                (JsonToken::Invalid, length)
            }
        };
        let start = self.at;
        self.at = start + length;
        if kind == JsonToken::Invalid {
            // The text after an unknown character has no meaning.
            self.text = self.text.get(..self.at).unwrap_or_default();
        }
        (kind, Span::new(offset(start), offset(start + length)))
    }
}

/// The length of a string with its quotes. Without a closing quote, the string ends before the first control character.
fn string_length(bytes: &[u8]) -> usize {
    let mut escaping = false;
    for (at, byte) in bytes.iter().enumerate().skip(1) {
        match byte {
            b'"' if !escaping => return at + 1,
            0..=31 => return at,
            b'\\' => escaping = !escaping,
            _ => escaping = false,
        }
    }
    bytes.len()
}
