//! Diagnostics of `module` blocks.

use weft_graph_format::diagnostic::{Diagnostic, IGNORED_ATTRIBUTE};
use weft_graph_format::nearest::did_you_mean;
use weft_graph_format::source::SourceRange;
use weft_syntax::Syntax;

/// A block of a reserved type.
pub(in crate::config) fn reserved_block(block_type: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("The language reserves the block type {block_type:?} for future use. Remove the block.");
    Diagnostic::error("Reserved block type name in module block", detail).at(at.clone())
}

/// A `providers` argument that is not an object.
pub(in crate::config) fn providers_not_an_object(at: SourceRange) -> Diagnostic {
    let detail = "The argument \"providers\" must be an object. Its keys are providers of the called module, and its \
                  values are providers of this module.";
    Diagnostic::error("Invalid expression", detail).at(at)
}

/// An entry of `providers` whose key is not the name of a provider.
pub(in crate::config) fn invalid_child_provider(at: SourceRange) -> Diagnostic {
    let detail = "The left side of an entry in \"providers\" must be the local name of a provider in the called \
                  module, optionally with an alias, such as aws or aws.west.";
    Diagnostic::error("Invalid provider configuration reference", detail).at(at)
}

/// A second entry of `providers` for a configuration. The first one is on line `first`.
pub(in crate::config) fn duplicate_provider(first: u32, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "The entry on line {first} already passes a provider for this configuration of the called module. Remove one \
         of the entries."
    );
    Diagnostic::error("Duplicate provider address", detail).at(at)
}

/// An attribute of an argument that the type of the variable does not have. `known` are the attributes that it has.
pub(in crate::config) fn ignored_attribute<'n>(
    variable: &str,
    attribute: &str,
    known: impl IntoIterator<Item = &'n str>,
    at: SourceRange,
) -> Diagnostic {
    let hint = did_you_mean(attribute, known);
    let detail = format!(
        "The object type of input variable {variable:?} has no attribute {attribute:?}, so this value is ignored.{hint}"
    );
    Diagnostic::warning("Object attribute is ignored", detail).code(IGNORED_ATTRIBUTE).at(at)
}

/// An argument without a variable. `known` are the variables of the module.
pub(in crate::config) fn unsupported_argument<'n>(
    name: &str,
    known: impl IntoIterator<Item = &'n str>,
    syntax: Syntax,
    at: &SourceRange,
) -> Diagnostic {
    let summary = match syntax {
        Syntax::Native => "Unsupported argument",
        Syntax::Json => "Extraneous JSON object property",
    };
    let hint = did_you_mean(name, known);
    let detail =
        format!("An argument named {name:?} is not expected here, because the module has no such variable.{hint}");
    Diagnostic::error(summary, detail).at(at.clone())
}
