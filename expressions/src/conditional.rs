//! `condition ? yes : no`: the common type of both results, and the value while the condition is unknown.

use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::access::Problem;
use crate::convert::{Safety, convert, unify};
use crate::problems::conditionals as problems;

/// The type that both results are converted to. An untyped null takes the type of the other result, unless the null is
/// marked.
pub fn result_type(yes: &Value, no: &Value) -> Result<Type, Problem> {
    let untyped_null = |v: &Value| v.is_null() && v.ty() == Type::Dynamic && v.marks().is_empty();
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

/// Converts a chosen result to the common type. `other` is the type of the other result, and `which` is `true` or
/// `false`.
pub fn convert_result(value: &Value, other: &Type, ty: &Type, which: &str) -> Result<Value, Problem> {
    if lacks_one_type(&value.ty(), other, ty) {
        return Err(problems::parts_differ(which, ty));
    }
    convert(value, ty).map_err(|error| problems::unsuitable_result(which, &error))
}

/// Whether a tuple or object has parts of different types, and becomes a list or map whose element type is open,
/// because the other result is a list or map. In this case, as in OpenTofu, a conditional does not look for a common
/// type of the parts.
fn lacks_one_type(have: &Type, other: &Type, want: &Type) -> bool {
    let parts: Vec<&Type> = match (have, other, want) {
        (Type::Tuple(parts), Type::List(_), Type::List(element)) if **element == Type::Dynamic => {
            parts.iter().collect()
        }
        (Type::Object(object), Type::Map(_), Type::Map(element)) if **element == Type::Dynamic => {
            object.attributes.values().collect()
        }
        _ => return false,
    };
    parts.windows(2).any(|pair| pair[0] != pair[1])
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
