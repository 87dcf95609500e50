//! Lists and tuples: slicing, joining, reversing, selecting.

use weft_graph_format::marks::Marks;
use weft_graph_format::number::Number;
use weft_graph_format::origin::Origin;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

use super::arguments::{items, number, whole};
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};
use crate::convert::{Safety, convert, unify};
use crate::stack;

/// The maximum number of elements that `range` returns, as in OpenTofu.
const RANGE_LIMIT: usize = 1024;

pub(super) fn functions() -> Vec<Function> {
    vec![
        Function::new("chunklist", "Cuts a list into lists of a given length; the last may be shorter.", STRUCTURAL)
            .parameter(Parameter::new("list", Type::list(Type::Dynamic), "The list to cut.").marked())
            .parameter(
                Parameter::new("size", Type::Number, "The number of elements in each part; 0 for a single part.")
                    .marked(),
            )
            .returns_of(|a| Ok(Type::list(a[0].ty())))
            .not_null()
            .calls(chunklist),
        Function::new("concat", "One list or tuple with the elements of all arguments, in order.", STRUCTURAL)
            .variadic(Parameter::new("seqs", Type::Dynamic, "Lists or tuples.").marked())
            .returns_of(concat_type)
            .not_null()
            .calls(concat),
        Function::new("element", "The element at an index that wraps around after the last one.", STRUCTURAL)
            .parameter(Parameter::new("list", Type::Dynamic, "A list or tuple.").marked())
            .parameter(Parameter::new(
                "index",
                Type::Number,
                "The index, from 0. A negative index counts from the end.",
            ))
            .returns_of(element_type)
            .calls(element),
        Function::new("flatten", "A tuple with the elements of all nested lists, sets and tuples.", STRUCTURAL)
            .parameter(Parameter::new("list", Type::Dynamic, "A list, set or tuple.").marked())
            .returns_of(flatten_type)
            .not_null()
            .calls(flatten),
        Function::new("range", "A list of numbers that begins at a start and stops before a limit.", Symbolic::Opaque)
            .variadic(Parameter::new(
                "params",
                Type::Number,
                "A limit, or a start and a limit, or a start, a limit and a step.",
            ))
            .returns(Type::list(Type::Number))
            .not_null()
            .calls(range),
        Function::new("reverse", "The elements in reverse order.", STRUCTURAL)
            .parameter(Parameter::new("list", Type::Dynamic, "A list, set or tuple.").marked())
            .returns_of(reverse_type)
            .not_null()
            .calls(reverse),
        Function::new("slice", "The elements from a start index up to, but not including, an end index.", STRUCTURAL)
            .parameter(Parameter::new("list", Type::Dynamic, "A list or tuple.").marked())
            .parameter(Parameter::new("start_index", Type::Number, "Index of the first element."))
            .parameter(Parameter::new("end_index", Type::Number, "Index after the last element."))
            .returns_of(slice_type)
            .not_null()
            .calls(slice),
    ]
}

const STRUCTURAL: Symbolic = Symbolic::Structural;

fn chunklist(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let marks = arguments[0].marks().union(arguments[1].marks());
    let size = whole(number(arguments, 1)?).map_err(problems::sequence::invalid_size)?;
    let size = usize::try_from(size).map_err(|_| problems::sequence::negative_size())?;
    let element = ty.element().cloned().unwrap_or(Type::Dynamic);
    let list = items(arguments, 0)?;
    let chunks = if size == 0 && !list.is_empty() {
        vec![arguments[0].unmark().0]
    } else {
        let inner = element.element().cloned().unwrap_or(Type::Dynamic);
        list.chunks(size.max(1)).map(|chunk| Value::list(inner.clone(), chunk.to_vec())).collect()
    };
    Ok(Value::list(element, chunks).mark(&marks))
}

fn concat_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    if arguments.is_empty() {
        return Err(problems::no_arguments());
    }
    let types: Vec<Type> = arguments.iter().map(Value::ty).collect();
    if types.iter().all(|t| matches!(t, Type::List(_)))
        && let Some(common) = unify(&types, Safety::Unsafe)
    {
        return Ok(common);
    }
    let mut elements = Vec::new();
    for (index, (argument, ty)) in arguments.iter().zip(&types).enumerate() {
        match ty {
            Type::Tuple(parts) => elements.extend(parts.iter().cloned()),
            Type::List(element) => match argument.as_items() {
                None => return Ok(Type::Dynamic),
                Some(found) => elements.extend(found.iter().map(|_| (**element).clone())),
            },
            other => {
                return Err(problems::sequence::cannot_concatenate(index, other));
            }
        }
    }
    Ok(Type::tuple(elements))
}

