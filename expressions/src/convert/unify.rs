//! Which types can be converted to which, and the common type of several types.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::types::Type;

use super::replaced_dynamic;

/// The conversions that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safety {
    /// Only conversions that succeed for every value.
    Safe,
    /// All conversions, including those that fail for some values.
    Unsafe,
}

/// Whether values of type `have` can be converted to `want`. With [`Safety::Unsafe`], the conversion may still fail for
/// some values.
pub fn can_convert(have: &Type, want: &Type, safety: Safety) -> bool {
    let every = |mut parts: Box<dyn Iterator<Item = &Type> + '_>, want: &Type| -> bool {
        parts.all(|part| can_convert(part, want, safety))
    };
    match (have, want) {
        (_, Type::Dynamic) => true,
        (Type::Dynamic, _) => safety == Safety::Unsafe,
        (Type::Bool, Type::Bool) | (Type::Number, Type::Number) | (Type::String, Type::String) => true,
        (Type::Provider(h), Type::Provider(w)) => h == w,
        (Type::Bool | Type::Number, Type::String) => true,
        (Type::String, Type::Bool | Type::Number) => safety == Safety::Unsafe,
        (Type::List(h) | Type::Set(h), Type::List(w) | Type::Set(w)) | (Type::Map(h), Type::Map(w)) => {
            h == w || can_convert(h, w, safety)
        }
        (Type::Tuple(h), Type::List(w) | Type::Set(w)) => {
            if **w == Type::Dynamic {
                has_single_type(h, safety, matches!(want, Type::List(_)))
            } else {
                every(Box::new(h.iter()), w)
            }
        }
        (Type::Object(h), Type::Map(w)) => {
            if **w == Type::Dynamic {
                let parts: Vec<Type> = h.attributes.values().cloned().collect();
                match unify(&parts, safety) {
                    Some(found) => found == Type::Dynamic || become_one(&parts, &found, true),
                    None => parts.is_empty(),
                }
            } else {
                every(Box::new(h.attributes.values()), w)
            }
        }
        (Type::Tuple(h), Type::Tuple(w)) => {
            h.len() == w.len() && h.iter().zip(w.iter()).all(|(h, w)| can_convert(h, w, safety))
        }
        (Type::Object(h), Type::Object(w)) => w.attributes.iter().all(|(name, w_type)| match h.attributes.get(name) {
            Some(h_type) => can_convert(h_type, w_type, safety),
            None => w.optional.contains(name),
        }),
        (Type::Map(h), Type::Object(w)) => {
            // An optional attribute may have any type, because the map may have no element for it.
            let mut attributes = w.attributes.iter();
            safety == Safety::Unsafe
                && attributes.all(|(name, w_type)| w.optional.contains(name) || can_convert(h, w_type, safety))
        }
        _ => false,
    }
}

/// Whether tuple elements of these types can form one list or set with an open element type. If one type is open, the
/// others must be open or primitive. Maps follow a less strict rule in [`can_convert`]. `again` says whether the
/// elements may be converted a second time. It is true for lists and false for sets.
fn has_single_type(types: &[Type], safety: Safety, again: bool) -> bool {
    match unify(types, safety) {
        Some(Type::Dynamic) => types.iter().all(|t| *t == Type::Dynamic),
        Some(found) => become_one(types, &found, again),
        None => types.is_empty(),
    }
}

/// Whether values of these types have one type after conversion to `found`, which may contain dynamic parts. For
/// example, `[true, null]` and `[[1]]` do not have one type after conversion to `list(any)`: they become lists of
/// different types. If `again` is set, the results may be converted once more, to a type without dynamic parts.
fn become_one(types: &[Type], found: &Type, again: bool) -> bool {
    if !found.has_dynamic() {
        return true;
    }
    let mut became: Vec<Type> = types.iter().map(|have| replaced_dynamic(have, found)).collect();
    became.dedup();
    became.len() <= 1 || again && unify(&became, Safety::Unsafe).is_some_and(|found| !found.has_dynamic())
}

