//! Problems of conditionals. The summaries become those of a `Diagnostic`.

use weft_graph_format::types::Type;

use super::Problem;
use crate::convert::{ConvertError, Safety, unify};

const INCONSISTENT: &str = "Inconsistent conditional result types";

/// Results without a common type.
pub(crate) fn no_common_type(yes: &Type, no: &Type) -> Problem {
    let mismatch = describe_mismatch(yes, no);
    let detail = format!("The true and false result expressions must have consistent types. {mismatch}");
    Problem::new(INCONSISTENT, detail)
}

/// A chosen result that does not convert to the common type. `which` is `true` or `false`.
pub(crate) fn unsuitable_result(which: &str, error: &ConvertError) -> Problem {
    Problem::new(INCONSISTENT, format!("The {which} result value has the wrong type: {error}."))
}

/// A chosen result whose parts have different types, although the common type, a list or map, has no element type.
pub(crate) fn parts_differ(which: &str, common: &Type) -> Problem {
    let kind = if matches!(common, Type::Map(_)) { "map" } else { "list" };
    let detail = format!("The {which} result value has the wrong type: all {kind} elements must have the same type.");
    Problem::new(INCONSISTENT, detail)
}

/// A null condition.
pub(crate) fn null_condition() -> Problem {
    Problem::new("Null condition", "The condition value is null. Conditions must either be true or false.")
}

/// A condition that is not a truth value.
pub(crate) fn unsuitable_condition() -> Problem {
    Problem::new("Incorrect condition type", "The condition expression must be of type bool.")
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
        return "The types of a nested attribute or element are not compatible in the 'true' and the 'false' value."
            .to_owned();
    }
    format!("The 'true' value is {yes}, but the 'false' value is {no}.")
}
