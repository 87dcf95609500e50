//! Diagnostics of conditions and their error messages.

use weft_graph_format::diagnostic::{Diagnostic, OPEN_ASSERTION};
use weft_graph_format::graph::CheckKind;
use weft_graph_format::plan_file::CheckedKind;
use weft_graph_format::source::SourceRange;

const INVALID_RUN: &str = "Invalid condition run";
const NULL_CONDITION: &str = "The condition is null; it must be true or false.";

fn unsuitable(why: &str) -> String {
    format!("The condition is unsuitable: {why}.")
}

fn invalid_result(kind: CheckKind, detail: &str, at: SourceRange) -> Diagnostic {
    let summary = match kind {
        CheckKind::Validation => "Invalid variable validation result",
        _ => "Invalid condition result",
    };
    Diagnostic::error(summary, detail).at(at)
}

/// A null condition.
pub(in crate::evaluation) fn null_condition(kind: CheckKind, at: SourceRange) -> Diagnostic {
    invalid_result(kind, NULL_CONDITION, at)
}

/// A condition that is not a truth value, for the reason `why`.
pub(in crate::evaluation) fn unsuitable_condition(kind: CheckKind, why: &str, at: SourceRange) -> Diagnostic {
    invalid_result(kind, &unsuitable(why), at)
}

/// A failed condition of an object of the kind `of`. `message` is its error message.
pub(in crate::evaluation) fn failed_condition(
    of: CheckedKind,
    kind: CheckKind,
    message: &str,
    at: SourceRange,
) -> Diagnostic {
    let summary = match (of, kind) {
        (CheckedKind::Output | CheckedKind::UnusedOutput, _) => "Module output value precondition failed",
        (_, CheckKind::Postcondition) => "Resource postcondition failed",
        _ => "Resource precondition failed",
    };
    Diagnostic::error(summary, message).at(at)
}

/// A failed assertion of a `check` block. `message` is its error message.
pub(in crate::evaluation) fn failed_assertion(message: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::warning("Check block assertion failed", message).at(at)
}

/// A condition of a `check` block that is not known before apply.
pub(in crate::evaluation) fn open_assertion(at: SourceRange) -> Diagnostic {
    let detail = "The condition depends on values that are known only after apply. It is checked during apply.";
    Diagnostic::warning("Check block assertion known after apply", detail).code(OPEN_ASSERTION).at(at)
}

/// A failed condition of a test. `message` is its error message.
pub(in crate::evaluation) fn test_failed(message: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Test assertion failed", message).at(at)
}

/// A null condition of a test.
pub(in crate::evaluation) fn null_test_condition(at: SourceRange) -> Diagnostic {
    Diagnostic::error(INVALID_RUN, NULL_CONDITION).at(at)
}

/// A condition of a test that is not a truth value, for the reason `why`.
pub(in crate::evaluation) fn unsuitable_test_condition(why: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::error(INVALID_RUN, unsuitable(why)).at(at)
}

/// An unknown condition of a test.
pub(in crate::evaluation) fn unknown_test_condition(at: SourceRange) -> Diagnostic {
    let detail = "The condition depends on values that are known only after apply. Write the assertion in a run with \
                  command = apply, or set the values with a mock or an override.";
    Diagnostic::error("Unknown condition run", detail).at(at)
}
