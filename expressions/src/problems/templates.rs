//! Problems of the parts of templates. The summaries become those of a `Diagnostic`.

use weft_graph_format::diagnostic::Cause;

use super::Problem;
use crate::convert::ConvertError;

/// A null part.
pub(crate) fn null_part() -> Problem {
    invalid("The expression result is null. Cannot include a null value in a string template.")
}

/// A part that is not a string.
pub(crate) fn unsuitable_part(error: &ConvertError) -> Problem {
    invalid(format!("Cannot include the given value in a string template: {error}."))
}

fn invalid(detail: impl Into<String>) -> Problem {
    Problem::new("Invalid template interpolation value", detail).cause(Cause::TemplatePart)
}

/// Whether the problem concerns the value of a part.
pub(crate) fn concerns_part(problem: &Problem) -> bool {
    problem.cause == Cause::TemplatePart
}
