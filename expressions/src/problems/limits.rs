//! Problems of expressions that exceed a limit. The summaries become those of a `Diagnostic`.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::value::Excess;

use super::Problem;

/// A value that is too large.
pub(crate) fn too_large(excess: Excess) -> Problem {
    let detail = format!(
        "The result of this expression exceeds a limit: {excess}. Look for nested loops, and for values that repeat \
         another large value many times."
    );
    match excess {
        Excess::Depth => Problem::new("Value nested too deeply", detail),
        Excess::Parts | Excess::Text | Excess::OneText => Problem::new("Value too large", detail),
    }
}

/// An expression that takes more than `limit` steps.
pub(crate) fn too_many_steps(limit: u64) -> Problem {
    Problem::new(
        "Expression takes too long",
        format!(
            "The evaluation of this expression was stopped after {limit} steps. Look for nested loops, and for loops \
             that read a large value in each iteration."
        ),
    )
}

/// Templates that evaluate one another more than `limit` levels deep.
pub(crate) fn templates_too_deep(limit: u32) -> Diagnostic {
    let detail = format!("Templates can evaluate other templates at most {limit} levels deep.");
    Diagnostic::error("Templates nested too deeply", detail)
}