fn concat(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let mut marks = Marks::NONE;
    let mut all = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        marks = marks.union(argument.marks());
        let argument = match ty {
            Type::List(_) => convert(argument, ty).map_err(|e| FunctionError::argument(index, e.to_string()))?,
            _ => argument.clone(),
        };
        all.extend_from_slice(items(&[argument], 0)?);
    }
    Ok(sequence_of(ty, all).mark(&marks))
}

/// A list if `ty` is a list type, otherwise a tuple. If the element type is not known completely, the first element has
/// it.
fn sequence_of(ty: &Type, items: Vec<Value>) -> Value {
    match (ty, items.first()) {
        (Type::List(element), Some(first)) if element.has_dynamic() => Value::list(first.ty(), items),
        (Type::List(element), _) => Value::list((**element).clone(), items),
        _ => Value::tuple(items),
    }
}

fn element_index(index: &Value, count: usize) -> Result<usize, FunctionError> {
    let Some(index) = index.as_number() else { return Err(problems::type_required(1, "number")) };
    let index = whole(index).map_err(problems::sequence::invalid_index)?;
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    if count == 0 {
        return Err(problems::sequence::no_element_in_empty_list());
    }
    Ok(usize::try_from(index.rem_euclid(count)).unwrap_or(0))
}

fn element_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    match arguments[0].ty() {
        Type::List(element) => Ok((*element).clone()),
        Type::Tuple(_) if !arguments[1].is_known() => Ok(Type::Dynamic),
        Type::Tuple(elements) => {
            let index = element_index(&arguments[1], elements.len())?;
            Ok(elements.get(index).cloned().unwrap_or(Type::Dynamic))
        }
        other => Err(problems::sequence::has_no_elements(&other)),
    }
}

fn element(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let list = items(arguments, 0)?;
    let index = element_index(&arguments[1], list.len())?;
    let found = list.get(index).ok_or_else(problems::sequence::no_element_in_empty_list)?;
    Ok(found.mark(arguments[0].marks()))
}

/// A flattened sequence.
#[derive(Default)]
struct Flat {
    /// The elements in order.
    found: Vec<Value>,
    /// The marks of the sequences.
    marks: Marks,
    /// The combined origin of the sequences.
    origin: Option<Origin>,
}

/// Flattens the argument of `flatten`. Also returns whether the number of elements is known.
///
/// As in OpenTofu, a plan accepts an object or a map with unknown parts. Their values do not keep their formulas, so
/// that apply runs the whole call. The call fails then, because it accepts no known object or map.
fn flattened(value: &Value) -> (Flat, bool) {
    let mut flat = Flat::default();
    let (marks, kind) = value.open();
    let known = match kind {
        Kind::Map(fields) | Kind::Object(fields) => {
            let bare: Vec<Value> = fields.iter().map(|(_, part)| part.bare()).collect();
            let known = flatten_into(&Value::tuple(bare).mark(marks), &mut flat);
            flat.origin = value.deep_origin();
            known
        }
        _ => flatten_into(value, &mut flat),
    };
    (flat, known)
}

/// Adds the elements of nested sequences. Returns `false` if their number is unknown.
fn flatten_into(value: &Value, flat: &mut Flat) -> bool {
    let (own, kind) = value.open();
    flat.marks = flat.marks.union(own);
    flat.origin = Origin::join(flat.origin.as_ref(), value.origin());
    let items = match kind {
        Kind::Set(s) if s.len() != 1 && !value.is_wholly_known() => return false,
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => s.items(),
        _ => return false,
    };
    let mut known = true;
    for item in items {
        let ty = item.ty();
        if !item.is_known() && ty == Type::Dynamic {
            known = false;
        } else if !item.is_null() && matches!(ty, Type::List(_) | Type::Set(_) | Type::Tuple(_)) {
            known &= stack::guarded(|| flatten_into(item, flat));
        } else {
            flat.found.push(item.clone());
        }
    }
    known
}

fn flatten_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    if !arguments[0].is_known() {
        return Ok(Type::Dynamic);
    }
    if arguments[0].is_wholly_known() && arguments[0].as_items().is_none() {
        return Err(problems::sequence::cannot_flatten());
    }
    match flattened(&arguments[0]) {
        (flat, true) => Ok(Type::tuple(flat.found.iter().map(Value::ty))),
        (_, false) => Ok(Type::Dynamic),
    }
}

