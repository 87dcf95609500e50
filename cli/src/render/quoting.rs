//! Text in quotes, and names that need no quotes.

use std::fmt::Write;

use weft_syntax::is_identifier;

/// A string as plans, states and `output` show it: in quotes, with the escapes of Go's `%q`. Template markers
/// are not escaped.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            // Writing to a string cannot fail.
            c if (c as u32) < 0x20 || c == '\u{7f}' => drop(write!(out, "\\x{:02x}", c as u32)),
            c if !is_printable(c) && (c as u32) < 0x1_0000 => drop(write!(out, "\\u{:04x}", c as u32)),
            c if !is_printable(c) => drop(write!(out, "\\U{:08x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether a character is shown unescaped. Control characters, look-alike spaces and characters that only change the
/// direction of text
/// would mislead a reader.
fn is_printable(c: char) -> bool {
    !c.is_control()
        && (c == ' ' || !c.is_whitespace())
        && !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}')
}

/// The name of an attribute, in quotes unless it is an identifier.
pub fn attribute_name(name: &str) -> String {
    if is_identifier(name) { name.to_owned() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_as_go_does() {
        assert_eq!(quoted("a\"b\\c\n\t${x}\u{1}\u{202e}é"), "\"a\\\"b\\\\c\\n\\t${x}\\x01\\u202eé\"");
        assert_eq!(attribute_name("a-b"), "a-b");
        assert_eq!(attribute_name("a b"), "\"a b\"");
    }
}
