//! The detected changes that a plan depends on.

use std::collections::BTreeMap;

use weft_graph_format::address::ResourceInstance;
use weft_graph_format::changes::{Changes, ResourceChange};
use weft_graph_format::path::ValueStep;
use weft_graph_format::value::{Kind, Value};

/// The detected changes, reduced to the attributes that the plan depends on.
pub(super) fn relevant(changes: &Changes) -> Vec<ResourceChange> {
    let mut paths: BTreeMap<&ResourceInstance, Vec<&[ValueStep]>> = BTreeMap::new();
    for attribute in &changes.relevant {
        paths.entry(&attribute.resource).or_default().push(&attribute.path.0);
    }
    let found = changes.drift.iter().filter(|change| !change.action.is_no_op() && change.deposed.is_none());
    found
        .filter_map(|change| {
            let after = masked(&change.before, &change.after, paths.get(&change.address)?);
            (!same_but_for_unset(&change.before, &after)).then(|| ResourceChange { after, ..change.clone() })
        })
        .collect()
}

/// The old value, with the new values at the paths. Only steps into objects are followed. If a path leads into a
/// container of another kind, such as a list, the result has the new value of the whole container.
fn masked(before: &Value, after: &Value, paths: &[&[ValueStep]]) -> Value {
    if paths.iter().any(|path| path.is_empty()) {
        return after.clone();
    }
    let (Kind::Object(was), is) = (before.open().1, after.as_fields()) else { return after.clone() };
    let gone = after.is_null();
    let fields = was.iter().map(|(name, was)| {
        let below: Vec<&[ValueStep]> = paths
            .iter()
            .filter_map(|path| match path.split_first()? {
                (ValueStep::Attribute(first) | ValueStep::Key(first), rest) if first == name => Some(rest),
                _ => None,
            })
            .collect();
        let value = match is.and_then(|fields| fields.get(name)) {
            _ if below.is_empty() => was.clone(),
            Some(is) => masked(was, is, &below),
            None if gone => Value::null(was.ty()),
            None => was.clone(),
        };
        (name.clone(), value)
    });
    // If either side is sensitive as a whole, so is the result.
    Value::object(fields.collect::<Vec<_>>()).mark(before.marks()).mark(after.marks())
}

/// Whether two values are equal if null, an empty string and an empty collection count as equal. For unset arguments,
/// providers of the older SDK may write one of these when they create an object, but another one when they read the
/// object.
fn same_but_for_unset(before: &Value, after: &Value) -> bool {
    let unset = |value: &Value| {
        value.is_null()
            || value.as_str() == Some("")
            || (value.is_known()
                && (value.as_items().is_some_and(<[Value]>::is_empty)
                    || (value.as_fields().is_some_and(|fields| fields.is_empty()))))
    };
    if unset(before) && unset(after) || before.same_unmarked(after) {
        return true;
    }
    match (before.as_fields(), after.as_fields()) {
        (Some(before), Some(after)) if before.len() == after.len() => {
            before.iter().all(|(name, was)| after.get(name).is_some_and(|is| same_but_for_unset(was, is)))
        }
        _ => match (before.as_items(), after.as_items()) {
            (Some(before), Some(after)) if before.len() == after.len() => {
                before.iter().zip(after).all(|(was, is)| same_but_for_unset(was, is))
            }
            _ => false,
        },
    }
}
