//! Arguments whose values turn out at apply to have the wrong type.

use smol_str::SmolStr;
use weft_graph_format::diagnostic::{Cause, Diagnostic};
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::source::SourceRange;

use crate::problems::wrong_argument;
use crate::subject::Problems;

/// Names the arguments in `problems` whose values do not convert to their types. `config` computes the configuration, as
/// an object with the arguments and nested blocks.
pub(crate) fn of_arguments(config: Option<&Formula>, problems: Problems) -> Problems {
    let named = |problem: Diagnostic| {
        let at = problem.subject.as_ref().filter(|_| problem.cause == Cause::Conversion);
        match config.zip(at).and_then(|(config, at)| argument_at(config, at)) {
            Some(name) => wrong_argument(name, problem),
            None => problem,
        }
    };
    problems.into_iter().map(named).collect()
}

/// The argument whose expression is at this place, in the object or in its nested blocks.
fn argument_at<'f>(config: &'f Formula, at: &SourceRange) -> Option<&'f SmolStr> {
    let mut pending = vec![config];
    while let Some(formula) = pending.pop() {
        match formula.op() {
            FormulaOp::Object(parts) | FormulaOp::Map(_, parts) => {
                if let Some((name, _)) = parts.iter().find(|(_, value)| value.range() == Some(at)) {
                    return Some(name);
                }
                pending.extend(parts.iter().map(|(_, value)| value));
            }
            FormulaOp::Tuple(parts) | FormulaOp::List(_, parts) | FormulaOp::Set(_, parts) => pending.extend(parts),
            _ => {}
        }
    }
    None
}
