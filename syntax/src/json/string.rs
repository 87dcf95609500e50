//! JSON strings: their text, and the source position of each byte of the text.

use std::borrow::Cow;

use crate::source::{Span, offset};

/// The text of a string, with a mapping to positions in the source.
#[derive(Debug)]
pub(super) struct Decoded<'text> {
    /// The text, with escapes resolved.
    pub(super) text: Cow<'text, str>,
    /// The source offset of the first byte of the text, after the opening quote.
    start: u32,
    /// For each escape, in order: the offset after the escape in the text, and the offset after the escape in the
    /// source.
    escapes: Vec<(u32, u32)>,
}

impl Decoded<'_> {
    /// The byte offset in the source for the byte offset `at` in the text. The text of a resolved escape starts and
    /// ends at the source offsets of the escape.
    pub(super) fn place(&self, at: u32) -> u32 {
        let before = self.escapes.partition_point(|(text, _)| *text <= at);
        match before.checked_sub(1).and_then(|last| self.escapes.get(last)) {
            Some((text, source)) => source.saturating_add(at - text),
            None => self.start.saturating_add(at),
        }
    }

    /// The source range of a range of the text.
    pub(super) fn span(&self, span: Span) -> Span {
        Span::new(self.place(span.start), self.place(span.end))
    }
}

/// Whether a text contains template sequences.
pub(super) fn is_template(text: &str) -> bool {
    text.contains("${") || text.contains("%{")
}

/// Decodes a string token, including its quotes, that begins at offset `start` of the source.
///
/// A lone surrogate becomes U+FFFD, as in all JSON readers of OpenTofu.
///
/// # Errors
/// Returns the offset of the first byte that is not valid in a JSON string. The offset is relative to the token.
pub(super) fn decode(token: &str, start: u32) -> Result<Decoded<'_>, u32> {
    let behind_quote = start.saturating_add(1);
    let inner = match token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner,
        None => return Err(first_fault(token).unwrap_or(offset(token.len()))),
    };
    if !inner.contains('\\') {
        return Ok(Decoded { text: Cow::Borrowed(inner), start: behind_quote, escapes: Vec::new() });
    }
    let mut text = String::with_capacity(inner.len());
    let mut escapes = Vec::new();
    let mut at = 0;
    while let Some(rest) = inner.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = rest.find('\\').unwrap_or(rest.len());
        text.push_str(rest.get(..plain).unwrap_or_default());
        at += plain;
        let Some(escape) = inner.get(at..).filter(|rest| !rest.is_empty()) else { break };
        // `at` does not count the opening quote.
        let (character, length) = read_escape(escape.as_bytes()).map_err(|wrong| offset(at + 1 + wrong))?;
        text.push(character);
        at += length;
        escapes.push((offset(text.len()), behind_quote.saturating_add(offset(at))));
    }
    Ok(Decoded { text: Cow::Owned(text), start: behind_quote, escapes })
}

/// A part of a string without its quotes, with escapes resolved. Unchanged if an escape is invalid.
pub(crate) fn unescaped(part: &str) -> Cow<'_, str> {
    if !part.contains('\\') {
        return Cow::Borrowed(part);
    }
    let whole = decode(&format!("\"{part}\""), 0).ok().map(|decoded| decoded.text.into_owned());
    whole.map_or(Cow::Borrowed(part), Cow::Owned)
}

/// The offset of the first invalid escape of an unterminated string.
fn first_fault(token: &str) -> Option<u32> {
    let bytes = token.as_bytes();
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        if *byte != b'\\' {
            at += 1;
            continue;
        }
        match read_escape(bytes.get(at..).unwrap_or_default()) {
            Ok((_, length)) => at += length,
            Err(wrong) => return Some(offset(at + wrong)),
        }
    }
    None
}

/// The character of an escape and the length of the escape, or the offset of the error.
fn read_escape(bytes: &[u8]) -> Result<(char, usize), usize> {
    let simple = match bytes.get(1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let first = four_digits(bytes, 2)?;
            if let 0xd800..0xdc00 = first
                && bytes.get(6..8) == Some(b"\\u")
                && let Ok(second @ 0xdc00..0xe000) = four_digits(bytes, 8)
            {
                let joined = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok((char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER), 12));
            }
            return Ok((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6));
        }
        _ => return Err(1),
    };
    Ok((simple, 2))
}

fn four_digits(bytes: &[u8], from: usize) -> Result<u32, usize> {
    let mut value = 0;
    for at in from..from + 4 {
        let digit = bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16)).ok_or(at)?;
        value = value * 16 + digit;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_with_their_positions() {
        let token = r#""a\n\u00e9x\ud83d\ude00y""#;
        let decoded = decode(token, 10).unwrap_or_else(|at| panic!("wrong at {at}"));
        assert_eq!(decoded.text, "a\néx😀y");
        let at = |needle: char| decoded.text.find(needle).map(offset).unwrap_or_default();
        let written = |needle: &str| 10 + token.find(needle).map(offset).unwrap_or_default();
        assert_eq!(decoded.place(at('a')), written("a"));
        assert_eq!(decoded.place(at('\n')), written("\\n"));
        assert_eq!(decoded.place(at('é')), written("\\u00e9"));
        assert_eq!(decoded.place(at('x')), written("x"));
        assert_eq!(decoded.place(at('😀')), written("\\ud83d"));
        assert_eq!(decoded.place(at('y')), written("y"));
        let both = decoded.span(Span::new(at('\n'), at('x')));
        assert_eq!((both.start, both.end), (written("\\n"), written("x")));
        let end = decoded.span(Span::new(at('😀'), at('y')));
        assert_eq!(end.end, written("y"));
    }

    #[test]
    fn invalid_strings_are_refused() {
        for (token, wrong) in [(r#""a\qb""#, 3), (r#""\u12G4""#, 5), (r#""abc"#, 4), ("\"", 1), (r#""a\"#, 3)] {
            assert_eq!(decode(token, 0).map(|found| found.text.into_owned()), Err(wrong), "{token}");
        }
        assert_eq!(decode(r#""\ud800x""#, 0).map(|found| found.text.into_owned()), Ok("\u{fffd}x".to_owned()));
    }
}
