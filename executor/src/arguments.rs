//! Arguments whose values turn out at apply to have the wrong type.

use rustc_hash::FxHashSet;
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
            Some(name) => wrong_argument(&name, problem),
            None => problem,
        }
    };
    problems.into_iter().map(named).collect()
}

/// The argument whose expression contains the formula at this place, in the object or in its nested blocks.
fn argument_at(config: &Formula, at: &SourceRange) -> Option<SmolStr> {
    let mut pending: Vec<(Formula, Option<SmolStr>)> = vec![(config.clone(), None)];
    let mut seen = FxHashSet::default();
    while let Some((formula, argument)) = pending.pop() {
        if argument.is_some() && formula.range() == Some(at) {
            return argument;
        }
        if !seen.insert(formula.identity()) {
            continue;
        }
        match formula.op() {
            FormulaOp::Object(parts) | FormulaOp::Map(_, parts) => {
                pending.extend(parts.iter().map(|(name, value)| (value.clone(), Some(name.clone()))));
            }
            _ => formula.operands(|operand| pending.push((operand.clone(), argument.clone()))),
        }
    }
    None
}
