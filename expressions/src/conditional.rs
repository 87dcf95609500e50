//! `condition ? yes : no`: the common type of both results, and the value while the condition is unknown.

use weft_graph_format::number::Number;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Refinement, Value};

use crate::access::Problem;
use crate::convert::{Safety, convert, unify};
use crate::problems::conditionals as problems;
use crate::refine::{definitely_not_null, length_bounds};

/// The type that both results are converted to. An untyped null takes the type of the other result.
pub fn result_type(yes: &Value, no: &Value) -> Result<Type, Problem> {
    let untyped_null = |v: &Value| v.is_null() && v.ty() == Type::Dynamic;
    if untyped_null(yes) {
        return Ok(no.ty());
    }
    if untyped_null(no) {
        return Ok(yes.ty());
    }
    let (yes, no) = (yes.ty(), no.ty());
    if yes == Type::Dynamic || no == Type::Dynamic {
        return Ok(Type::Dynamic);
    }
    unify(&[yes.clone(), no.clone()], Safety::Unsafe).ok_or_else(|| problems::no_common_type(&yes, &no))
}

/// Converts a chosen result to the common type. `which` is `true` or `false`.
pub fn convert_result(value: &Value, ty: &Type, which: &str) -> Result<Value, Problem> {
    convert(value, ty).map_err(|error| problems::unsuitable_result(which, &error))
}

/// The condition as a boolean, known or unknown. As in OpenTofu, the type of an unknown condition is not checked.
pub fn condition_value(condition: &Value) -> Result<Value, Problem> {
    if condition.is_null() {
        return Err(problems::null_condition());
    }
    if !condition.is_known() {
        return Ok(condition.carry_onto(&Value::unknown(Type::Bool)));
    }
    convert(condition, &Type::Bool).map_err(|_| problems::unsuitable_condition())
}

/// The result while the condition is unknown. It is null if both results are null. Otherwise, it is an unknown value
/// with the refinements that hold for both results. In either case, it has the marks of all three values, and no
/// formula or origin.
pub fn undecided(condition: &Value, yes: &Value, no: &Value, ty: &Type) -> Value {
    let marks = condition.marks().union(yes.marks()).union(no.marks());
    if yes.is_null() && no.is_null() {
        return Value::null(ty.clone()).mark(&marks);
    }
    let mut known =
        Refinement { not_null: definitely_not_null(yes) && definitely_not_null(no), ..Refinement::default() };
    let (yes_type, no_type) = (yes.ty(), no.ty());
    if yes_type == Type::Number && no_type == Type::Number {
        known.min = outer(bound(yes, false), bound(no, false), |a, b| a < b);
        known.max = outer(bound(yes, true), bound(no, true), |a, b| a > b);
    } else if yes_type.is_collection() && yes_type == no_type {
        let ((yes_low, yes_high), (no_low, no_high)) = (length_bounds(yes), length_bounds(no));
        known.length_min = yes_low.min(no_low);
        known.length_max = yes_high.zip(no_high).map(|(a, b)| a.max(b));
        if yes.is_null() || no.is_null() {
            known.length_min = 0;
            known.length_max = None;
        }
    }
    if *ty == Type::Dynamic {
        known = Refinement::default();
    }
    Value::refined(ty.clone(), known).mark(&marks)
}

fn bound(value: &Value, upper: bool) -> Option<(Number, bool)> {
    if let Some(number) = value.as_number() {
        return Some((number.clone(), true));
    }
    let refinement = value.refinement()?;
    if upper { refinement.max.clone() } else { refinement.min.clone() }
}

fn outer(
    a: Option<(Number, bool)>,
    b: Option<(Number, bool)>,
    farther: fn(&Number, &Number) -> bool,
) -> Option<(Number, bool)> {
    let (a, b) = a.zip(b)?;
    Some(if a.0 == b.0 {
        (a.0, a.1 || b.1)
    } else if farther(&a.0, &b.0) {
        a
    } else {
        b
    })
}
