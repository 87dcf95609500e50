//! Arguments that are read before evaluation, so they must be literals.

use smol_str::SmolStr;
use weft_expressions::constant::evaluate_constant;
use weft_expressions::convert::convert;
use weft_graph_format::diagnostic::has_errors;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::{ExprKind, Expression, Syntax};

use super::compiling::Compiling;
use super::content::AttributeRule;
use super::problems;

/// An optional argument.
pub(super) const fn optional(name: &'static str) -> AttributeRule {
    AttributeRule { name, required: false }
}

/// A required argument.
pub(super) const fn required(name: &'static str) -> AttributeRule {
    AttributeRule { name, required: true }
}

/// The text of a string without interpolation.
pub(super) fn literal_string(expression: &Expression) -> Option<SmolStr> {
    expression.as_string_literal()
}

impl Compiling<'_> {
    /// The converted value of an expression without references. Problems are reported.
    fn literal(&mut self, expression: &Expression, ty: &Type) -> Option<Value> {
        let (value, problems) = evaluate_constant(expression);
        if has_errors(&problems) {
            self.diagnostics.extend(problems);
            return None;
        }
        match convert(&value, ty) {
            Ok(value) if !value.is_null() && value.is_wholly_known() => Some(value),
            // The problem was reported when the file was parsed.
            _ if matches!(expression.kind(), ExprKind::Error) => None,
            _ => {
                self.report(problems::literal::unsuitable(ty, expression.range()));
                None
            }
        }
    }

    /// A literal Boolean. `None` if the argument does not exist or is invalid.
    pub(super) fn literal_bool(&mut self, expression: Option<&Expression>) -> Option<bool> {
        self.literal(expression?, &Type::Bool)?.as_bool()
    }

    /// A literal Boolean, with a default.
    pub(super) fn flag(&mut self, expression: Option<&Expression>, default: bool) -> bool {
        self.literal_bool(expression).unwrap_or(default)
    }

    /// A literal string.
    pub(super) fn text(&mut self, expression: Option<&Expression>) -> Option<String> {
        self.literal(expression?, &Type::String)?.as_str().map(str::to_owned)
    }

    /// The message of a `deprecated` argument, which must not be empty. Problems are reported at `at` if it is given,
    /// otherwise at the argument.
    pub(super) fn deprecation(
        &mut self,
        expression: Option<&Expression>,
        summary: &str,
        at: Option<&SourceRange>,
    ) -> Option<String> {
        let text = self.text(expression)?;
        if text.trim().is_empty() {
            let at = at.cloned().unwrap_or_else(|| expression.map(Expression::range).unwrap_or_default());
            self.report(problems::literal::empty_deprecation(summary, at));
            return None;
        }
        Some(text)
    }

    /// One of several keywords, written bare or in quotes. Quotes are deprecated.
    pub(super) fn keyword(
        &mut self,
        name: &str,
        expression: &Expression,
        words: [&'static str; 2],
    ) -> Option<&'static str> {
        // In the JSON syntax, keywords are always quoted.
        let quoted = expression.as_string_literal().filter(|_| expression.tree.syntax() == Syntax::Native);
        let found = words
            .into_iter()
            .find(|word| expression.as_keyword() == Some(word) || quoted.as_ref().is_some_and(|text| text == word));
        if let Some(text) = quoted.filter(|text| weft_syntax::is_identifier(text)) {
            self.report(problems::literal::quoted_keyword(&text, expression.range()));
        }
        if found.is_none() {
            self.report(problems::literal::unknown_keyword(name, words, expression.range()));
        }
        found
    }
}