/// A type that values of all these types can be converted to, or `None` if there is none.
///
/// The rules are those of go-cty's unification. Collections of one kind unify their elements. Objects and tuples unify
/// their parts, or become maps and lists if their shapes differ. For other combinations, the result is the most general
/// of the given types to which all of them can be converted. An object never loses attributes.
pub fn unify(types: &[Type], safety: Safety) -> Option<Type> {
    let first = types.first()?;
    if types.iter().all(|t| t == first) {
        return Some(first.clone());
    }
    let count = |test: fn(&Type) -> bool| types.iter().filter(|t| test(t)).count();
    let maps = count(|t| matches!(t, Type::Map(_)));
    let lists = count(|t| matches!(t, Type::List(_)));
    let sets = count(|t| matches!(t, Type::Set(_)));
    let objects = count(|t| matches!(t, Type::Object(_)));
    let tuples = count(|t| matches!(t, Type::Tuple(_)));
    let dynamics = count(|t| matches!(t, Type::Dynamic));
    let all = types.len();
    if maps > 0 && maps + dynamics == all {
        return unify_collections(types, dynamics > 0, Type::map, safety);
    }
    if maps > 0 && maps + objects + dynamics == all {
        if let Some(found) = unify_onto_collections(types, Type::map, safety) {
            return Some(found);
        }
    } else if lists > 0 && lists + dynamics == all {
        return unify_collections(types, dynamics > 0, Type::list, safety);
    } else if lists > 0 && lists + tuples + dynamics == all {
        if let Some(found) = unify_onto_collections(types, Type::list, safety) {
            return Some(found);
        }
    } else if sets > 0 && sets + dynamics == all {
        return unify_collections(types, dynamics > 0, Type::set, safety);
    } else if objects > 0 && objects + dynamics == all {
        return if dynamics > 0 { Some(Type::Dynamic) } else { unify_objects(types, safety) };
    } else if tuples > 0 && tuples + dynamics == all {
        return if dynamics > 0 { Some(Type::Dynamic) } else { unify_tuples(types, safety) };
    } else if objects > 0 && tuples > 0 {
        return None;
    }
    let mut order: Vec<&Type> = types.iter().collect();
    order.sort_by_key(|t| generality(t));
    order.into_iter().find(|want| types.iter().all(|t| t == *want || can_convert(t, want, safety))).cloned()
}

/// The rank of a type for unification. A type that more types can be converted to has a lower rank.
fn generality(ty: &Type) -> u8 {
    match ty {
        Type::String => 0,
        Type::List(_) | Type::Map(_) => 1,
        Type::Set(_) => 2,
        Type::Bool | Type::Number => 3,
        Type::Tuple(_) | Type::Object(_) | Type::Provider(_) => 4,
        Type::Dynamic => 5,
    }
}

fn unify_collections(types: &[Type], dynamic: bool, make: fn(Type) -> Type, safety: Safety) -> Option<Type> {
    if dynamic {
        return Some(Type::Dynamic);
    }
    let elements: Vec<Type> = types.iter().filter_map(|t| t.element().cloned()).collect();
    unify(&elements, safety).map(make)
}

/// The common collection type of collections, tuples and objects. A tuple or object counts as a collection of its
/// elements.
fn unify_onto_collections(types: &[Type], make: fn(Type) -> Type, safety: Safety) -> Option<Type> {
    let mut elements = Vec::with_capacity(types.len());
    for ty in types {
        let parts: Vec<Type> = match ty {
            Type::Tuple(items) => items.to_vec(),
            Type::Object(object) => object.attributes.values().cloned().collect(),
            other => other.element().cloned().into_iter().collect(),
        };
        if !parts.is_empty() {
            elements.push(unify(&parts, safety)?);
        }
    }
    let found = make(unify(&elements, safety)?);
    types.iter().all(|t| *t == found || can_convert(t, &found, safety)).then_some(found)
}

fn unify_objects(types: &[Type], safety: Safety) -> Option<Type> {
    let attributes: Vec<&BTreeMap<SmolStr, Type>> = types
        .iter()
        .filter_map(|t| match t {
            Type::Object(o) => Some(&o.attributes),
            _ => None,
        })
        .collect();
    let first = attributes.first()?;
    if attributes.iter().any(|a| a.len() != first.len() || !a.keys().eq(first.keys())) {
        let parts: Vec<Type> = attributes.iter().flat_map(|a| a.values().cloned()).collect();
        let found = Type::map(unify(&parts, safety)?);
        return types.iter().all(|t| can_convert(t, &found, safety)).then_some(found);
    }
    let mut unified = BTreeMap::new();
    for name in first.keys() {
        let across: Vec<Type> = attributes.iter().filter_map(|a| a.get(name).cloned()).collect();
        unified.insert(name.clone(), unify(&across, safety)?);
    }
    Some(Type::object(unified))
}

fn unify_tuples(types: &[Type], safety: Safety) -> Option<Type> {
    let tuples: Vec<&[Type]> = types
        .iter()
        .filter_map(|t| match t {
            Type::Tuple(items) => Some(&**items),
            _ => None,
        })
        .collect();
    let first = tuples.first()?;
    if tuples.iter().any(|t| t.len() != first.len()) {
        let parts: Vec<Type> = tuples.iter().flat_map(|t| t.iter().cloned()).collect();
        let found = Type::list(unify(&parts, safety)?);
        return types.iter().all(|t| can_convert(t, &found, safety)).then_some(found);
    }
    let mut unified = Vec::with_capacity(first.len());
    for index in 0..first.len() {
        let across: Vec<Type> = tuples.iter().filter_map(|t| t.get(index).cloned()).collect();
        unified.push(unify(&across, safety)?);
    }
    Some(Type::tuple(unified))
}
