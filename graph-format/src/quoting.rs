//! Strings between quotes, with the escapes of Go's `%q`.

use std::fmt::{self, Write};

/// A string as Go's `%q` prints it: between quotes, with escapes for what cannot be printed.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_quoted(text, &mut out);
    out
}

/// Appends a string as [`quoted`] returns it.
pub fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = write_escaped(c, out);
    }
    out.push('"');
}

fn write_escaped(c: char, out: &mut String) -> fmt::Result {
    let short = match c {
        '"' | '\\' => c,
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{b}' => 'v',
        _ if is_printable(c) => return out.write_char(c),
        _ => {
            return match u32::from(c) {
                code @ 0..0x80 => write!(out, "\\x{code:02x}"),
                code @ 0x80..0x10000 => write!(out, "\\u{code:04x}"),
                code => write!(out, "\\U{code:08x}"),
            };
        }
    };
    out.push('\\');
    out.write_char(short)
}

/// Whether Go prints a character unescaped: letters, marks, numbers, punctuation, symbols and the ASCII space, but no
/// other space.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    // The standard library escapes a combining mark only at the beginning of a text.
    let mut after_letter = String::from("a");
    after_letter.push(c);
    after_letter.escape_debug().eq(after_letter.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As recorded from Go 1.25.
    #[test]
    fn text_is_quoted_as_in_go() {
        for (text, want) in [
            ("", r#""""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("\u{7}\u{8}\u{b}\u{c}\n\r\t", r#""\a\b\v\f\n\r\t""#),
            ("\u{0}\u{1b}\u{7f}", r#""\x00\x1b\x7f""#),
            ("ä日e\u{301}", "\"ä日e\u{301}\""),
            ("\u{80}\u{a0}\u{ad}\u{200b}\u{feff}\u{e000}", r#""\u0080\u00a0\u00ad\u200b\ufeff\ue000""#),
            ("\u{1f600}\u{e0001}\u{10ffff}", "\"\u{1f600}\\U000e0001\\U0010ffff\""),
            ("${a} %{b}", r#""${a} %{b}""#),
        ] {
            assert_eq!(quoted(text), want);
        }
    }
}
