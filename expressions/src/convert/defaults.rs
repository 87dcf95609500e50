//! Fills in the defaults of `optional(type, default)` attributes before a conversion.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::formula::{Formula, FormulaOp, TypeDefaults};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Entries, Kind, Refinement, Value};

use super::unknown_converted;
use crate::refine::{either, refine};
use crate::stack;

/// The name in [`TypeDefaults::children`] for the defaults of collection elements.
const ELEMENTS: &str = "";

/// The only attribute of the object in which [`or_default`] fills in a default.
const VALUE: SmolStr = SmolStr::new_static("value");

/// Replaces missing and null attributes with their defaults.
///
/// Objects use the defaults of their attributes. Lists, sets, tuples and maps use the defaults of their elements.
/// Without such defaults, a map is filled like an object. If the value is unknown as a whole, filling in the defaults
/// becomes part of its formula. Null stays null.
pub fn apply_defaults(value: &Value, defaults: &TypeDefaults) -> Value {
    if defaults.is_empty() {
        return value.clone();
    }
    stack::guarded(|| {
        let filled = match value.open().1 {
            Kind::Unknown(_) => return unknown_filled(value, defaults),
            Kind::Object(f) => {
                let entries = fill(f.entries(), defaults);
                Value::object(entries)
            }
            Kind::Map(f) => match defaults.children.get(ELEMENTS) {
                // Elements may get additional attributes and differ in type. The conversion gives them a common type
                // again.
                Some(child) => Value::object(f.iter().map(|(name, part)| (name.clone(), apply_defaults(part, child)))),
                None => Value::object(fill(f.entries(), defaults)),
            },
            Kind::List(s) | Kind::Tuple(s) | Kind::Set(s) => {
                let each = defaults.children.get(ELEMENTS);
                Value::tuple(
                    s.items()
                        .iter()
                        .enumerate()
                        .map(|(index, part)| match each.or_else(|| defaults.children.get(index.to_string().as_str())) {
                            Some(child) => apply_defaults(part, child),
                            None => part.clone(),
                        })
                        .collect(),
                )
            }
            _ => return value.clone(),
        };
        let filled = filled.mark(value.marks()).add_origin(value.origin());
        match value.formula() {
            None => filled,
            Some(formula) => filled.with_formula(Some(followed(formula, defaults))),
        }
    })
}

/// If only apply knows whether `value` is null, adds to its formula that apply replaces null with `default`. Any other
/// value is returned unchanged.
///
/// During planning, the refinements of the result hold for both the value and the default. The result usually has the
/// type of the value. If the value is a tuple and the default is a list or set, or if the value is an object and the
/// default is a map, the result has the type of the default. If both are tuples of different types, and the default is
/// not null, the type of the result is unknown. At apply, the default keeps its own type.
pub fn or_default(value: &Value, default: &Value) -> Value {
    if value.is_known() || value.refinement().is_some_and(|known| known.not_null) {
        return value.clone();
    }
    let formula = value.formula().map(|formula| {
        let ty = if default.ty() == *formula.ty() { default.ty() } else { Type::Dynamic };
        let range = formula.range().cloned();
        let object = FormulaOp::Object(vec![(VALUE, formula.clone())]);
        let object = Formula::new(object, Type::object([(VALUE, formula.ty().clone())]), range.clone());
        let values = BTreeMap::from([(VALUE, default.clone())]);
        let filled = followed(&object, &TypeDefaults { values, ..TypeDefaults::default() });
        Formula::new(FormulaOp::Attribute(filled, VALUE), ty, range)
    });
    value.carry_onto(&value_or(value, default)).with_formula(formula)
}

/// An unknown value that can be `value`, which is unknown, or `default`.
fn value_or(value: &Value, default: &Value) -> Value {
    let (own, other) = (value.ty(), default.ty());
    let ty = match (&own, &other) {
        (Type::Tuple(_), Type::List(_) | Type::Set(_)) | (Type::Object(_), Type::Map(_)) => other,
        (Type::Tuple(_), Type::Tuple(_)) if own != other && !default.is_null() => Type::Dynamic,
        _ => own.clone(),
    };
    let value = if ty == own { value.clone() } else { unknown_converted(value, &ty) };
    either(&value, default, &ty)
}

fn fill(entries: &Entries, defaults: &TypeDefaults) -> BTreeMap<SmolStr, Value> {
    let mut filled = entries.to_map();
    for (name, default) in &defaults.values {
        match filled.get_mut(name) {
            Some(part) if !part.is_known() => {
                let decided = or_default(part, default);
                *part = if default.is_null() { decided } else { refine(&decided, &Refinement::not_null()) };
            }
            // As in OpenTofu, the default is not sensitive because of the null that it replaces.
            Some(part) if part.is_null() => *part = default.clone(),
            Some(_) => {}
            None => drop(filled.insert(name.clone(), default.clone())),
        }
    }
    for (name, part) in &mut filled {
        if let Some(child) = defaults.children.get(name).or_else(|| defaults.children.get(ELEMENTS)) {
            *part = apply_defaults(part, child);
        }
    }
    filled
}

fn followed(formula: &Formula, defaults: &TypeDefaults) -> Formula {
    let op = FormulaOp::Defaults(formula.clone(), Arc::new(defaults.clone()));
    Formula::new(op, Type::Dynamic, formula.range().cloned())
}

/// The result for an unknown value: the same value, with its refinements. At apply, attributes may be added, so the
/// formula has the type [`Type::Dynamic`].
fn unknown_filled(value: &Value, defaults: &TypeDefaults) -> Value {
    match value.formula() {
        None => value.clone(),
        Some(formula) => value.with_formula(Some(followed(formula, defaults))),
    }
}
