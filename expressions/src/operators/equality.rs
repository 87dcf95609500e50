//! Equality of values, as far as it is known.

use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Refinement, Value};

use crate::refine::{definitely_not_null, length_bounds};
use crate::stack;

/// Whether two values are equal, or `None` if the answer is known only at apply. Values of different types are not
/// equal, but nulls are equal whatever their types. Marks are ignored.
pub fn equal(a: &Value, b: &Value) -> Option<bool> {
    stack::guarded(|| compare(a, b))
}

fn compare(a: &Value, b: &Value) -> Option<bool> {
    match (a.is_null(), b.is_null()) {
        (true, true) => return Some(true),
        (true, false) => return if definitely_not_null(b) { Some(false) } else { None },
        (false, true) => return if definitely_not_null(a) { Some(false) } else { None },
        (false, false) => {}
    }
    if a.is_known() && b.is_known() {
        if has_open_part(a) || has_open_part(b) {
            // As in OpenTofu, other parts do not decide, even if they differ.
            return if may_match(&a.ty(), &b.ty()) { None } else { Some(false) };
        }
        if a.ty() != b.ty() {
            return Some(false);
        }
    }
    let (left, right) = (a.open().1, b.open().1);
    match (left, right) {
        // Both may turn out to be null, and nulls of any types are equal.
        (Kind::Unknown(_), Kind::Unknown(_)) => None,
        (Kind::Unknown(u), _) => excluded(&u.ty, &u.refinement, b).then_some(false),
        (_, Kind::Unknown(u)) => excluded(&u.ty, &u.refinement, a).then_some(false),
        (Kind::Bool(x), Kind::Bool(y)) => Some(x == y),
        (Kind::Number(x), Kind::Number(y)) => Some(x == y),
        (Kind::String(x), Kind::String(y)) => Some(x == y),
        (Kind::Provider(x), Kind::Provider(y)) => Some(x == y),
        (Kind::Tuple(x), Kind::Tuple(y)) => all_equal(x.items().iter().zip(y.items())),
        (Kind::Object(x), Kind::Object(y)) => all_equal(x.entries().values().zip(y.entries().values())),
        (Kind::List(x), Kind::List(y)) => {
            if x.len() != y.len() {
                Some(false)
            } else {
                all_equal(x.items().iter().zip(y.items()))
            }
        }
        (Kind::Map(x), Kind::Map(y)) => {
            if !x.entries().keys().eq(y.entries().keys()) {
                Some(false)
            } else {
                all_equal(x.entries().values().zip(y.entries().values()))
            }
        }
        (Kind::Set(x), Kind::Set(y)) => {
            // An element that is unknown as a whole may become any other element.
            if [x, y].iter().any(|set| set.items().iter().any(|item| !item.is_known())) {
                return None;
            }
            if a.deep().unknown || b.deep().unknown {
                // OpenTofu counts elements with unknown parts as different. They may still become equal.
                let ((a_min, a_max), (b_min, b_max)) = (length_bounds(a), length_bounds(b));
                let apart = a_max.is_some_and(|m| m < b_min) || b_max.is_some_and(|m| m < a_min);
                return apart.then_some(false);
            }
            // Sets are ordered by content, so equal sets have equal elements in the same order.
            Some(x.len() == y.len() && x.items().iter().zip(y.items()).all(|(x, y)| equal(x, y) == Some(true)))
        }
        _ => Some(false),
    }
}

fn all_equal<'a>(pairs: impl Iterator<Item = (&'a Value, &'a Value)>) -> Option<bool> {
    let mut open = false;
    for (x, y) in pairs {
        match equal(x, y) {
            Some(false) if !open => return Some(false),
            // Like cty, ignore a differing pair if an earlier pair is undecided.
            Some(false) | None => open = true,
            Some(true) => {}
        }
    }
    if open { None } else { Some(true) }
}

/// Whether a part of the value is unknown and its type is not known completely.
fn has_open_part(value: &Value) -> bool {
    if !value.deep().unknown {
        return false;
    }
    let mut open = false;
    value.visit(&mut |_, part| {
        if let Kind::Unknown(unknown) = part.open().1 {
            open |= unknown.ty.has_dynamic();
        }
    });
    open
}

/// Whether both types can become the same type. An open part may become any type.
fn may_match(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dynamic, _) | (_, Type::Dynamic) => true,
        (Type::List(x), Type::List(y)) | (Type::Set(x), Type::Set(y)) | (Type::Map(x), Type::Map(y)) => may_match(x, y),
        (Type::Tuple(x), Type::Tuple(y)) => x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| may_match(x, y)),
        (Type::Object(x), Type::Object(y)) => {
            x.attributes.keys().eq(y.attributes.keys())
                && x.attributes.values().zip(y.attributes.values()).all(|(x, y)| may_match(x, y))
        }
        _ => a == b,
    }
}

/// Whether an unknown value of this type and refinement cannot become this known, non-null value.
fn excluded(ty: &Type, known: &Refinement, value: &Value) -> bool {
    let have = value.ty();
    if !may_match(ty, &have) || (!ty.has_dynamic() && !value.deep().unknown && *ty != have) {
        return true;
    }
    match value.open().1 {
        Kind::String(text) => !known.prefix.is_empty() && !text.starts_with(known.prefix.as_str()),
        Kind::Number(number) => {
            let under = known.min.as_ref().is_some_and(|(min, included)| number < min || (number == min && !included));
            let over = known.max.as_ref().is_some_and(|(max, included)| number > max || (number == max && !included));
            under || over
        }
        Kind::List(_) | Kind::Set(_) | Kind::Map(_) => {
            let (low, high) = length_bounds(value);
            known.length_max.is_some_and(|max| low > max) || high.is_some_and(|high| high < known.length_min)
        }
        _ => false,
    }
}
