//! Functions that read all elements of a collection: counting, finding, sorting, filtering.

use std::collections::BTreeSet;

use weft_graph_format::number::Number;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Refinement, Value};

use super::arguments::items;
use super::clusters;
use super::equality::ByContent;
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};
use crate::convert::{Safety, convert, unify};
use crate::operators::equal;
use crate::refine::length_bounds;

pub(super) fn functions() -> Vec<Function> {
    let any_list = || Type::list(Type::Dynamic);
    vec![
        Function::new(
            "alltrue",
            "Whether all elements are true. The result for an empty list is true.",
            Symbolic::Opaque,
        )
        .parameter(Parameter::new("list", Type::list(Type::Bool), "The booleans."))
        .returns(Type::Bool)
        .not_null()
        .calls(alltrue),
        Function::new(
            "anytrue",
            "Whether any element is true. The result for an empty list is false.",
            Symbolic::Opaque,
        )
        .parameter(Parameter::new("list", Type::list(Type::Bool), "The booleans."))
        .returns(Type::Bool)
        .not_null()
        .calls(anytrue),
        Function::new("compact", "The strings that are neither empty nor null.", Symbolic::Opaque)
            .parameter(Parameter::new("list", Type::list(Type::String), "The strings."))
            .returns(Type::list(Type::String))
            .not_null()
            .calls(compact),
        Function::new("contains", "Whether a value is an element of a list, set or tuple.", Symbolic::Opaque)
            .parameter(Parameter::new("list", Type::Dynamic, "A list, set or tuple."))
            .parameter(Parameter::new("value", Type::Dynamic, "The value to look for."))
            .returns(Type::Bool)
            .not_null()
            .calls(contains),
        Function::new("distinct", "The elements in order, each value once.", Symbolic::Opaque)
            .parameter(Parameter::new("list", any_list(), "The list."))
            .returns_of(|a| Ok(a[0].ty()))
            .not_null()
            .calls(distinct),
        Function::new("index", "The index of the first element that equals a value.", Symbolic::Opaque)
            .parameter(Parameter::new("list", Type::Dynamic, "A list or tuple."))
            .parameter(Parameter::new("value", Type::Dynamic, "The value to look for."))
            .returns(Type::Number)
            .not_null()
            .calls(index),
        Function::new("length", "The number of elements, attributes or characters.", Symbolic::Structural)
            .parameter(
                Parameter::new("value", Type::Dynamic, "A collection, structure or string.")
                    .unknowns()
                    .dynamic()
                    .marked(),
            )
            .returns_of(length_type)
            .not_null()
            .calls(length),
        Function::new("matchkeys", "The values whose keys, at the same index, are in a set of keys.", Symbolic::Opaque)
            .parameter(Parameter::new("values", any_list(), "The values."))
            .parameter(Parameter::new("keys", any_list(), "A key for each value."))
            .parameter(Parameter::new("searchset", any_list(), "The keys to look for."))
            .returns_of(matchkeys_type)
            .not_null()
            .calls(matchkeys),
        Function::new(
            "one",
            "The only element of a list, set or tuple; null when there is none.",
            Symbolic::Structural,
        )
        .parameter(Parameter::new("list", Type::Dynamic, "A list, set or tuple with at most one element."))
        .returns_of(one_type)
        .calls(one),
        Function::new("sort", "The strings in the order of their code points.", Symbolic::Opaque)
            .parameter(Parameter::new("list", Type::list(Type::String), "The strings.").unknowns())
            .returns(Type::list(Type::String))
            .not_null()
            .calls(sort),
    ]
}

fn alltrue(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    for item in items(arguments, 0)? {
        if !item.is_known() {
            return Ok(Value::unknown(Type::Bool));
        }
        if item.as_bool() != Some(true) {
            return Ok(Value::bool(false));
        }
    }
    Ok(Value::bool(true))
}

fn anytrue(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let list = items(arguments, 0)?;
    if list.iter().any(|item| item.as_bool() == Some(true)) {
        return Ok(Value::bool(true));
    }
    Ok(if list.iter().any(|item| !item.is_known()) { Value::unknown(Type::Bool) } else { Value::bool(false) })
}

fn compact(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    if !arguments[0].is_wholly_known() {
        return Ok(Value::unknown(ty.clone()));
    }
    let kept = items(arguments, 0)?.iter().filter(|item| item.as_str().is_some_and(|s| !s.is_empty()));
    Ok(Value::list(Type::String, kept.cloned().collect()))
}

fn contains(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let Some(list) = arguments[0].as_items() else {
        return Err(problems::search::not_a_sequence());
    };
    let mut open = false;
    for item in list {
        match equal(&arguments[1], item) {
            Some(true) => return Ok(Value::bool(true)),
            Some(false) => {}
            None => open = true,
        }
    }
    Ok(if open { Value::unknown(Type::Bool) } else { Value::bool(false) })
}

#[expect(clippy::mutable_key_type, reason = "only what is kept beside the content changes")]
fn distinct(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    if !arguments[0].is_wholly_known() {
        return Ok(Value::unknown(ty.clone()));
    }
    let mut seen = BTreeSet::new();
    let kept = items(arguments, 0)?.iter().filter(|item| seen.insert(ByContent(item))).cloned().collect();
    Ok(Value::list(ty.element().cloned().unwrap_or(Type::Dynamic), kept))
}

