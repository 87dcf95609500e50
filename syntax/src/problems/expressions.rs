//! Errors of operands, operators and traversals.

use weft_graph_format::diagnostic::Diagnostic;

const ATTRIBUTE_REQUIRED: &str = "Attribute name required";
const INVALID_ATTRIBUTE: &str = "Invalid attribute name";
const NAME_AFTER_DOT: &str = "The name of an attribute must follow a dot.";

/// The end of the text in place of an expression.
pub(crate) fn no_expression() -> Diagnostic {
    Diagnostic::error("Missing expression", "An expression is expected here, but the text ends.")
}

/// A token that begins no expression.
pub(crate) fn invalid_expression() -> Diagnostic {
    let detail = "An expression is expected here, but an expression cannot begin with this text.";
    Diagnostic::error("Invalid expression", detail)
}

/// Text after a complete expression.
pub(crate) fn more_after_expression() -> Diagnostic {
    let detail = "The expression is already complete here. Remove the text that follows, or write an operator before \
                  it.";
    Diagnostic::error("Extra characters after expression", detail)
}

/// Digits that are not a number.
pub(crate) fn invalid_number(text: &str) -> Diagnostic {
    let detail =
        format!("\"{text}\" is not a number. A number has digits, at most one fraction and at most one exponent.");
    Diagnostic::error("Invalid number literal", detail)
}

/// A name with `::` without arguments.
pub(crate) fn no_parenthesis() -> Diagnostic {
    let detail = "A name with \"::\" is the name of a function. Its arguments must follow in parentheses.";
    Diagnostic::error("Missing open parenthesis", detail)
}

/// A `::` without a name after it.
pub(crate) fn no_function_name() -> Diagnostic {
    let detail = "The name of a function or of a namespace must follow \"::\".";
    Diagnostic::error("Missing function name", detail)
}

/// A dot without a name after it.
pub(crate) fn no_attribute_name() -> Diagnostic {
    Diagnostic::error(
        INVALID_ATTRIBUTE,
        format!("{NAME_AFTER_DOT} A key that is not a name must be in brackets: [\"key\"]."),
    )
}

/// A dot after a splat, without a name after it.
pub(crate) fn no_attribute_name_in_splat() -> Diagnostic {
    Diagnostic::error(INVALID_ATTRIBUTE, NAME_AFTER_DOT)
}

/// Two indices after one dot.
pub(crate) fn two_legacy_indices(first: &str, second: &str) -> Diagnostic {
    let detail = format!("Only one index can follow a dot. Write [{first}][{second}] instead.");
    Diagnostic::error("Invalid legacy index syntax", detail)
}

/// A second `.*`.
pub(crate) fn nested_splat() -> Diagnostic {
    let detail = "A second .* cannot follow the first. For nested splats, write [*].";
    Diagnostic::error("Nested splat expression not allowed", detail)
}

/// A `[*` without its closing bracket.
pub(crate) fn unclosed_splat() -> Diagnostic {
    let detail = "A closing bracket must follow the star of a splat: [*].";
    Diagnostic::error("Missing close bracket on splat index", detail)
}

/// An index without its closing bracket.
pub(crate) fn unclosed_index() -> Diagnostic {
    let detail = "A closing bracket (\"]\") must follow the key of an index.";
    Diagnostic::error("Missing close bracket on index", detail)
}

/// An opening parenthesis without a closing parenthesis.
pub(crate) fn unbalanced_parentheses() -> Diagnostic {
    let detail = "The expression is already complete. A closing parenthesis is expected here.";
    Diagnostic::error("Unbalanced parentheses", detail)
}

/// A conditional without its second result.
pub(crate) fn no_second_result() -> Diagnostic {
    let detail = "A conditional has two results, separated by a colon: condition ? one : other.";
    Diagnostic::error("Missing false expression in conditional", detail)
}

/// A traversal that does not begin with a name.
pub(crate) fn no_root() -> Diagnostic {
    Diagnostic::error("Variable name required", "A reference must begin with a name.")
}

/// A dot of a traversal without a name after it.
pub(crate) fn no_step_name() -> Diagnostic {
    Diagnostic::error(ATTRIBUTE_REQUIRED, NAME_AFTER_DOT)
}

/// A splat in a traversal. `written` is its notation.
pub(crate) fn splat_in_traversal(written: &str) -> Diagnostic {
    Diagnostic::error(ATTRIBUTE_REQUIRED, format!("A splat ({written}) is not allowed here."))
}

/// An index of a traversal without its closing bracket.
pub(crate) fn unclosed_step() -> Diagnostic {
    Diagnostic::error("Unclosed index brackets", "A closing bracket must follow the key.")
}

/// A token that cannot continue a traversal.
pub(crate) fn no_step() -> Diagnostic {
    let detail = "Only an attribute (.name) or an index ([key]) can follow here.";
    Diagnostic::error("Invalid character", detail)
}

/// An index of a traversal that is not a literal.
pub(crate) fn no_literal_key() -> Diagnostic {
    let detail = "A literal number or a literal string is expected in the brackets.";
    Diagnostic::error("Index value required", detail)
}
