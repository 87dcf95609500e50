//! Adds refinements to unknown values.

use unicode_segmentation::UnicodeSegmentation;
use weft_graph_format::number::Number;
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
            // Unknown elements may turn out to be equal to each other or to a known element, but the set is not empty.
            // As in OpenTofu, the number of different known elements does not count.
            let all = set.len() as u64;
            (if value.is_wholly_known() { all } else { all.min(1) }, Some(all))
        }
        Kind::List(items) | Kind::Tuple(items) => (items.len() as u64, Some(items.len() as u64)),
        Kind::Map(fields) | Kind::Object(fields) => (fields.len() as u64, Some(fields.len() as u64)),
        _ => (0, None),
    }
}

/// A value of type `ty` that will be one of two values: null if both are null, and otherwise an unknown value with the
/// refinements that hold for both. It has the marks of both values, and no formula or origin.
pub fn either(yes: &Value, no: &Value, ty: &Type) -> Value {
    let marks = yes.marks().union(no.marks());
    if yes.is_null() && no.is_null() {
        return Value::null(ty.clone()).mark(&marks);
    }
    let mut known =
        Refinement { not_null: definitely_not_null(yes) && definitely_not_null(no), ..Refinement::default() };
    let (yes_type, no_type) = (yes.ty(), no.ty());
    if yes_type == Type::Number && no_type == Type::Number {
        known.min = outer(bound(yes, false), bound(no, false), |a, b| a < b);
        known.max = outer(bound(yes, true), bound(no, true), |a, b| a > b);
    } else if yes_type.is_collection() && yes_type == no_type {
        let ((yes_low, yes_high), (no_low, no_high)) = (range_of_length(yes), range_of_length(no));
        known.length_min = yes_low.min(no_low);
        known.length_max = yes_high.zip(no_high).map(|(a, b)| a.max(b));
        if yes.is_null() || no.is_null() {
            known.length_min = 0;
            known.length_max = None;
        }
    }
    if *ty == Type::Dynamic {
        known = Refinement::default();
    }
    Value::refined(ty.clone(), known).mark(&marks)
}

/// Like [`length_bounds`]. As in OpenTofu, a known set of unknown length has no bounds here.
pub fn range_of_length(value: &Value) -> (u64, Option<u64>) {
    match length_bounds(value) {
        (low, Some(high)) if low != high && matches!(value.open().1, Kind::Set(_)) => (0, None),
        bounds => bounds,
    }
}

fn bound(value: &Value, upper: bool) -> Option<(Number, bool)> {
    if let Some(number) = value.as_number() {
        return Some((number.clone(), true));
    }
    let refinement = value.refinement()?;
    if upper { refinement.max.clone() } else { refinement.min.clone() }
}

fn outer(
    a: Option<(Number, bool)>,
    b: Option<(Number, bool)>,
    farther: fn(&Number, &Number) -> bool,
) -> Option<(Number, bool)> {
    let (a, b) = a.zip(b)?;
    Some(if a.0 == b.0 {
        (a.0, a.1 || b.1)
    } else if farther(&a.0, &b.0) {
        a
    } else {
        b
    })
}

/// The maximum length, in bytes, of the known prefix of an unknown string. Long enough for an ARN or a URL.
const LONGEST_PREFIX: usize = 128;

/// Characters that never combine with the following text, even if this text begins with a combining character. This is
/// OpenTofu's list. A known prefix may end with them.
const SEPARATORS: &str = " \t-_:;/\\,.(){}[]|?!~@#$%^&*+\"'";

/// The part of a text, up to `LONGEST_PREFIX`, that stays a prefix whatever follows. The last grapheme cluster could
/// combine with the following text, unless it ends with a separator.
pub fn safe_prefix(text: &str) -> &str {
    safe_prefix_within(text, LONGEST_PREFIX)
}

/// Like [`safe_prefix`], with another maximum length in bytes.
pub fn safe_prefix_within(text: &str, longest: usize) -> &str {
    let mut end = text.len().min(longest);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = text.get(..end).unwrap_or_default();
    if text.ends_with(|last| SEPARATORS.contains(last)) {
        return text;
    }
    let start = text.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
    text.get(..start).unwrap_or_default()
}
