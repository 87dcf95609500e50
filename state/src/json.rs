//! JSON as text, in two forms. Records have a canonical form, so that equal content has equal bytes and equal
//! revisions. Files have OpenTofu's layout. Numbers are never parsed, so no digit is lost.

/// The maximum nesting depth. Values of configurations stay far below it. The code uses no recursion, so the limit does
/// not depend on the call stack.
const MAX_DEPTH: usize = 10_000;

/// An error: the text is not one JSON value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid JSON at byte {offset}: {what}")]
pub struct JsonError {
    /// The offset of the error in bytes.
    pub offset: usize,
    /// The problem at that offset.
    pub what: &'static str,
}

/// A token of JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonToken<'a> {
    /// `{`
    ObjectStart,
    /// `}`
    ObjectEnd,
    /// `[`
    ListStart,
    /// `]`
    ListEnd,
    /// `:`
    Colon,
    /// `,`
    Comma,
    /// A string with its quotes and escapes.
    String(&'a str),
    /// A number, `true`, `false` or `null`, as written.
    Word(&'a str),
}

/// Splits JSON text into tokens, each with its offset. It checks the spelling of each token, but not the order.
pub(crate) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    /// The tokens of this text.
    pub(crate) fn of(text: &'a str) -> Tokens<'a> {
        Tokens { text, at: 0 }
    }

    /// The next token and its offset, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(usize, JsonToken<'a>)>, JsonError> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        let start = self.at;
        let Some(first) = bytes.get(start) else { return Ok(None) };
        let token = match first {
            b'{' => JsonToken::ObjectStart,
            b'}' => JsonToken::ObjectEnd,
            b'[' => JsonToken::ListStart,
            b']' => JsonToken::ListEnd,
            b':' => JsonToken::Colon,
            b',' => JsonToken::Comma,
            b'"' => {
                let end = string_end(bytes, start)?;
                self.at = end;
                return Ok(Some((start, JsonToken::String(&self.text[start..end]))));
            }
            _ => {
                let end = bytes[start..]
                    .iter()
                    .position(|byte| !matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.'))
                    .map_or(bytes.len(), |length| start + length);
                let word = &self.text[start..end];
                if !is_word(word) {
                    return Err(JsonError { offset: start, what: "neither a value nor punctuation" });
                }
                self.at = end;
                return Ok(Some((start, JsonToken::Word(word))));
            }
        };
        self.at += 1;
        Ok(Some((start, token)))
    }
}

/// The offset after the closing quote of the string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> Result<usize, JsonError> {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return Ok(at + 1),
            b'\\' => {
                let fits = match bytes.get(at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => true,
                    Some(b'u') => {
                        let digits = bytes.get(at + 2..at + 6);
                        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
                    }
                    _ => false,
                };
                if !fits {
                    return Err(JsonError { offset: at, what: "an escape sequence that is not valid in JSON" });
                }
                at += 2;
            }
            0..=0x1f => return Err(JsonError { offset: at, what: "a control character inside a string" }),
            _ => at += 1,
        }
    }
    Err(JsonError { offset: start, what: "a string that is not terminated" })
}

/// Whether the word is a number, `true`, `false` or `null`.
fn is_word(word: &str) -> bool {
    if matches!(word, "true" | "false" | "null") {
        return true;
    }
    let bytes = word.as_bytes();
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let digits = |at: &mut usize| {
        let start = *at;
        while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
            *at += 1;
        }
        *at > start
    };
    if bytes.get(at) == Some(&b'0') {
        at += 1;
    } else if !digits(&mut at) {
        return false;
    }
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        if !digits(&mut at) {
            return false;
        }
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        if !digits(&mut at) {
            return false;
        }
    }
    at == bytes.len()
}

/// The tokens that are allowed next. Used to check the order of tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    KeyOrEnd,
    Key,
    Colon,
    CommaOrEnd,
    Nothing,
}

/// Converts one JSON value to its canonical form: no white space, and one spelling for each string. Only the characters
/// that JSON requires to be escaped are escaped, each with its shortest escape.
///
/// # Errors
/// Returns an error if the text is not exactly one JSON value.
pub fn canonical(text: &str) -> Result<String, JsonError> {
    let mut out = String::with_capacity(text.len());
    let mut tokens = Tokens::of(text);
    let mut open: Vec<bool> = Vec::new();
    let mut expect = Expect::Value;
    let after_value = |open: &Vec<bool>| if open.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd };
    while let Some((offset, token)) = tokens.next()? {
        let wrong = JsonError { offset, what: "a token that is not allowed at this position" };
        let value_fits = matches!(expect, Expect::Value | Expect::ValueOrEnd);
        match token {
            JsonToken::ObjectStart | JsonToken::ListStart => {
                if !value_fits || open.len() >= MAX_DEPTH {
                    return Err(wrong);
                }
                let object = token == JsonToken::ObjectStart;
                open.push(object);
                out.push(if object { '{' } else { '[' });
                expect = if object { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
            }
            JsonToken::ObjectEnd | JsonToken::ListEnd => {
                let object = token == JsonToken::ObjectEnd;
                let empty = if object { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
                if open.last() != Some(&object) || !(expect == Expect::CommaOrEnd || expect == empty) {
                    return Err(wrong);
                }
                open.pop();
                out.push(if object { '}' } else { ']' });
                expect = after_value(&open);
            }
            JsonToken::Colon if expect == Expect::Colon => {
                out.push(':');
                expect = Expect::Value;
            }
            JsonToken::Comma if expect == Expect::CommaOrEnd => {
                out.push(',');
                expect = if open.last() == Some(&true) { Expect::Key } else { Expect::Value };
            }
            JsonToken::String(string) if matches!(expect, Expect::Key | Expect::KeyOrEnd) => {
                push_canonical(&mut out, string);
                expect = Expect::Colon;
            }
            JsonToken::String(string) if value_fits => {
                push_canonical(&mut out, string);
                expect = after_value(&open);
            }
            JsonToken::Word(word) if value_fits => {
                out.push_str(word);
                expect = after_value(&open);
            }
            _ => return Err(wrong),
        }
    }
    if expect == Expect::Nothing {
        Ok(out)
    } else {
        Err(JsonError { offset: text.len(), what: "unexpected end of the text" })
    }
}

/// Appends a quoted string token in its canonical spelling.
fn push_canonical(out: &mut String, token: &str) {
    if !token.contains('\\') {
        out.push_str(token);
        return;
    }
    match decode(token) {
        Some(content) => push_string(out, &content, Escapes::Least),
        // A lone surrogate has no other spelling.
        None => out.push_str(token),
    }
}

/// The content of a quoted string token; `None` if it has a lone surrogate.
pub(crate) fn decode(token: &str) -> Option<String> {
    serde_json::from_str(token).ok()
}

/// The characters to escape.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// Only the characters that JSON requires to be escaped.
    Least,
    /// Also `<`, `>`, `&`, U+2028 and U+2029, as in Go's encoder and therefore in the state file.
    Html,
}

