//! Errors between brackets: of tuples, objects, calls and `for`.

use weft_graph_format::diagnostic::Diagnostic;

const NO_KEY_SEPARATOR: &str = "Missing key/value separator";

/// A tuple without its closing bracket.
pub(crate) fn unterminated_tuple() -> Diagnostic {
    let detail = "This opening bracket has no closing bracket before the end of the text.";
    Diagnostic::error("Unterminated tuple constructor expression", detail)
}

/// Two items of a tuple without a comma.
pub(crate) fn no_item_separator() -> Diagnostic {
    let detail = "Items are separated by commas. A comma is expected here.";
    Diagnostic::error("Missing item separator", detail)
}

/// An object without its closing brace.
pub(crate) fn unterminated_object() -> Diagnostic {
    let detail = "This opening brace has no closing brace before the end of the text.";
    Diagnostic::error("Unterminated object constructor expression", detail)
}

/// A key without a value.
pub(crate) fn no_value() -> Diagnostic {
    Diagnostic::error("Missing attribute value", "An equals sign and a value must follow the key of an item.")
}

/// A name after a key.
pub(crate) fn name_after_key() -> Diagnostic {
    let detail = "An equals sign (\"=\") must follow the key of an item. Write a key with dots or spaces in quotes.";
    Diagnostic::error(NO_KEY_SEPARATOR, detail)
}

/// A token after a key that is neither a name nor a separator such as `=`.
pub(crate) fn no_key_separator() -> Diagnostic {
    Diagnostic::error(NO_KEY_SEPARATOR, "An equals sign (\"=\") must follow the key of an item.")
}

/// Two items of an object without a comma or a line break.
pub(crate) fn no_attribute_separator() -> Diagnostic {
    let detail = "Items are separated by line breaks or commas. A separator is expected here.";
    Diagnostic::error("Missing attribute separator", detail)
}

/// Something after an argument with `...`.
pub(crate) fn more_after_expansion() -> Diagnostic {
    let detail = "Only the closing parenthesis can follow an argument that is expanded with \"...\".";
    Diagnostic::error("Missing closing parenthesis", detail)
}

/// A call without its closing parenthesis.
pub(crate) fn unterminated_call() -> Diagnostic {
    let detail = "This opening parenthesis has no closing parenthesis before the end of the text.";
    Diagnostic::error("Unterminated function call", detail)
}

/// Two arguments without a comma.
pub(crate) fn no_argument_separator() -> Diagnostic {
    let detail = "Arguments are separated by commas. A comma is expected here.";
    Diagnostic::error("Missing argument separator", detail)
}

/// The form of a `for`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForForm {
    /// `[for ...]` or `{for ...}`
    Expression,
    /// `%{for ...}`
    Directive,
}

impl ForForm {
    fn problem(self, detail: &str) -> Diagnostic {
        match self {
            ForForm::Expression => Diagnostic::error("Invalid 'for' expression", detail),
            ForForm::Directive => Diagnostic::error("Invalid 'for' directive", detail),
        }
    }
}

/// A `for` without a name.
pub(crate) fn for_without_name(form: ForForm) -> Diagnostic {
    form.problem("The name of a variable must follow \"for\".")
}

/// A `for` without a second name after the comma.
pub(crate) fn for_without_second_name(form: ForForm) -> Diagnostic {
    form.problem("The name of the variable for the value must follow the comma.")
}

/// A `for` without `in`.
pub(crate) fn for_without_in(form: ForForm) -> Diagnostic {
    form.problem("The word \"in\" must follow the names of the variables.")
}

/// A `for` expression without its colon.
pub(crate) fn for_without_colon() -> Diagnostic {
    ForForm::Expression.problem("A colon must follow the collection.")
}

/// Something after the last part of a `for` expression.
pub(crate) fn more_after_for() -> Diagnostic {
    ForForm::Expression.problem("The expression is already complete here. Only its closing bracket can follow.")
}

/// A `for` expression in braces without a key.
pub(crate) fn for_without_key() -> Diagnostic {
    ForForm::Expression.problem("An object needs a key for each value: {for ... : key => value}.")
}

/// A `for` expression in brackets with a key.
pub(crate) fn key_in_tuple() -> Diagnostic {
    ForForm::Expression.problem("A tuple has no keys. To build an object, write braces around the expression.")
}

/// A `for` expression in brackets with `...`.
pub(crate) fn grouping_in_tuple() -> Diagnostic {
    ForForm::Expression.problem("Only objects can group values by key with \"...\".")
}
