//! The symbolic side of operators and functions: how their results get formulas and origins.
//!
//! Invariants of every value that this crate returns:
//! - Every unknown part has a formula, or one of its containers has a formula, unless an input was unknown without a
//!   formula.
//! - Running the formula of a value gives the final content and marks. The value during planning has at least these
//!   marks.
//! - A *provisional* value is known but has a formula, because it may change at apply. If a result depends on such a
//!   value, the formula of the result includes the formula of the value.

use std::collections::BTreeMap;

use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::ValueStep;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

use crate::stack;

/// How the result of a call relates to the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// The result consists of unchanged parts of the arguments, which keep their formulas.
    Parts,
    /// The result consists of changed parts of the arguments. Each part of the result gets its formula from the call.
    Whole,
    /// The result is a new value, without parts of the arguments.
    Nothing,
}

/// The combined origin: everything that must happen before the values may be used.
pub fn joined_origin(values: &[Value]) -> Option<Origin> {
    Origin::union(values.iter().filter_map(Value::deep_origin))
}

/// Adds the formula and origin to the result of a call. `formula` creates the formula of the call for the given type.
/// `formula` is called only if needed.
pub fn attach(result: Value, arguments: &[Value], passing: Passing, formula: &dyn Fn(Type) -> Formula) -> Value {
    let mut symbolic = false;
    let mut provisional = false;
    let mut origins = false;
    for argument in arguments {
        let deep = argument.deep();
        symbolic |= deep.unknown || deep.formula;
        provisional |= deep.provisional;
        origins |= deep.origin;
    }
    let unexplained = result.deep().unexplained;
    // A result may be known although arguments are unknown. Such a result is only valid if the call cannot fail at
    // apply. If the result consists of parts of an argument, failures of the unused parts do not matter. The argument
    // as a whole must not be able to fail.
    let can_fail = || {
        if !symbolic {
            return false;
        }
        let whole = (passing == Passing::Nothing || result.ty().is_primitive()) && !result.deep().unknown;
        arguments.iter().any(|argument| match argument.formula() {
            Some(formula) => formula.can_fail(),
            None => whole && argument.deep().formula && argument.to_formula().can_fail(),
        })
    };
    // A new value does not share parts with arguments, so it does not keep their formulas.
    let renewed = || passing == Passing::Nothing && symbolic && result.deep().formula;
    let whole = passing == Passing::Whole && symbolic;
    let everything = provisional || whole || can_fail() || renewed();
    let result = if everything {
        let call = formula(result.ty());
        replace_formulas(&result, &call)
    } else if unexplained {
        let call = formula(result.ty());
        explain(&result, &call)
    } else {
        result
    };
    if !origins {
        return result;
    }
    let origin = if passing == Passing::Parts && !everything && !unexplained {
        Origin::union(arguments.iter().filter_map(|a| a.origin().cloned()))
    } else {
        joined_origin(arguments)
    };
    result.add_origin(origin.as_ref())
}

/// The formula for the part of `formula` at one step.
pub fn part(formula: &Formula, step: &ValueStep, ty: Type) -> Formula {
    let range = formula.range().cloned();
    // The path is extended only by a step that cannot fail. Other steps report their errors when the formula runs.
    let certain = match (formula.ty(), step) {
        (Type::Object(object), ValueStep::Attribute(name) | ValueStep::Key(name)) => {
            object.attributes.contains_key(name)
        }
        (Type::Tuple(items), ValueStep::Index(index)) => *index < items.len() as u64,
        _ => false,
    };
    let op = match (formula.op(), step) {
        (FormulaOp::Result(operation, path), step) if certain => {
            let step = match step {
                ValueStep::Key(name) => ValueStep::Attribute(name.clone()),
                other => other.clone(),
            };
            FormulaOp::Result(*operation, path.with(step))
        }
        (_, ValueStep::Attribute(name)) => FormulaOp::Attribute(formula.clone(), name.clone()),
        (_, ValueStep::Key(key)) => FormulaOp::Index(formula.clone(), Formula::constant(Value::string(key))),
        (_, ValueStep::Index(index)) => {
            let index = Value::number(weft_graph_format::number::Number::from_u64(*index));
            FormulaOp::Index(formula.clone(), Formula::constant(index))
        }
    };
    Formula::new(op, ty, range)
}

/// Gives each unknown part without a formula its part of `formula`. A set gets the formula as a whole, unless it has
/// exactly one element.
pub fn explain(value: &Value, formula: &Formula) -> Value {
    if !value.deep().unexplained {
        return value.clone();
    }
    spread(value, formula, false)
}

/// Gives the value and all its parts, known or unknown, their part of `formula`.
pub fn replace_formulas(value: &Value, formula: &Formula) -> Value {
    spread(value, formula, true)
}

fn spread(value: &Value, formula: &Formula, all: bool) -> Value {
    stack::guarded(|| {
        if !all && !value.deep().unexplained {
            return value.clone();
        }
        let own = |v: &Value| v.with_formula(Some(formula.clone()));
        match value.open().1 {
            Kind::Set(set) if set.len() == 1 && value.deep().unknown => {
                let ty = Type::list(set.element_type());
                let range = formula.range().cloned();
                let list = Formula::new(FormulaOp::Convert(formula.clone(), ty.clone()), ty, range);
                let below = part(&list, &ValueStep::Index(0), set.element_type());
                let only = set.items().iter().map(|found| spread(found, &below, all)).collect();
                let rebuilt = value.carry_onto(&Value::set(set.element_type(), only));
                if all { own(&rebuilt) } else { rebuilt }
            }
            Kind::Unknown(_) | Kind::Set(_) => own(value),
            Kind::Null(_) | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => {
                if all {
                    own(value)
                } else {
                    value.clone()
                }
            }
            _ => {
                let rebuilt = map_parts(value, &mut |step, found| {
                    // If only apply knows the type of the whole, it also decides the types of the parts.
                    let ty = if *formula.ty() == Type::Dynamic { Type::Dynamic } else { found.ty() };
                    let below = part(formula, step, ty);
                    spread(found, &below, all)
                });
                if all { own(&rebuilt) } else { rebuilt }
            }
        }
    })
}

/// Replaces each part of a list, tuple, map or object with the result of `change`, which must keep the types. The
/// marks, formula and origin of the container stay. Other values, including sets, are returned unchanged.
pub fn map_parts(value: &Value, change: &mut dyn FnMut(&ValueStep, &Value) -> Value) -> Value {
    let mut items = |items: &[Value]| -> Vec<Value> {
        items.iter().enumerate().map(|(i, item)| change(&ValueStep::Index(i as u64), item)).collect()
    };
    let rebuilt = match value.open().1 {
        Kind::List(list) => Value::list(list.element_type(), items(list.items())),
        Kind::Tuple(tuple) => Value::tuple(items(tuple.items())),
        Kind::Map(map) => {
            let entries: BTreeMap<_, _> =
                map.iter().map(|(key, item)| (key.clone(), change(&ValueStep::Key(key.clone()), item))).collect();
            Value::map(map.element_type(), entries)
        }
        Kind::Object(object) => Value::object(
            object.iter().map(|(name, item)| (name.clone(), change(&ValueStep::Attribute(name.clone()), item))),
        ),
        _ => return value.clone(),
    };
    value.carry_onto(&rebuilt)
}
