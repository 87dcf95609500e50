//! Errors of a text as a whole, and of its characters.

use weft_graph_format::diagnostic::Diagnostic;

/// A file that is not UTF-8.
pub(crate) fn not_utf8() -> Diagnostic {
    let detail = "Configuration files must be encoded as UTF-8, but this file is not. Save it with that encoding.";
    Diagnostic::error("Invalid character encoding", detail)
}

/// A text of more than `limit` bytes.
pub(crate) fn too_long(limit: usize) -> Diagnostic {
    Diagnostic::error("Text too long", format!("A text can have at most {limit} bytes."))
}

/// A construct that is nested more than `limit` levels deep.
pub(crate) fn too_deep(limit: usize) -> Diagnostic {
    let detail = format!("Brackets, strings, operators and blocks can be nested at most {limit} levels deep.");
    Diagnostic::error("Nesting too deep", detail)
}

/// A bitwise operator, as in other languages.
pub(crate) fn bitwise_operator(operator: &str) -> Diagnostic {
    let way_out = match operator {
        "&" => " For a boolean AND, write \"&&\".",
        "|" => " For a boolean OR, write \"||\".",
        "~" => " For a boolean NOT, write \"!\".",
        _ => "",
    };
    Diagnostic::error("Unsupported operator", format!("The language has no bitwise operators.{way_out}"))
}

/// A line break in a quoted string.
pub(crate) fn quoted_newline() -> Diagnostic {
    Diagnostic::error(
        "Invalid multi-line string",
        "A quoted string must end on the line where it begins. Write \\n for a line break, or use a heredoc (<<EOT) \
         for text of several lines.",
    )
}

/// A character that no token contains.
pub(crate) fn invalid_character(character: &str) -> Diagnostic {
    let detail = match character {
        "`" => "The character \"`\" has no meaning here. For text of several lines, use a heredoc (<<EOT).",
        "'" => "Single quotes have no meaning here. Write strings in double quotes (\").",
        ";" => {
            "The character \";\" has no meaning here. Arguments and blocks are separated by line breaks, items of \
             collections by commas."
        }
        "\u{201c}" | "\u{201d}" => {
            "Curly quotes have no meaning here. They often come with text that was copied from a document. Write \
             strings in straight quotes (\")."
        }
        _ => "This character has no meaning in the language.",
    };
    Diagnostic::error("Invalid character", detail)
}
