//! Equality of values that may contain unknown parts.

use std::cmp::Ordering;

use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value, compare_for_set};

use crate::refine::definitely_not_null;
use crate::stack;

/// Whether two values are equal, or `None` if the answer depends on an unknown part. Values of different types are not
/// equal, but nulls are equal whatever their types. Marks are ignored.
pub(super) fn equal(a: &Value, b: &Value) -> Option<bool> {
    let unknown = |v: &Value| !v.is_known();
    match (a.is_null(), b.is_null()) {
        (true, true) => return Some(true),
        (true, false) | (false, true) => {
            let other = if a.is_null() { b } else { a };
            return if definitely_not_null(other) { Some(false) } else { None };
        }
        (false, false) => {}
    }
    if unknown(a) || unknown(b) {
        let (ta, tb) = (a.ty(), b.ty());
        return if ta == tb || ta.has_dynamic() || tb.has_dynamic() { None } else { Some(false) };
    }
    stack::guarded(|| equal_known(a, b))
}

fn equal_known(a: &Value, b: &Value) -> Option<bool> {
    match (a.open().1, b.open().1) {
        (Kind::Bool(x), Kind::Bool(y)) => Some(x == y),
        (Kind::Number(x), Kind::Number(y)) => Some(x == y),
        (Kind::String(x), Kind::String(y)) => Some(x == y),
        (Kind::List(x), Kind::List(y)) => {
            if differ(&x.element_type(), &y.element_type()) {
                return Some(false);
            }
            all_equal(x.items(), y.items())
        }
        (Kind::Provider(x), Kind::Provider(y)) => Some(x == y),
        (Kind::Tuple(x), Kind::Tuple(y)) => all_equal(x.items(), y.items()),
        (Kind::Set(x), Kind::Set(y)) => {
            if differ(&x.element_type(), &y.element_type()) {
                return Some(false);
            }
            if !(a.is_wholly_known() && b.is_wholly_known()) {
                return None;
            }
            all_equal(x.items(), y.items())
        }
        (Kind::Map(x), Kind::Map(y)) => {
            if differ(&x.element_type(), &y.element_type()) || !x.entries().keys().eq(y.entries().keys()) {
                return Some(false);
            }
            together(x.entries().values().zip(y.entries().values()))
        }
        (Kind::Object(x), Kind::Object(y)) => {
            if !x.entries().keys().eq(y.entries().keys()) {
                return Some(false);
            }
            together(x.entries().values().zip(y.entries().values()))
        }
        _ => Some(false),
    }
}

fn differ(a: &Type, b: &Type) -> bool {
    a != b && !a.has_dynamic() && !b.has_dynamic()
}

fn all_equal(a: &[Value], b: &[Value]) -> Option<bool> {
    if a.len() != b.len() {
        return Some(false);
    }
    together(a.iter().zip(b))
}

/// Combines the results of pairs: `Some(false)` if one pair differs, otherwise `None` if a pair is undecided.
fn together<'a>(pairs: impl Iterator<Item = (&'a Value, &'a Value)>) -> Option<bool> {
    let mut known = true;
    for (a, b) in pairs {
        match equal(a, b) {
            Some(false) => return Some(false),
            Some(true) => {}
            None => known = false,
        }
    }
    known.then_some(true)
}

/// Orders a wholly known value by content, for ordered sets and maps of values of one type.
pub(super) struct ByContent<'a>(pub(super) &'a Value);

impl PartialEq for ByContent<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ByContent<'_> {}

impl PartialOrd for ByContent<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByContent<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_for_set(self.0, other.0)
    }
}
