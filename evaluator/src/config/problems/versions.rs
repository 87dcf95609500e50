//! Diagnostics of version constraints.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

const INVALID: &str = "Invalid version constraint";

/// A constraint that is not a string.
pub(in crate::config) fn not_a_string(at: SourceRange) -> Diagnostic {
    Diagnostic::error(INVALID, "The version constraint must be a quoted string, such as \"~> 1.2\".").at(at)
}

/// A string that is not a constraint.
pub(in crate::config) fn not_a_constraint(text: &str, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "{text:?} is not a version constraint. Examples of constraints are \">= 1.2.0\" and \"~> 1.2, != 1.2.3\"."
    );
    Diagnostic::error(INVALID, detail).at(at)
}

/// A constraint that excludes `implemented`, the version of OpenTofu whose language Weft implements.
pub(in crate::config) fn unmet(constraint: &str, implemented: [u64; 3], at: SourceRange) -> Diagnostic {
    let [major, minor, patch] = implemented;
    let detail = format!(
        "This module requires version {constraint:?} of OpenTofu, but this version of Weft implements the language of \
         OpenTofu {major}.{minor}.{patch}."
    );
    Diagnostic::error("Incompatible module", detail).at(at)
}
