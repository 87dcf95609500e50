//! Errors of templates and their directives.

use weft_graph_format::diagnostic::Diagnostic;

const EXTRA_IN_INTERPOLATION: &str = "Extra characters after interpolation expression";
const UNCLOSED_INTERPOLATION: &str = "Unclosed template interpolation sequence";

/// A template without an end.
pub(crate) fn unterminated() -> Diagnostic {
    Diagnostic::error("Unterminated template string", "This string or template has no end.")
}

/// An interpolation without its closing brace in the rest of the text.
pub(crate) fn unclosed_in_text() -> Diagnostic {
    let detail = "The opening brace of the interpolation has no closing brace before the end of the text.";
    Diagnostic::error(UNCLOSED_INTERPOLATION, detail)
}

/// An interpolation without its closing brace in the rest of the string.
pub(crate) fn unclosed_in_string() -> Diagnostic {
    let detail = "The opening brace of the interpolation has no closing brace before the end of the string.";
    Diagnostic::error(UNCLOSED_INTERPOLATION, detail)
}

/// A colon after the expression of an interpolation.
pub(crate) fn colon_after_expression() -> Diagnostic {
    let detail = "A colon has no meaning here. If \"${\" is meant for another program, write \"$${\".";
    Diagnostic::error(EXTRA_IN_INTERPOLATION, detail)
}

/// A token other than a colon after the expression of an interpolation, in place of the closing brace.
pub(crate) fn more_after_expression() -> Diagnostic {
    Diagnostic::error(
        EXTRA_IN_INTERPOLATION,
        "Only the closing brace can follow the expression. If \"${\" is meant for another program, write \"$${\".",
    )
}

/// A directive without a keyword.
pub(crate) fn no_keyword() -> Diagnostic {
    let detail = "One of the words if, else, endif, for and endfor must follow \"%{\".";
    Diagnostic::error("Invalid template directive", detail)
}

/// A directive with an unknown keyword.
pub(crate) fn unknown_keyword(word: &str) -> Diagnostic {
    let detail = format!("\"{word}\" is not a directive. Use if, else, endif, for or endfor.");
    Diagnostic::error("Invalid template control keyword", detail)
}

/// Something after the parts of a directive.
pub(crate) fn more_in_directive(word: &str) -> Diagnostic {
    Diagnostic::error(format!("Extra characters in {word} marker"), "Only the closing brace can follow here.")
}

/// The end of a template with an open directive. `word` is `if` or `for`, and the directive is on line `line`.
pub(crate) fn open_directive(word: &str, line: u32) -> Diagnostic {
    let detail = format!("The {word} directive on line {line} has no end{word} directive.");
    Diagnostic::error("Unexpected end of template", detail)
}

/// A second `else`.
pub(crate) fn second_else() -> Diagnostic {
    Diagnostic::error("Unexpected else directive", "The if directive already has an else directive.")
}

/// An `else` in a `for` directive.
pub(crate) fn else_in_for() -> Diagnostic {
    Diagnostic::error("Unexpected else directive", "A for directive cannot have an else directive.")
}

/// An end marker that does not match the open directive. The open directive is on line `line` and must end with
/// `required`.
pub(crate) fn wrong_end(word: &str, line: u32, required: &str) -> Diagnostic {
    let detail = format!("The directive on line {line} is still open. End it with {required} first.");
    Diagnostic::error(format!("Unexpected {word} directive"), detail)
}

/// An `else` or an end without an open directive.
pub(crate) fn no_open_directive(word: &str) -> Diagnostic {
    Diagnostic::error(format!("Unexpected {word} directive"), "No if or for directive is open here.")
}
