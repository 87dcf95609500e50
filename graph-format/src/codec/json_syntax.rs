//! Parses JSON text into a tree. Numbers keep their digits.
//!
//! The parser accepts what Go's `encoding/json` accepts, with the same error messages. However, the text must be UTF-8,
//! and its length and depth are limited. An escaped surrogate without its partner becomes U+FFFD. Control characters in
//! strings and a byte order mark are errors.

use std::fmt::Write;

use super::{DecodeError, DecodeProblem, MAX_DEPTH, MAX_INPUT_LENGTH};
use crate::path::Path;

/// A parsed document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json<'a> {
    Null,
    Bool(bool),
    /// The digits as written.
    Number(&'a str),
    String(String),
    Array(Vec<Json<'a>>),
    /// The entries in the order written, including duplicates.
    Object(Vec<(String, Json<'a>)>),
}

/// Why a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// The input is empty or white space.
    #[error("EOF")]
    Empty,
    /// The input ends too early.
    #[error("unexpected EOF")]
    UnexpectedEnd,
    /// An unexpected character.
    #[error("invalid character {} {context}", quoted(*character))]
    Character {
        /// The character.
        character: char,
        /// The expected syntax.
        context: &'static str,
    },
    /// Something follows the end of the document.
    #[error("extraneous data after JSON object")]
    Trailing,
}

fn quoted(character: char) -> String {
    match character {
        '\'' => "'\\''".into(),
        '"' => "'\"'".into(),
        other => format!("'{}'", other.escape_default()),
    }
}

/// Reads a whole document.
pub(super) fn parse(text: &[u8]) -> Result<Json<'_>, DecodeError> {
    parse_document(text).map_err(|problem| DecodeError { path: Path::ROOT, problem })
}

fn parse_document(text: &[u8]) -> Result<Json<'_>, DecodeProblem> {
    if text.len() > MAX_INPUT_LENGTH {
        return Err(DecodeProblem::TooLong);
    }
    let text = std::str::from_utf8(text).map_err(|_| DecodeProblem::NotUtf8)?;
    let mut parser = Parser { text, at: 0, depth: 0 };
    parser.skip_space();
    if parser.peek().is_none() {
        return Err(SyntaxError::Empty.into());
    }
    let json = parser.value()?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(json),
        Some(_) => Err(SyntaxError::Trailing.into()),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

const BEGINNING: &str = "looking for beginning of value";
const IN_STRING: &str = "in string literal";

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The error for the character at the current position.
    fn unexpected(&self, context: &'static str) -> DecodeProblem {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(character) => SyntaxError::Character { character, context }.into(),
            None => SyntaxError::UnexpectedEnd.into(),
        }
    }

    fn value(&mut self) -> Result<Json<'a>, DecodeProblem> {
        self.skip_space();
        match self.peek() {
            Some(b'n') => self.word("null", Json::Null),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'[') => self.nested(Self::array),
            Some(b'{') => self.nested(Self::object),
            _ => Err(self.unexpected(BEGINNING)),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Json<'a>, DecodeProblem>) -> Result<Json<'a>, DecodeProblem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(DecodeProblem::TooDeep);
        }
        self.at += 1;
        let json = read(self)?;
        self.depth -= 1;
        Ok(json)
    }

    fn word(&mut self, word: &'static str, json: Json<'a>) -> Result<Json<'a>, DecodeProblem> {
        let context = match word {
            "null" => "in literal null",
            "true" => "in literal true",
            _ => "in literal false",
        };
        for byte in word.bytes() {
            if self.peek() != Some(byte) {
                return Err(self.unexpected(context));
            }
            self.at += 1;
        }
        Ok(json)
    }

    fn array(&mut self) -> Result<Json<'a>, DecodeProblem> {
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::Array(items));
                }
                _ => return Err(self.unexpected("after array element")),
            }
        }
    }

    fn object(&mut self) -> Result<Json<'a>, DecodeProblem> {
        let mut entries = Vec::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(entries));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            let key = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            entries.push((key, self.value()?));
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::Object(entries));
                }
                _ => return Err(self.unexpected("after object key:value pair")),
            }
        }
    }

    fn number(&mut self) -> Result<Json<'a>, DecodeProblem> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits("in numeric literal")?,
            _ => return Err(self.unexpected("in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(Json::Number(&self.text[start..self.at]))
    }

    /// One digit or more.
    fn digits(&mut self, context: &'static str) -> Result<(), DecodeProblem> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.unexpected(context));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    /// A string, beginning with its opening quote.
    fn string(&mut self) -> Result<String, DecodeProblem> {
        self.at += 1;
        let mut out = String::new();
        let mut start = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    out.push_str(&self.text[start..self.at]);
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(&self.text[start..self.at]);
                    self.at += 1;
                    self.escape(&mut out)?;
                    start = self.at;
                }
                Some(0..=0x1f) | None => return Err(self.unexpected(IN_STRING)),
                Some(_) => self.at += 1,
            }
        }
    }

    /// The part of an escape after the backslash.
    fn escape(&mut self, out: &mut String) -> Result<(), DecodeProblem> {
        let character = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let unit = self.code_unit()?;
                out.push(self.code_point(unit));
                return Ok(());
            }
            _ => return Err(self.unexpected("in string escape code")),
        };
        self.at += 1;
        out.push(character);
        Ok(())
    }

    /// Four hexadecimal digits.
    fn code_unit(&mut self) -> Result<u32, DecodeProblem> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return Err(self.unexpected("in \\u hexadecimal character escape"));
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    /// The character of a code unit. If the code unit is a high surrogate, the next escape is read too.
    fn code_point(&mut self, unit: u32) -> char {
        if let Some(character) = char::from_u32(unit) {
            return character;
        }
        let before = self.at;
        if (0xd800..0xdc00).contains(&unit) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            if let Ok(low @ 0xdc00..0xe000) = self.code_unit() {
                let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            }
            self.at = before;
        }
        char::REPLACEMENT_CHARACTER
    }
}

/// Writes a JSON string with quotes, escaped as in Go's `encoding/json`: `<`, `>`, `&`, U+2028 and U+2029 are escaped
/// in addition to the characters that JSON requires.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut written = 0;
    for (at, c) in text.char_indices() {
        let short = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{0}'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => "",
            _ => continue,
        };
        out.push_str(&text[written..at]);
        match short {
            // Writing to a string cannot fail.
            "" => drop(write!(out, "\\u{:04x}", u32::from(c))),
            short => out.push_str(short),
        }
        written = at + c.len_utf8();
    }
    out.push_str(&text[written..]);
    out.push('"');
}
