//! How a result may differ from the planned object. The rules are from section 8 of the reference page on providers.

use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::schema::{Block, NestedBlock, Nesting};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Entries, Kind, Refinement, Value};

use super::sets::unmatched;
use super::{RuleProblem, part};
use crate::operators::equal;
use crate::refine::length_bounds;
use crate::stack;

/// Everything in `actual` that contradicts the planned object. `actual` is the object after apply, or a second plan for
/// the object. Messages omit the content of sensitive attributes and marked values.
pub fn result_problems(block: &Block, planned: &Value, actual: &Value) -> Vec<RuleProblem> {
    let mut problems = Vec::new();
    // Most plans are confirmed, and most results are as planned.
    if !(planned.is_wholly_known() && planned.same_unmarked(actual)) {
        check_block(block, planned, actual, &Path::ROOT, &mut problems);
    }
    problems
}

/// Like [`result_problems`], for values without a schema.
pub fn value_problems(planned: &Value, actual: &Value) -> Vec<RuleProblem> {
    let mut problems = Vec::new();
    check_value(planned, actual, &Path::ROOT, &mut problems);
    problems
}

fn check_block(block: &Block, planned: &Value, actual: &Value, path: &Path, problems: &mut Vec<RuleProblem>) {
    let what = if path.0.is_empty() { "Root object " } else { "" };
    match (planned.is_null(), actual.is_null()) {
        (true, false) => return problems.push(RuleProblem::new(path, format!("{what}was absent, but now present"))),
        (false, true) => return problems.push(RuleProblem::new(path, format!("{what}was present, but now absent"))),
        (true, true) => return,
        (false, false) => {}
    }
    stack::guarded(|| {
        for (name, attribute) in &block.attributes {
            if attribute.write_only {
                continue;
            }
            let (planned, actual) = (part(planned, name, &attribute.ty), part(actual, name, &attribute.ty));
            let path = path.attribute(name.clone());
            let mut found = Vec::new();
            let sensitive = attribute.sensitive || planned.contains_sensitive() || actual.contains_sensitive();
            check_value(&planned, &actual, &path, &mut found);
            if sensitive && !found.is_empty() {
                problems.push(RuleProblem::new(&path, "inconsistent values for sensitive attribute"));
            } else {
                problems.append(&mut found);
            }
        }
        for (name, nested) in &block.blocks {
            let ty = nested.implied_type();
            let path = path.attribute(name.clone());
            check_nested_block(nested, &part(planned, name, &ty), &part(actual, name, &ty), &path, problems);
        }
    });
}

fn check_nested_block(
    nested: &NestedBlock,
    planned: &Value,
    actual: &Value,
    path: &Path,
    problems: &mut Vec<RuleProblem>,
) {
    if matches!(nested.nesting, Nesting::Single | Nesting::Group) {
        // A dynamic block over an unknown collection may turn out to be empty.
        if planned.is_known() || !actual.is_null() {
            check_block(&nested.block, planned, actual, path, problems);
        }
        return;
    }
    if !planned.is_known() || !actual.is_known() || planned.is_null() || actual.is_null() {
        return;
    }
    let none = Entries::default();
    match nested.nesting {
        Nesting::Map => {
            let (before, after) = (planned.as_fields().unwrap_or(&none), actual.as_fields().unwrap_or(&none));
            for (key, planned) in before {
                match after.get(key) {
                    Some(actual) => {
                        let path = path.with(ValueStep::Key(key.clone()));
                        check_block(&nested.block, planned, actual, &path, problems);
                    }
                    None => {
                        let message = format!("block key {:?} has vanished", key.as_str());
                        problems.push(RuleProblem::new(path, message));
                    }
                }
            }
            for key in after.keys().filter(|key| !before.contains_key(key)) {
                let message = format!("new block key {:?} has appeared", key.as_str());
                problems.push(RuleProblem::new(path, message));
            }
        }
        Nesting::Set => {
            let fits = |planned: &Value, actual: &Value| {
                let mut inner = Vec::new();
                check_block(&nested.block, planned, actual, path, &mut inner);
                inner.is_empty()
            };
            check_set("block set length", planned, actual, path, problems, &fits);
        }
        _ => {
            let (before, after) = (planned.as_items().unwrap_or_default(), actual.as_items().unwrap_or_default());
            if before.len() != after.len() {
                let message = format!("block count changed from {} to {}", before.len(), after.len());
                problems.push(RuleProblem::new(path, message));
                return;
            }
            for (place, (planned, actual)) in before.iter().zip(after).enumerate() {
                check_block(&nested.block, planned, actual, &path.with(ValueStep::Index(place as u64)), problems);
            }
        }
    }
}

/// Checks a set. Fewer elements than planned are valid, because unknown elements may turn out to be equal. More
/// elements are not valid.
fn check_set(
    what: &str,
    planned: &Value,
    actual: &Value,
    path: &Path,
    problems: &mut Vec<RuleProblem>,
    fits: &dyn Fn(&Value, &Value) -> bool,
) {
    let (before, after) = (planned.as_items().unwrap_or_default(), actual.as_items().unwrap_or_default());
    let (vanished, appeared) = unmatched(before, after, fits);
    if !vanished.is_empty() {
        let message = "a planned set element does not correlate with any element in actual";
        problems.push(RuleProblem::new(path, message));
    }
    if !appeared.is_empty() {
        let message = "an actual set element does not correlate with any element in plan";
        problems.push(RuleProblem::new(path, message));
    }
    if before.len() < after.len() {
        let message = format!("{what} changed from {} to {}", before.len(), after.len());
        problems.push(RuleProblem::new(path, message));
    }
}

