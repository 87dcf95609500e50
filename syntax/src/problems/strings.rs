//! Errors of quoted strings and their escape sequences.

use weft_graph_format::diagnostic::Diagnostic;

const INVALID_ESCAPE: &str = "Invalid escape sequence";
const INVALID_LITERAL: &str = "Invalid string literal";

/// The start of a sequence in a string that is not a template. `sign` is `$` or `%`.
pub(crate) fn sequence_in_literal(sign: char) -> Diagnostic {
    let detail = format!(
        "This string is not a template, so it cannot contain template sequences. For a literal \"{sign}{{\", write \
         \"{sign}{sign}{{\"."
    );
    Diagnostic::error(INVALID_LITERAL, detail)
}

/// A token that a string cannot contain.
pub(crate) fn not_in_literal() -> Diagnostic {
    let detail = "This string must have its closing quote on the line where it begins.";
    Diagnostic::error(INVALID_LITERAL, detail)
}

/// A string without its closing quote.
pub(crate) fn unterminated() -> Diagnostic {
    let detail = "This string has no closing quote before the end of the text.";
    Diagnostic::error("Unterminated string literal", detail)
}

/// A backslash at the end.
pub(crate) fn lone_backslash() -> Diagnostic {
    let detail = "A backslash begins an escape sequence, so another character must follow it.";
    Diagnostic::error(INVALID_ESCAPE, detail)
}

/// A backslash before a character that it cannot escape.
pub(crate) fn unknown_escape(selector: char) -> Diagnostic {
    let detail = format!(
        "\"\\{selector}\" is not an escape sequence. Use \\n, \\r, \\t, \\\", \\\\, \\uNNNN or \\UNNNNNNNN. For a \
         literal backslash, write \\\\."
    );
    Diagnostic::error(INVALID_ESCAPE, detail)
}

/// An escape sequence such as `\u` with fewer digits than it needs.
pub(crate) fn too_few_digits(escape: &str, required: usize, found: usize) -> Diagnostic {
    let detail = format!("{required} hexadecimal digits must follow {escape}, but there are only {found}.");
    Diagnostic::error(INVALID_ESCAPE, detail)
}

/// An escape sequence whose digits do not denote a character.
pub(crate) fn no_character(digits: &str) -> Diagnostic {
    Diagnostic::error(INVALID_ESCAPE, format!("U+{digits} is not a Unicode character."))
}