/// Appends a string with quotes.
pub(crate) fn push_string(out: &mut String, content: &str, escapes: Escapes) {
    out.push('"');
    push_content(out, content, escapes);
    out.push('"');
}

/// Appends the content of a string with its escapes.
fn push_content(out: &mut String, content: &str, escapes: Escapes) {
    for character in content.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", character as u32)),
            _ => push_html(out, character, escapes),
        }
    }
}

/// Appends a character that needs no escape in JSON.
fn push_html(out: &mut String, character: char, escapes: Escapes) {
    if escapes == Escapes::Html && matches!(character, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') {
        out.push_str(&format!("\\u{:04x}", character as u32));
    } else {
        out.push(character);
    }
}

/// Appends one canonical value in the layout of the state file: two spaces for each level, empty containers on one
/// line, HTML characters escaped. `level` is the level of the line on which the value begins.
pub(crate) fn push_indented(out: &mut String, value: &str, level: usize) {
    let mut tokens = Tokens::of(value);
    let mut level = level;
    let mut opened = false;
    while let Ok(Some((_, token))) = tokens.next() {
        let closes = matches!(token, JsonToken::ObjectEnd | JsonToken::ListEnd);
        if closes {
            level = level.saturating_sub(1);
        }
        if opened != closes && (opened || closes) {
            push_line(out, level);
        }
        opened = false;
        match token {
            JsonToken::ObjectStart | JsonToken::ListStart => {
                out.push(if token == JsonToken::ObjectStart { '{' } else { '[' });
                level += 1;
                opened = true;
            }
            JsonToken::ObjectEnd => out.push('}'),
            JsonToken::ListEnd => out.push(']'),
            JsonToken::Colon => out.push_str(": "),
            JsonToken::Comma => {
                out.push(',');
                push_line(out, level);
            }
            JsonToken::String(string) => string.chars().for_each(|character| push_html(out, character, Escapes::Html)),
            JsonToken::Word(word) => out.push_str(word),
        }
    }
}

/// Begins a new line at this level.
pub(crate) fn push_line(out: &mut String, level: usize) {
    out.push('\n');
    for _ in 0..level {
        out.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_keeps_digits_and_drops_space() {
        let text = " { \"a\" : [ 1.50 , -0, 12345678901234567890123, 1E+2 ], \"b\\u003c\": \"\\/\\u0008\\u00e9\" } ";
        assert_eq!(canonical(text).unwrap(), "{\"a\":[1.50,-0,12345678901234567890123,1E+2],\"b<\":\"/\\bé\"}");
    }

    #[test]
    fn canonical_refuses_invalid_json() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\":}",
            "01",
            "1.",
            "nul",
            "\"a",
            "\"\\x\"",
            "1 2",
            "{1:2}",
            "[}",
            "]",
            "\"\u{1}\"",
            "{\"a\" 1}",
            "-",
            "+1",
            "{\"a\":1,}",
            ",",
        ] {
            assert!(canonical(text).is_err(), "{text:?}");
        }
        let deep = "[".repeat(MAX_DEPTH + 1);
        assert!(canonical(&deep).is_err());
    }

    #[test]
    fn canonical_is_idempotent() {
        for text in ["{}", "[]", "null", "\"\\ud800\"", "[[],{},{\"a\":{}}]", "\"\u{2028}<\""] {
            let once = canonical(text).unwrap();
            assert_eq!(canonical(&once).unwrap(), once);
        }
    }

    #[test]
    fn json_is_indented_as_in_go() {
        let mut out = String::new();
        push_indented(&mut out, "{\"a\":[],\"b\":{},\"c\":[1,{\"d\":\"<\"}]}", 1);
        let expected = [
            "{",
            "    \"a\": [],",
            "    \"b\": {},",
            "    \"c\": [",
            "      1,",
            "      {",
            "        \"d\": \"\\u003c\"",
            "      }",
            "    ]",
            "  }",
        ];
        assert_eq!(out, expected.join("\n"));
    }
}
