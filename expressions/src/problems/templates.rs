//! Problems of the parts of templates. The summaries become those of a `Diagnostic`.

use super::Problem;
use crate::convert::ConvertError;

const INVALID_PART: &str = "Invalid template interpolation value";

/// A null part.
pub(crate) fn null_part() -> Problem {
    Problem::new(INVALID_PART, "The expression result is null. Cannot include a null value in a string template.")
}

/// A part that is not a string.
pub(crate) fn unsuitable_part(error: &ConvertError) -> Problem {
    Problem::new(INVALID_PART, format!("Cannot include the given value in a string template: {error}."))
}

/// Whether the problem concerns the value of a part.
pub(crate) fn concerns_part(problem: &Problem) -> bool {
    problem.summary == INVALID_PART
}