fn flatten(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let (flat, known) = flattened(&arguments[0]);
    let result = if known { Value::tuple(flat.found) } else { Value::unknown(ty.clone()) };
    Ok(result.mark(&flat.marks).add_origin(flat.origin.as_ref()))
}

fn range(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let numbers = (0..arguments.len()).map(|i| number(arguments, i).cloned()).collect::<Result<Vec<_>, _>>()?;
    let counting = |start: &Number, end: &Number| if end < start { Number::from_i64(-1) } else { Number::ONE };
    let (start, end, step) = match numbers.as_slice() {
        [end] => (Number::ZERO, end.clone(), counting(&Number::ZERO, end)),
        [start, end] => (start.clone(), end.clone(), counting(start, end)),
        [start, end, step] => (start.clone(), end.clone(), step.clone()),
        _ => return Err(problems::sequence::wrong_range_arguments()),
    };
    let down = step.signum() < 0;
    if down && end > start {
        return Err(problems::sequence::range_end_above_start());
    }
    if !down && end < start {
        return Err(problems::sequence::range_end_below_start());
    }
    let mut found = Vec::new();
    let mut next = start;
    while if down { next > end } else { next < end } {
        if found.len() >= RANGE_LIMIT {
            return Err(problems::sequence::range_too_long(RANGE_LIMIT));
        }
        found.push(Value::number(next.clone()));
        next = next.add(&step).map_err(|e| FunctionError::new(e.to_string()))?;
    }
    Ok(Value::list(Type::Number, found))
}

fn reverse_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    match arguments[0].ty() {
        Type::Tuple(elements) => Ok(Type::tuple(elements.iter().rev().cloned())),
        Type::List(element) | Type::Set(element) => Ok(Type::List(element)),
        other => Err(problems::sequence::cannot_reverse(&other)),
    }
}

fn reverse(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let (marks, kind) = arguments[0].open();
    // The order of a set depends on its unknown elements. OpenTofu assumes that it does not.
    if matches!(kind, Kind::Set(set) if set.len() > 1) && !arguments[0].is_wholly_known() {
        return Ok(Value::unknown(ty.clone()).mark(marks));
    }
    let reversed = items(arguments, 0)?.iter().rev().cloned().collect();
    Ok(sequence_of(ty, reversed).mark(marks))
}

/// Checks the start and end of a slice, as far as they are known.
fn slice_bounds(arguments: &[Value]) -> Result<(Option<usize>, Option<usize>), FunctionError> {
    let length = match (arguments[0].as_items(), arguments[0].ty()) {
        (Some(items), _) => Some(items.len()),
        (None, Type::Tuple(elements)) => Some(elements.len()),
        _ => None,
    };
    let bound = |index: usize, name: &str| -> Result<Option<usize>, FunctionError> {
        let Some(given) = arguments[index].as_number() else { return Ok(None) };

        let given = whole(given).map_err(|e| problems::sequence::invalid_bound(index, name, e))?;
        let given = usize::try_from(given).map_err(|_| problems::sequence::negative_bound(index, name))?;
        if length.is_some_and(|length| given > length) {
            return Err(problems::sequence::bound_after_end(index, name));
        }
        Ok(Some(given))
    };
    let (start, end) = (bound(1, "start")?, bound(2, "end")?);
    match (start, end) {
        (Some(s), Some(e)) if s > e => Err(problems::sequence::slice_start_after_end()),
        both => Ok(both),
    }
}

fn slice_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    let ty = arguments[0].ty();
    match &ty {
        Type::Set(_) => Err(problems::sequence::cannot_slice_set()),
        Type::List(_) => slice_bounds(arguments).map(|_| ty.clone()),
        Type::Tuple(elements) => Ok(match slice_bounds(arguments)? {
            (Some(start), Some(end)) => Type::tuple(elements.iter().take(end).skip(start).cloned()),
            _ => Type::Dynamic,
        }),
        _ => Err(problems::sequence::cannot_slice()),
    }
}

fn slice(_: &CallContext<'_>, arguments: &[Value], ty: &Type) -> Result<Value, FunctionError> {
    let marks = arguments[0].marks();
    let (Some(start), Some(end)) = slice_bounds(arguments)? else {
        return Ok(Value::unknown(ty.clone()).mark(marks));
    };
    let found = items(arguments, 0)?.iter().take(end).skip(start).cloned().collect();
    Ok(sequence_of(ty, found).mark(marks))
}