fn check_value(planned: &Value, actual: &Value, path: &Path, problems: &mut Vec<RuleProblem>) {
    stack::guarded(|| {
        if !conforms(&actual.ty(), &planned.ty()) {
            let (have, want) = (actual.ty().friendly_name(), planned.ty().friendly_name());
            let message = if have == want {
                "wrong final value type: it differs inside".to_owned()
            } else {
                format!("wrong final value type: {want} required, but have {have}")
            };
            problems.push(RuleProblem::new(path, message));
            return;
        }
        match (planned.open().1, actual.open().1) {
            (Kind::Unknown(u), _) => {
                if !allowed(&u.refinement, actual) {
                    let message = "final value does not conform to the planning placeholder";
                    problems.push(RuleProblem::new(path, message));
                }
            }
            (Kind::Null(_), Kind::Null(_)) => {}
            (_, Kind::Null(_)) => problems.push(RuleProblem::new(path, format!("was {planned:?}, but now null"))),
            (Kind::Null(_), _) => problems.push(RuleProblem::new(path, format!("was null, but now {actual:?}"))),
            (_, Kind::Unknown(_)) => problems.push(RuleProblem::new(path, "was known, but now unknown")),
            (Kind::List(p), Kind::List(a)) | (Kind::Tuple(p), Kind::Tuple(a)) => {
                for (place, (planned, actual)) in p.items().iter().zip(a.items()).enumerate() {
                    check_value(planned, actual, &path.with(ValueStep::Index(place as u64)), problems);
                }
                for place in a.len()..p.len() {
                    problems.push(RuleProblem::new(path, format!("element {place} has vanished")));
                }
                for place in p.len()..a.len() {
                    problems.push(RuleProblem::new(path, format!("new element {place} has appeared")));
                }
            }
            (Kind::Map(p), Kind::Map(a)) => {
                for (key, planned) in p.iter() {
                    match a.get(key) {
                        Some(actual) => check_value(planned, actual, &path.with(ValueStep::Key(key.clone())), problems),
                        None => {
                            let message = format!("element {:?} has vanished", key.as_str());
                            problems.push(RuleProblem::new(path, message));
                        }
                    }
                }
                for (key, _) in a.iter().filter(|(key, _)| p.get(key).is_none()) {
                    let message = format!("new element {:?} has appeared", key.as_str());
                    problems.push(RuleProblem::new(path, message));
                }
            }
            (Kind::Object(p), Kind::Object(a)) => {
                for (name, planned) in p.iter() {
                    if let Some(actual) = a.get(name) {
                        check_value(planned, actual, &path.attribute(name.clone()), problems);
                    }
                }
            }
            (Kind::Set(_), Kind::Set(_)) => {
                let fits = |planned: &Value, actual: &Value| {
                    let mut inner = Vec::new();
                    check_value(planned, actual, path, &mut inner);
                    inner.is_empty()
                };
                check_set("length", planned, actual, path, problems, &fits);
            }
            _ => {
                if equal(planned, actual) != Some(true) {
                    problems.push(RuleProblem::new(path, format!("was {planned:?}, but now {actual:?}")));
                }
            }
        }
    });
}

/// Whether a type matches the type `want`. A dynamic type matches any type.
fn conforms(have: &Type, want: &Type) -> bool {
    match (have, want) {
        (_, Type::Dynamic) | (Type::Dynamic, _) => true,
        (Type::List(h), Type::List(w)) | (Type::Set(h), Type::Set(w)) | (Type::Map(h), Type::Map(w)) => conforms(h, w),
        (Type::Tuple(h), Type::Tuple(w)) => h.len() == w.len() && h.iter().zip(w.iter()).all(|(h, w)| conforms(h, w)),
        (Type::Object(h), Type::Object(w)) => {
            h.attributes.len() == w.attributes.len()
                && h.attributes.iter().all(|(name, have)| w.attributes.get(name).is_some_and(|w| conforms(have, w)))
        }
        _ => have == want,
    }
}

/// Whether an unknown value with this refinement may become this value.
fn allowed(known: &Refinement, value: &Value) -> bool {
    if !value.is_known() {
        return true;
    }
    if value.is_null() {
        return !known.not_null;
    }
    match value.open().1 {
        Kind::String(text) => text.starts_with(known.prefix.as_str()),
        Kind::Number(number) => {
            let above = known.min.as_ref().is_none_or(|(min, included)| number > min || (*included && number == min));
            let below = known.max.as_ref().is_none_or(|(max, included)| number < max || (*included && number == max));
            above && below
        }
        Kind::List(_) | Kind::Set(_) | Kind::Map(_) => {
            let (low, high) = length_bounds(value);
            high.is_none_or(|high| high >= known.length_min) && known.length_max.is_none_or(|max| low <= max)
        }
        _ => true,
    }
}
