//! Arguments whose values turn out at apply to have the wrong type.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use weft_graph_format::diagnostic::{Cause, Diagnostic};
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::schema::Block;
use weft_graph_format::source::SourceRange;

use crate::problems::wrong_argument;
use crate::subject::Problems;

/// Adds to each conversion error in `problems` the name of the argument whose value does not convert to its type.
/// `config` computes the configuration, as an object with the arguments and nested blocks. Without a schema in `block`,
/// nested blocks count as arguments.
pub(crate) fn of_arguments(config: Option<&Formula>, block: Option<&Block>, problems: Problems) -> Problems {
    let named = |problem: Diagnostic| {
        let at = problem.subject.as_ref().filter(|_| problem.cause == Cause::Conversion);
        match config.zip(at).and_then(|(config, at)| argument_at(config, block, at)) {
            Some(name) => wrong_argument(&name, problem),
            None => problem,
        }
    };
    problems.into_iter().map(named).collect()
}

/// The name of the argument whose value is converted at the place `at`, in a body or in its nested blocks. `body`
/// computes an object, or a collection of objects for a block that can occur several times. The recursion is as deep as
/// the schema.
fn argument_at(body: &Formula, block: Option<&Block>, at: &SourceRange) -> Option<SmolStr> {
    let mut pending = vec![body.clone()];
    let mut seen = FxHashSet::default();
    while let Some(formula) = pending.pop().filter(|formula| seen.insert(formula.identity())) {
        let parts = match formula.op() {
            FormulaOp::Object(parts) => parts,
            // Blocks that `dynamic` makes are converted together.
            FormulaOp::Convert(blocks, _) => {
                pending.push(blocks.clone());
                continue;
            }
            _ => {
                parts_of(&formula, &mut pending);
                continue;
            }
        };
        for (name, value) in parts {
            let found = match block.and_then(|block| block.blocks.get(name)) {
                Some(nested) => argument_at(value, Some(&nested.block), at),
                None => converts_at(value, at).then(|| name.clone()),
            };
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// Whether the value of an argument, or a part of it, is converted at this place. Conversions of a function's arguments
/// and conversions inside another conversion do not count: they belong to the expression, not to the argument.
fn converts_at(value: &Formula, at: &SourceRange) -> bool {
    let mut pending = vec![value.clone()];
    let mut seen = FxHashSet::default();
    if value.range() == Some(at) {
        return true;
    }
    while let Some(formula) = pending.pop() {
        match formula.op() {
            FormulaOp::Convert(..) if formula.range() == Some(at) => return true,
            FormulaOp::Convert(..) => {}
            _ if seen.insert(formula.identity()) => parts_of(&formula, &mut pending),
            _ => {}
        }
    }
    false
}

/// Adds the formulas of the parts of a value, in reverse order.
fn parts_of(formula: &Formula, pending: &mut Vec<Formula>) {
    match formula.op() {
        FormulaOp::Tuple(parts) | FormulaOp::List(_, parts) | FormulaOp::Set(_, parts) => {
            pending.extend(parts.iter().rev().cloned());
        }
        FormulaOp::Object(parts) | FormulaOp::Map(_, parts) => {
            pending.extend(parts.iter().rev().map(|(_, value)| value.clone()));
        }
        FormulaOp::ObjectOf(parts) => pending.extend(parts.iter().rev().map(|(_, value)| value.clone())),
        FormulaOp::For { value, .. } => pending.push(value.clone()),
        FormulaOp::Splat { body, .. } => pending.push(body.clone()),
        FormulaOp::Mark(value, _) | FormulaOp::Nonsensitive(value) | FormulaOp::Defaults(value, _) => {
            pending.push(value.clone());
        }
        FormulaOp::Conditional { yes, no, .. } => pending.extend([no.clone(), yes.clone()]),
        // Several `dynamic` blocks of one type are concatenated.
        FormulaOp::Call { function, arguments, .. } if function == "concat" => {
            pending.extend(arguments.iter().rev().cloned());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use weft_graph_format::schema::{NestedBlock, Nesting};
    use weft_graph_format::source::Position;
    use weft_graph_format::types::Type;
    use weft_graph_format::value::Value;

    use super::*;

    fn place(line: u32) -> SourceRange {
        let at = |column| Position { line, column, ..Position::START };
        SourceRange { file: "main.tf".into(), start: at(1), end: at(9) }
    }

    fn converted(line: u32) -> Formula {
        let value = Formula::constant(Value::string("x"));
        Formula::new(FormulaOp::Convert(value, Type::Number), Type::Number, Some(place(line)))
    }

    fn formula(op: FormulaOp) -> Formula {
        Formula::new(op, Type::Dynamic, None)
    }

    fn object(parts: &[(&str, Formula)]) -> Formula {
        formula(FormulaOp::Object(parts.iter().map(|(name, value)| ((*name).into(), value.clone())).collect()))
    }

    fn call(function: &str, argument: Formula) -> Formula {
        let arguments = vec![argument];
        formula(FormulaOp::Call { function: function.into(), arguments, expand_final: false, occurrence: None })
    }

    #[test]
    fn arguments_are_found_by_the_places_of_their_conversions() {
        let nested = NestedBlock { block: Block::default(), nesting: Nesting::List, min_items: 0, max_items: 0 };
        let block = Block { blocks: BTreeMap::from([("step".into(), nested)]), ..Block::default() };
        let shared = converted(7);
        let body = object(&[
            ("a", converted(1)),
            ("list", formula(FormulaOp::Tuple(vec![converted(2)]))),
            ("tags", object(&[("owner", converted(3))])),
            ("step", formula(FormulaOp::Tuple(vec![object(&[("command", converted(4))])]))),
            ("inner", formula(FormulaOp::Convert(converted(5), Type::String))),
            ("called", call("length", converted(6))),
            ("first", shared.clone()),
            ("second", shared),
        ]);
        for (line, want) in [
            (1, Some("a")),
            (2, Some("list")),
            (3, Some("tags")),
            (4, Some("command")),
            (5, None),
            (6, None),
            (7, Some("first")),
            (8, None),
        ] {
            assert_eq!(argument_at(&body, Some(&block), &place(line)).as_deref(), want, "{line}");
        }
        assert_eq!(argument_at(&body, None, &place(4)).as_deref(), Some("step"));
    }
}
