//! Adds refinements to unknown values.

use unicode_segmentation::UnicodeSegmentation;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Refinement, Value};

use crate::symbolic;

/// Adds the refinement `extra` to a value. Known values and values of unknown type are returned unchanged.
///
/// If only one value remains possible, returns that value. A list of known length becomes a list of unknown elements,
/// each with its part of the formula.
pub fn refine(value: &Value, extra: &Refinement) -> Value {
    let Kind::Unknown(unknown) = value.open().1 else { return value.clone() };
    if unknown.ty == Type::Dynamic {
        return value.clone();
    }
    let merged = merge(&unknown.refinement, extra);
    if merged == unknown.refinement {
        return value.clone();
    }
    let refined = Value::refined(unknown.ty.clone(), merged);
    if !refined.is_known() {
        return value.carry_onto(&refined);
    }
    let explained = match value.formula() {
        Some(formula) => symbolic::explain(&refined, formula),
        None => refined,
    };
    explained.mark(value.marks()).add_origin(value.origin())
}

/// Combines the facts of both refinements.
pub fn merge(a: &Refinement, b: &Refinement) -> Refinement {
    let prefix = if b.prefix.len() > a.prefix.len() { b.prefix.clone() } else { a.prefix.clone() };
    let min = match (&a.min, &b.min) {
        (None, m) | (m, None) => m.clone(),
        (Some(x), Some(y)) if x.0 == y.0 => Some((x.0.clone(), x.1 && y.1)),
        (Some(x), Some(y)) => Some(if x.0 > y.0 { x.clone() } else { y.clone() }),
    };
    let max = match (&a.max, &b.max) {
        (None, m) | (m, None) => m.clone(),
        (Some(x), Some(y)) if x.0 == y.0 => Some((x.0.clone(), x.1 && y.1)),
        (Some(x), Some(y)) => Some(if x.0 < y.0 { x.clone() } else { y.clone() }),
    };
    let length_max = match (a.length_max, b.length_max) {
        (None, m) | (m, None) => m,
        (Some(x), Some(y)) => Some(x.min(y)),
    };
    Refinement {
        not_null: a.not_null || b.not_null,
        prefix,
        min,
        max,
        length_min: a.length_min.max(b.length_min),
        length_max,
    }
}

/// Whether the value, known or unknown, is definitely not null.
pub fn definitely_not_null(value: &Value) -> bool {
    match value.open().1 {
        Kind::Null(_) => false,
        Kind::Unknown(unknown) => unknown.refinement.not_null,
        _ => true,
    }
}

/// The minimum and maximum number of elements of a collection.
pub fn length_bounds(value: &Value) -> (u64, Option<u64>) {
    match value.open().1 {
        Kind::Unknown(unknown) => match &unknown.ty {
            Type::Tuple(items) => (items.len() as u64, Some(items.len() as u64)),
            Type::Object(object) => (object.attributes.len() as u64, Some(object.attributes.len() as u64)),
            _ => (unknown.refinement.length_min, unknown.refinement.length_max),
        },
        Kind::Set(set) => {
            let known = set.items().iter().filter(|item| item.is_wholly_known()).count() as u64;
            let all = set.len() as u64;
            // Unknown elements may turn out to be equal to each other or to a known element, but the set is not empty.
            if known == all { (all, Some(all)) } else { (known.max(1), Some(all)) }
        }
        Kind::List(items) | Kind::Tuple(items) => (items.len() as u64, Some(items.len() as u64)),
        Kind::Map(fields) | Kind::Object(fields) => (fields.len() as u64, Some(fields.len() as u64)),
        _ => (0, None),
    }
}

/// The maximum length, in bytes, of the known prefix of an unknown string. Long enough for an ARN or a URL.
const LONGEST_PREFIX: usize = 128;

/// The part of a text, up to `LONGEST_PREFIX`, that stays a prefix whatever follows. The last grapheme cluster could
/// combine with the following text, unless it ends with ASCII punctuation or a space.
pub fn safe_prefix(text: &str) -> &str {
    let mut end = text.len().min(LONGEST_PREFIX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = text.get(..end).unwrap_or_default();
    match text.as_bytes().last() {
        None => text,
        Some(b' ') => text,
        Some(last) if last.is_ascii_punctuation() => text,
        Some(_) => {
            let start = text.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
            text.get(..start).unwrap_or_default()
        }
    }
}
