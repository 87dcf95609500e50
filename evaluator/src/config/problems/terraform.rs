//! Diagnostics of `terraform` and `language` blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A block that Weft does not support.
pub(in crate::config) fn unsupported_block(block_type: &str, at: &SourceRange) -> Diagnostic {
    let detail =
        format!("The language has blocks of type {block_type:?}, but this version of Weft does not support them yet.");
    Diagnostic::error("Block not supported yet", detail).at(at.clone())
}

/// An edition that is not a keyword.
pub(in crate::config) fn invalid_edition(supported: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Invalid language edition", only_edition(supported)).at(at)
}

/// An unknown edition.
pub(in crate::config) fn unsupported_edition(supported: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Unsupported language edition", only_edition(supported)).at(at)
}

fn only_edition(supported: &str) -> String {
    format!("The only edition of the language that this version of Weft supports is {supported}, without quotes.")
}

/// A constraint in `compatible_with` that allows versions which do not support `compatible_with`.
pub(in crate::config) fn ineffective_constraint(at: SourceRange) -> Diagnostic {
    let detail = "Versions of OpenTofu before 1.12 do not read compatible_with, so this constraint cannot exclude any \
                  of them. Require at least \">= 1.12\", or use required_version in a .tofu file.";
    Diagnostic::warning("Ineffective version constraint", detail).at(at)
}
