//! Diagnostics of arguments that are references, such as `depends_on`.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

const INVALID_EXPRESSION: &str = "Invalid expression";

/// An expression that is not a static reference.
pub(in crate::config) fn not_static(at: SourceRange) -> Diagnostic {
    let detail = "This must be a single static reference: names, attributes and constant keys, without calculations.";
    Diagnostic::error(INVALID_EXPRESSION, detail).at(at)
}

/// An expression that is not a list of references.
pub(in crate::config) fn not_a_list(at: SourceRange) -> Diagnostic {
    let detail = "This must be a static list of references, such as [aws_vpc.main, module.network].";
    Diagnostic::error(INVALID_EXPRESSION, detail).at(at)
}

/// A reference in quotes.
pub(in crate::config) fn quoted(at: SourceRange) -> Diagnostic {
    let detail = "References have no quotes. Remove the quotes.";
    Diagnostic::warning("Quoted references are deprecated", detail).at(at)
}

/// A condition without references. `block_type` is the type of its block, such as `precondition`.
pub(in crate::config) fn constant_condition(block_type: &str, at: SourceRange) -> Diagnostic {
    let detail = "The condition refers to nothing in the configuration, so its result is always the same.";
    Diagnostic::error(format!("Invalid {block_type} expression"), detail).at(at)
}
