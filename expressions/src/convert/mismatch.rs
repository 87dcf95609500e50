//! Explains why a type does not convert to another type.

use weft_graph_format::types::{ObjectType, Type};

use super::{Safety, can_convert};

/// The message for a value of type `have` where `want` is required, without a full stop.
pub fn mismatch_message(have: &Type, want: &Type) -> String {
    let unsuitable = |h: &Type, w: &Type| !can_convert(h, w, Safety::Unsafe);
    match (have, want) {
        (Type::Object(h), Type::Object(w)) => object_message(h, w),
        (Type::Tuple(_), Type::List(w)) if **w == Type::Dynamic => {
            "all list elements must have the same type".to_owned()
        }
        (Type::Tuple(_), Type::Set(w)) if **w == Type::Dynamic => "all set elements must have the same type".to_owned(),
        (Type::Object(_), Type::Map(w)) if **w == Type::Dynamic => {
            "all map elements must have the same type".to_owned()
        }
        (Type::Tuple(h), Type::List(w) | Type::Set(w)) => {
            for (index, part) in h.iter().enumerate() {
                if unsuitable(part, w) {
                    return format!("element {index}: {}", mismatch_message(part, w));
                }
            }
            required(have, want)
        }
        (Type::Object(h), Type::Map(w)) => {
            for (name, part) in &h.attributes {
                if unsuitable(part, w) {
                    return format!("element {name:?}: {}", mismatch_message(part, w));
                }
            }
            required(have, want)
        }
        (Type::List(h) | Type::Set(h), Type::List(w)) => {
            format!("incorrect list element type: {}", mismatch_message(h, w))
        }
        (Type::List(h) | Type::Set(h), Type::Set(w)) => {
            format!("incorrect set element type: {}", mismatch_message(h, w))
        }
        (Type::Map(h), Type::Map(w)) => format!("incorrect map element type: {}", mismatch_message(h, w)),
        (Type::Tuple(h), Type::Tuple(w)) if h.len() == w.len() => {
            for (index, (h, w)) in h.iter().zip(w.iter()).enumerate() {
                if unsuitable(h, w) {
                    return format!("element {index}: {}", mismatch_message(h, w));
                }
            }
            required(have, want)
        }
        _ => required(have, want),
    }
}

fn required(have: &Type, want: &Type) -> String {
    let want_name = constraint_name(want);
    let have_name = have.friendly_name();
    if *have == Type::Dynamic || have_name == want_name {
        format!("{want_name} required")
    } else {
        format!("{want_name} required, but have {have_name}")
    }
}

/// Like [`Type::friendly_name`], with `any type` and `any single type` for open types.
fn constraint_name(ty: &Type) -> String {
    match ty {
        Type::Dynamic => "any type".to_owned(),
        Type::List(t) if **t == Type::Dynamic => "list of any single type".to_owned(),
        Type::Set(t) if **t == Type::Dynamic => "set of any single type".to_owned(),
        Type::Map(t) if **t == Type::Dynamic => "map of any single type".to_owned(),
        Type::List(t) => format!("list of {}", constraint_name(t)),
        Type::Set(t) => format!("set of {}", constraint_name(t)),
        Type::Map(t) => format!("map of {}", constraint_name(t)),
        other => other.friendly_name(),
    }
}

fn object_message(have: &ObjectType, want: &ObjectType) -> String {
    let mut missing = Vec::new();
    let mut nested = None;
    for (name, want_type) in &want.attributes {
        match have.attributes.get(name) {
            None => {
                if !want.optional.contains(name) {
                    missing.push(format!("{:?}", name.as_str()));
                }
            }
            Some(have_type) => {
                if nested.is_none() && !can_convert(have_type, want_type, Safety::Unsafe) {
                    nested = Some(format!("attribute {name:?}: {}", mismatch_message(have_type, want_type)));
                }
            }
        }
    }
    match (missing.as_slice(), nested) {
        ([], Some(nested)) => nested,
        ([], None) => "incorrect object attributes".to_owned(),
        ([one], _) => format!("attribute {one} is required"),
        ([one, two], _) => format!("attributes {one} and {two} are required"),
        ([firsts @ .., last], _) => format!("attributes {}, and {last} are required", firsts.join(", ")),
    }
}
