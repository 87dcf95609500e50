//! Sets, and products of collections.

use std::collections::BTreeSet;

use weft_graph_format::marks::Marks;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, MOST_PARTS, Refinement, Value};

use super::equality::ByContent;
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};
use crate::convert::{Safety, convert, unify};
use crate::refine::range_of_length;

/// The maximum number of tuples that `setproduct` returns: more than a configuration can use, but not enough to exhaust
/// memory.
const PRODUCT_LIMIT: usize = 1 << 20;

pub(super) fn functions() -> Vec<Function> {
    let any_set = |name, description| Parameter::new(name, Type::set(Type::Dynamic), description);
    vec![
        Function::new("setunion", "The elements that are in any of the sets.", Symbolic::Opaque)
            .parameter(any_set("first_set", "A set."))
            .variadic(any_set("other_sets", "More sets."))
            .returns_of(common_type)
            .not_null()
            .calls(union),
        Function::new("setintersection", "The elements that are in all of the sets.", Symbolic::Opaque)
            .parameter(any_set("first_set", "A set."))
            .variadic(any_set("other_sets", "More sets."))
            .returns_of(common_type)
            .not_null()
            .calls(intersection),
        Function::new("setsubtract", "The elements of one set that are not in another.", Symbolic::Opaque)
            .parameter(any_set("a", "The set from which elements are removed."))
            .parameter(any_set("b", "The elements to remove."))
            .returns_of(common_type)
            .not_null()
            .calls(subtract),
        Function::new("setproduct", "All tuples with one element from each collection.", Symbolic::Structural)
            .variadic(Parameter::new("sets", Type::Dynamic, "Sets, lists or tuples.").marked().unknowns())
            .returns_of(product_type)
            .not_null()
            .calls(product),
    ]
}

fn common_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    let mut elements = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let ty = argument.ty();
        let element = ty.element().cloned().unwrap_or(Type::Dynamic);
        // An empty set without an element type is compatible with any other set.
        if element == Type::Dynamic && argument.as_items().is_some_and(<[Value]>::is_empty) {
            continue;
        }
        elements.push(element);
    }
    if elements.is_empty() {
        return Ok(Type::set(Type::Dynamic));
    }
    unify(&elements, Safety::Unsafe).map(Type::set).ok_or_else(problems::set::element_types_differ)
}

/// The sets with the common type. As in OpenTofu, a set with an element type does not become one without.
fn converted(arguments: &[Value], ty: &Type) -> Result<Vec<Value>, FunctionError> {
    let open = |ty: &Type| element_of(ty) == Type::Dynamic;
    if open(ty) && !arguments.iter().all(|argument| open(&argument.ty())) {
        return Err(problems::set::element_types_differ());
    }
    arguments
        .iter()
        .enumerate()
        .map(|(index, set)| convert(set, ty).map_err(|e| FunctionError::argument(index, e.to_string())))
        .collect()
}

fn element_of(ty: &Type) -> Type {
    ty.element().cloned().unwrap_or(Type::Dynamic)
}

fn union(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let sets = converted(arguments, ty)?;
    let all = sets.iter().filter_map(Value::as_items).flatten().cloned().collect();
    Ok(Value::set(element_of(ty), all))
}

fn intersection(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    keep(arguments, ty, true)
}

fn subtract(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    keep(arguments, ty, false)
}

/// If `when_in` is true, the elements of the first set that are in all other sets. Otherwise, its elements that are in
/// none of the other sets.
#[expect(clippy::mutable_key_type, reason = "only what is kept beside the content changes")]
fn keep(arguments: &[Value], ty: &Type, when_in: bool) -> Result<Value, FunctionError> {
    if !arguments.iter().all(Value::is_wholly_known) {
        return Ok(Value::unknown(ty.clone()));
    }
    let sets = converted(arguments, ty)?;
    let Some((first, others)) = sets.split_first() else {
        return Err(problems::set::no_sets());
    };
    let mut kept: Vec<Value> = first.as_items().unwrap_or_default().to_vec();
    for other in others {
        let other: BTreeSet<_> = other.as_items().unwrap_or_default().iter().map(ByContent).collect();
        kept.retain(|item| other.contains(&ByContent(item)) == when_in);
    }
    Ok(Value::set(element_of(ty), kept))
}