fn index(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let list = match arguments[0].open().1 {
        Kind::List(s) | Kind::Tuple(s) => s.items(),
        _ => return Err(problems::search::has_no_indices()),
    };
    if list.is_empty() {
        return Err(problems::search::empty_list());
    }
    for (place, item) in list.iter().enumerate() {
        match equal(item, &arguments[1]) {
            Some(true) => return Ok(Value::number(Number::from(place))),
            Some(false) => {}
            None => return Ok(Value::unknown(Type::Number)),
        }
    }
    Err(problems::search::item_not_found())
}

fn length_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    match arguments[0].ty() {
        Type::Bool | Type::Number => Err(problems::search::has_no_length()),
        _ => Ok(Type::Number),
    }
}

/// The maximum length of a collection. If the length is otherwise unknown, OpenTofu uses this number as its upper
/// bound.
const LONGEST: u64 = i64::MAX as u64;

fn length(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let value = &arguments[0];
    let (marks, kind) = value.open();
    let number = |n: u64| Value::number(Number::from_u64(n));
    let between = |low: u64, high: Option<u64>| {
        let bound = |n: u64| Some((Number::from_u64(n), true));
        let refinement = Refinement { min: bound(low), max: high.and_then(bound), ..Refinement::not_null() };
        Value::refined(Type::Number, refinement)
    };
    let result = match kind {
        Kind::String(text) => number(clusters::count(text) as u64),
        Kind::Unknown(unknown) if unknown.ty == Type::String => {
            between(clusters::count(&unknown.refinement.prefix) as u64, None)
        }
        Kind::Unknown(unknown) if unknown.ty == Type::Dynamic => Value::unknown(Type::Number),
        Kind::Null(_) | Kind::Bool(_) | Kind::Number(_) => {
            return Err(crate::problems::calls::null_argument(0));
        }
        _ => match length_bounds(value) {
            (low, Some(high)) if low == high => number(low),
            (low, high) => between(low, Some(high.unwrap_or(LONGEST))),
        },
    };
    Ok(result.mark(marks))
}

/// The maximum number of comparisons with unknown keys in one `matchkeys`, which compares each key with each unknown
/// key. Beyond this number, the result is unknown.
const MOST_COMPARISONS: usize = 1 << 20;

fn matchkeys_common(arguments: &[Value]) -> Result<Type, FunctionError> {
    unify(&[arguments[1].ty(), arguments[2].ty()], Safety::Unsafe).ok_or_else(problems::search::key_types_differ)
}

fn matchkeys_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    matchkeys_common(arguments)?;
    Ok(arguments[0].ty())
}

#[expect(clippy::mutable_key_type, reason = "only what is kept beside the content changes")]
fn matchkeys(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let (values, keys) = (items(arguments, 0)?, items(arguments, 1)?);
    if values.len() != keys.len() {
        return Err(problems::search::key_count_differs());
    }
    let element = ty.element().cloned().unwrap_or(Type::Dynamic);
    if items(arguments, 2)?.is_empty() {
        return Ok(Value::list(element, Vec::new()));
    }
    if !values.iter().chain(keys).all(Value::is_wholly_known) {
        return Ok(Value::unknown(ty.clone()));
    }
    let common = matchkeys_common(arguments)?;
    let converted =
        |index: usize| convert(&arguments[index], &common).map_err(|e| FunctionError::argument(index, e.to_string()));
    let (keys, wanted) = (converted(1)?, converted(2)?);
    let (known, open): (Vec<_>, Vec<_>) =
        wanted.as_items().unwrap_or_default().iter().partition(|key| key.is_wholly_known());
    let known: BTreeSet<_> = known.into_iter().map(ByContent).collect();
    let keys = keys.as_items().unwrap_or_default();
    if keys.len().saturating_mul(open.len()) > MOST_COMPARISONS {
        return Ok(Value::unknown(ty.clone()));
    }
    let mut found = Vec::new();
    for (value, key) in values.iter().zip(keys) {
        if known.contains(&ByContent(key)) {
            found.push(value.clone());
        } else if open.iter().any(|wanted| equal(key, wanted).is_none()) {
            // Unlike OpenTofu, which returns an empty list here. At apply, the key may be found.
            return Ok(Value::unknown(ty.clone()));
        }
    }
    Ok(Value::list(element, found))
}

fn one_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    match arguments[0].ty() {
        Type::List(element) | Type::Set(element) => Ok((*element).clone()),
        Type::Tuple(elements) => match &*elements {
            [] => Ok(Type::Dynamic),
            [element] => Ok(element.clone()),
            _ => Err(problems::search::more_than_one()),
        },
        _ => Err(problems::search::more_than_one()),
    }
}

fn one(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    match items(arguments, 0)? {
        [] => Ok(Value::null(ty.clone())),
        [only] => Ok(only.clone()),
        // Unknown elements of a set may turn out to be equal.
        _ if matches!(length_bounds(&arguments[0]), (0 | 1, _)) => Ok(Value::unknown(ty.clone())),
        _ => Err(problems::search::more_than_one()),
    }
}

fn sort(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    if !arguments[0].is_wholly_known() {
        // The order is unknown, but the length is not.
        let (length_min, length_max) = length_bounds(&arguments[0]);
        return Ok(Value::refined(ty.clone(), Refinement { length_min, length_max, ..Refinement::not_null() }));
    }
    let mut list = items(arguments, 0)?.to_vec();
    if let Some(place) = list.iter().position(Value::is_null) {
        return Err(problems::search::cannot_sort_null(place));
    }
    list.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    Ok(Value::list(Type::String, list))
}
