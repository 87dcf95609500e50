//! `condition ? yes : no`: the common type of both results, and what is known while the condition is not.

use weft_graph_format::number::Number;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Refinement, Value};

use crate::access::Problem;
use crate::convert::{Safety, convert, unify};
use crate::refine::{definitely_not_null, length_bounds};

const INCONSISTENT: &str = "Inconsistent conditional result types";

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
    unify(&[yes.clone(), no.clone()], Safety::Unsafe).ok_or_else(|| {
        Problem::new(
            INCONSISTENT,
            format!(
                "The true and false result expressions must have consistent types. {}",
                describe_mismatch(&yes, &no)
            ),
        )
    })
}

/// Converts a chosen result to the common type. `which` is `true` or `false`.
pub fn convert_result(value: &Value, ty: &Type, which: &str) -> Result<Value, Problem> {
    convert(value, ty)
        .map_err(|e| Problem::new(INCONSISTENT, format!("The {which} result value has the wrong type: {e}.")))
}

/// The condition as a boolean, known or unknown.
pub fn condition_value(condition: &Value) -> Result<Value, Problem> {
    if condition.is_null() {
        return Err(Problem::new(
            "Null condition",
            "The condition value is null. Conditions must either be true or false.",
        ));
    }
    convert(condition, &Type::Bool)
        .map_err(|_| Problem::new("Incorrect condition type", "The condition expression must be of type bool."))
}

/// What is known of the result while the condition is not: an unknown value, or null if both results are null. The
/// value has the marks of all three, and no formula or origin.
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

/// Describes the difference between the types of the two results.
fn describe_mismatch(yes: &Type, no: &Type) -> String {
    match (yes, no) {
        (Type::Object(y), Type::Object(n)) => {
            for name in y.attributes.keys() {
                if !n.attributes.contains_key(name) {
                    return format!(
                        "The 'true' value includes object attribute {name:?}, which is absent in the 'false' value."
                    );
                }
            }
            for name in n.attributes.keys() {
                if !y.attributes.contains_key(name) {
                    return format!(
                        "The 'false' value includes object attribute {name:?}, which is absent in the 'true' value."
                    );
                }
            }
            for (name, yes) in &y.attributes {
                if let Some(no) = n.attributes.get(name)
                    && unify(&[yes.clone(), no.clone()], Safety::Unsafe).is_none()
                {
                    return format!("Type mismatch for object attribute {name:?}: {}", describe_mismatch(yes, no));
                }
            }
        }
        (Type::Tuple(y), Type::Tuple(n)) => {
            if y.len() != n.len() {
                return format!(
                    "The 'true' tuple has length {}, but the 'false' tuple has length {}.",
                    y.len(),
                    n.len()
                );
            }
            for (index, (yes, no)) in y.iter().zip(n.iter()).enumerate() {
                if unify(&[yes.clone(), no.clone()], Safety::Unsafe).is_none() {
                    return format!("Type mismatch for tuple element {index}: {}", describe_mismatch(yes, no));
                }
            }
        }
        (Type::List(y), Type::List(n)) => {
            return format!("Mismatched list element types: {}", describe_mismatch(y, n));
        }
        (Type::Set(y), Type::Set(n)) => return format!("Mismatched set element types: {}", describe_mismatch(y, n)),
        (Type::Map(y), Type::Map(n)) => return format!("Mismatched map element types: {}", describe_mismatch(y, n)),
        _ => {}
    }
    let (yes, no) = (yes.friendly_name(), no.friendly_name());
    if yes == no {
        return "At least one deeply-nested attribute or element is not compatible across both the 'true' and the \
                'false' value."
            .to_owned();
    }
    format!("The 'true' value is {yes}, but the 'false' value is {no}.")
}
