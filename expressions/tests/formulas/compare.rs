//! When two values count as equal, and whether a value keeps the promises of its plan.

use std::collections::BTreeSet;

use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::marks::Marks;
use weft_graph_format::origin::{Origin, OriginNode};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Refinement, Value};

/// The value with the marks of containers on each part: everything inside a sensitive container is sensitive.
pub fn settled(value: &Value, around: &Marks) -> Value {
    let marks = value.marks().union(around);
    let parts = |items: &[Value]| items.iter().map(|item| settled(item, &marks)).collect::<Vec<_>>();
    let bare = match value.open().1 {
        Kind::List(s) => Value::list(s.element_type(), parts(s.items())),
        Kind::Tuple(s) => Value::tuple(parts(s.items())),
        Kind::Set(s) => Value::set(s.element_type(), s.items().to_vec()),
        Kind::Map(f) => {
            Value::map(f.element_type(), f.iter().map(|(key, item)| (key.clone(), settled(item, &marks))).collect())
        }
        Kind::Object(f) => Value::object(f.iter().map(|(key, item)| (key.clone(), settled(item, &marks)))),
        _ => value.unmark().0.without_provenance(),
    };
    bare.mark(&marks)
}

/// Whether the content is equal. Ignores the types of nulls, and whether containers have one element type.
pub fn loosely_equal(a: &Value, b: &Value) -> bool {
    match (a.open().1, b.open().1) {
        (Kind::Null(_), Kind::Null(_)) => true,
        (Kind::List(a) | Kind::Tuple(a) | Kind::Set(a), Kind::List(b) | Kind::Tuple(b) | Kind::Set(b)) => {
            a.len() == b.len() && a.items().iter().zip(b.items()).all(|(a, b)| loosely_equal(a, b))
        }
        (Kind::Map(a) | Kind::Object(a), Kind::Map(b) | Kind::Object(b)) => {
            a.iter().len() == b.iter().len()
                && a.iter().zip(b.iter()).all(|((x, a), (y, b))| x == y && loosely_equal(a, b))
        }
        _ => a.unmark().0 == b.unmark().0,
    }
}

/// Describes how `actual` breaks what `planned` promised, or `None` if it does not.
pub fn broken_promise(planned: &Value, actual: &Value) -> Option<String> {
    if planned.is_null() || actual.is_null() {
        return match planned.open().1 {
            Kind::Unknown(u) if !u.refinement.not_null => None,
            _ if planned.is_null() && actual.is_null() => None,
            _ => Some(format!("{planned:?} is not {actual:?}")),
        };
    }
    if !conforms(&planned.ty(), &actual.ty()) {
        return Some(format!("{} is no {}", actual.ty(), planned.ty()));
    }
    match (planned.open().1, actual.open().1) {
        (Kind::Unknown(u), _) => broken_refinement(&u.refinement, actual),
        (Kind::List(a), Kind::List(b)) | (Kind::Tuple(a), Kind::Tuple(b)) if a.len() == b.len() => {
            a.items().iter().zip(b.items()).find_map(|(a, b)| broken_promise(a, b))
        }
        (Kind::Map(a), Kind::Map(b)) | (Kind::Object(a), Kind::Object(b)) if a.iter().len() == b.iter().len() => {
            a.iter().find_map(|(key, part)| match b.get(key) {
                Some(found) => broken_promise(part, found),
                None => Some(format!("{key} is missing")),
            })
        }
        // Elements of a set may turn out to be equal, or may be in a different order.
        (Kind::Set(a), Kind::Set(b)) if b.len() <= a.len() && planned.deep().unknown => None,
        _ if planned.unmark_deep().0 == actual.unmark_deep().0 => None,
        _ => Some(format!("{planned:?} is not {actual:?}")),
    }
}

fn broken_refinement(known: &Refinement, actual: &Value) -> Option<String> {
    let wrong = |what: &str| Some(format!("{actual:?} although {what} of {known:?}"));
    if let Some(text) = actual.as_str()
        && !text.starts_with(known.prefix.as_str())
    {
        return wrong("the prefix");
    }
    if let Some(number) = actual.as_number() {
        let above = known.min.as_ref().is_none_or(|(least, included)| number > least || *included && number == least);
        let below = known.max.as_ref().is_none_or(|(most, included)| number < most || *included && number == most);
        if !above || !below {
            return wrong("the bounds");
        }
    }
    let length = match actual.open().1 {
        Kind::List(s) | Kind::Set(s) => s.len() as u64,
        Kind::Map(f) => f.iter().len() as u64,
        _ => return None,
    };
    let fits = known.length_min <= length && known.length_max.is_none_or(|most| length <= most);
    if fits { None } else { wrong("the length") }
}

fn conforms(planned: &Type, actual: &Type) -> bool {
    match (planned, actual) {
        (Type::Dynamic, _) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => conforms(a, b),
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| conforms(a, b)),
        (Type::Object(a), Type::Object(b)) => {
            a.attributes.len() == b.attributes.len()
                && a.attributes.iter().all(|(name, ty)| b.attributes.get(name).is_some_and(|found| conforms(ty, found)))
        }
        // The planned type is still open, as for a null or for the elements of an empty collection.
        (_, Type::Dynamic) => true,
        _ => planned == actual,
    }
}

/// The operations that a formula reads.
pub fn operations_of(formula: &Formula) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut pending = vec![formula.clone()];
    while let Some(formula) = pending.pop() {
        if !seen.insert(formula.identity()) {
            continue;
        }
        if let FormulaOp::Result(operation, _) = formula.op() {
            found.insert(operation.0);
        }
        formula.operands(|operand| pending.push(operand.clone()));
    }
    found
}

/// The operations in an origin.
pub fn origins_of(origin: Option<Origin>) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut pending: Vec<Origin> = origin.into_iter().collect();
    while let Some(origin) = pending.pop() {
        match origin.node() {
            OriginNode::After(operation) | OriginNode::BeforeDelete(operation) => {
                found.insert(operation.0);
            }
            OriginNode::Union(members) => pending.extend(members.iter().cloned()),
        }
    }
    found
}
