//! Diagnostics of arguments that are read before evaluation.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;

/// A value that is not a constant of the type `ty`.
pub(in crate::config) fn unsuitable(ty: &Type, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "This argument must be a constant {}, because it is read before other values are evaluated.",
        ty.friendly_name()
    );
    Diagnostic::error("Unsuitable value type", detail).at(at)
}

/// An empty `deprecated` argument. The summary differs between declarations.
pub(in crate::config) fn empty_deprecation(summary: &str, at: SourceRange) -> Diagnostic {
    let detail = "The argument \"deprecated\" cannot be empty. Write a text that says what to use instead.";
    Diagnostic::error(summary, detail).at(at)
}

/// A keyword in quotes.
pub(in crate::config) fn quoted_keyword(word: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("Keywords have no quotes. Write {word} without them.");
    Diagnostic::warning("Quoted keywords are deprecated", detail).at(at)
}

/// An argument that is none of the keywords `words`.
pub(in crate::config) fn unknown_keyword(name: &str, words: [&str; 2], at: SourceRange) -> Diagnostic {
    let detail = format!("The argument {name:?} must be one of these keywords: {} or {}.", words[0], words[1]);
    Diagnostic::error(format!("Invalid \"{name}\" keyword"), detail).at(at)
}