fn product_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    if arguments.len() < 2 {
        return Err(problems::set::too_few_factors());
    }
    let mut elements = Vec::with_capacity(arguments.len());
    let mut all_lists = true;
    for (index, argument) in arguments.iter().enumerate() {
        match argument.ty() {
            Type::Set(element) => {
                all_lists = false;
                elements.push((*element).clone());
            }
            Type::List(element) => elements.push((*element).clone()),
            Type::Tuple(parts) if parts.is_empty() => elements.push(Type::Dynamic),
            Type::Tuple(parts) => {
                elements.push(unify(&parts, Safety::Unsafe).ok_or_else(|| problems::set::mixed_tuple(index))?)
            }
            _ => return Err(problems::set::not_a_factor(index)),
        }
    }
    let tuple = Type::tuple(elements);
    Ok(if all_lists { Type::list(tuple) } else { Type::set(tuple) })
}

/// Whether a factor of `setproduct` is unknown, or a set whose unknown elements may turn out to be equal.
fn unknown_length(factor: &Value) -> bool {
    match factor.open().1 {
        Kind::Unknown(_) => true,
        Kind::Set(set) => set.len() > 1 && !factor.is_wholly_known(),
        _ => false,
    }
}

/// The maximum length of a factor of `setproduct`, and of the product, for which a plan knows the length of an unknown
/// product. Both limits are those of OpenTofu.
const LONGEST_FACTOR: u64 = 1024;
const LONGEST_PRODUCT: u64 = 2048;

/// What a plan knows of the length of a product with factors of unknown length.
fn product_length(factors: &[Value]) -> Refinement {
    let (mut least, mut most) = (1, 1u64);
    for factor in factors {
        let (low, high) = range_of_length(factor);
        let Some(high) = high.filter(|high| *high <= LONGEST_FACTOR) else { return Refinement::not_null() };
        // The known minimum is at most 1, as in OpenTofu. Unlike in OpenTofu, it is 0 if a factor may be empty.
        least = low.min(least);
        most = most.saturating_mul(high);
        if most > LONGEST_PRODUCT {
            return Refinement::not_null();
        }
    }
    Refinement { length_min: least.min(most), length_max: Some(most), ..Refinement::not_null() }
}

fn product(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let tuple = element_of(ty);
    let Type::Tuple(elements) = &tuple else { return Err(problems::set::tuples_expected()) };
    let mut marks = Marks::NONE;
    let mut total: usize = 1;
    if arguments.iter().any(unknown_length) {
        let marks = arguments.iter().fold(marks, |marks, argument| marks.union(argument.marks()));
        return Ok(Value::refined(ty.clone(), product_length(arguments)).mark(&marks));
    }
    let mut parts: Vec<Vec<Value>> = Vec::with_capacity(arguments.len());
    for (index, (argument, element)) in arguments.iter().zip(elements.iter()).enumerate() {
        marks = marks.union(argument.marks());
        let items = argument.as_items().unwrap_or_default();
        total = total.saturating_mul(items.len());
        let items = items.iter().map(|item| convert(item, element)).collect::<Result<Vec<_>, _>>();
        parts.push(items.map_err(|e| FunctionError::argument(index, e.to_string()))?);
    }
    if total > PRODUCT_LIMIT || total.saturating_mul(parts.len()) > MOST_PARTS as usize {
        return Err(problems::set::product_too_large(PRODUCT_LIMIT));
    }
    let mut tuples = Vec::with_capacity(total);
    for number in 0..total {
        // The last collection varies fastest.
        let mut rest = number;
        let mut picked: Vec<Value> = Vec::with_capacity(parts.len());
        for part in parts.iter().rev() {
            picked.push(part[rest % part.len()].clone());
            rest /= part.len();
        }
        picked.reverse();
        tuples.push(Value::tuple(picked));
    }
    let result = match ty {
        Type::List(_) => Value::list(tuple, tuples),
        _ => Value::set(tuple, tuples),
    };
    Ok(result.mark(&marks))
}
