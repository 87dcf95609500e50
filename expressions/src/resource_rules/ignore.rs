//! `ignore_changes`: the configuration with ignored parts as they were.

use std::collections::BTreeMap;

use weft_graph_format::path::{Path, Step};
use weft_graph_format::schema::Block;
use weft_graph_format::value::{Kind, Value};

/// The configuration with the paths (or everything, without paths) taken from the prior value. A null prior ignores
/// nothing. What a path leads to in only one of the two is added or removed where it is an element of a map.
pub fn ignore_changes(schema: &Block, config: &Value, prior: &Value, paths: Option<&[Path]>) -> Value {
    if prior.is_null() || config.is_null() || !config.is_known() {
        return config.clone();
    }
    match paths {
        None => all(schema, config, prior),
        Some(paths) => {
            let mut value = config.clone();
            for path in paths {
                value = replaced(&value, prior, &path.0);
            }
            value
        }
    }
}

/// Everything configurable as it was: what only the provider chooses stays null, as in any configuration.
fn all(schema: &Block, config: &Value, prior: &Value) -> Value {
    let (Some(configured), Some(before)) = (config.as_fields(), prior.as_fields()) else { return config.clone() };
    Value::object(configured.iter().map(|(name, now)| {
        let only_computed =
            schema.attributes.get(name).is_some_and(|a| (a.computed && !a.optional) || a.write_only);
        let value = match before.get(name) {
            Some(before) if !only_computed => before.clone(),
            _ => now.clone(),
        };
        (name.clone(), value)
    }))
}

fn replaced(value: &Value, prior: &Value, steps: &[Step]) -> Value {
    let Some((step, rest)) = steps.split_first() else { return prior.clone() };
    let (Step::Attribute(name) | Step::Key(name)) = step else {
        let Step::Index(index) = step else { return value.clone() };
        return replaced_item(value, prior, *index, rest);
    };
    let (Kind::Object(now) | Kind::Map(now)) = value.open().1 else {
        // A null map becomes the prior one as far as it is ignored.
        return match (value.is_null(), prior.open().1) {
            (true, Kind::Map(before)) => match before.get(name) {
                Some(kept) if rest.is_empty() => {
                    Value::map(before.element_type(), BTreeMap::from([(name.clone(), kept.clone())]))
                }
                _ => value.clone(),
            },
            _ => value.clone(),
        };
    };
    let before = prior.as_fields().and_then(|f| f.get(name));
    let is_map = matches!(value.open().1, Kind::Map(_));
    let mut entries = now.entries().clone();
    match (entries.get(name), before) {
        (Some(part), Some(before)) => {
            let next = replaced(part, before, rest);
            entries.insert(name.clone(), next);
        }
        (Some(_), None) if is_map && rest.is_empty() => {
            entries.remove(name);
        }
        (None, Some(before)) if is_map && rest.is_empty() => {
            entries.insert(name.clone(), before.clone());
        }
        _ => return value.clone(),
    }
    let rebuilt =
        if is_map { Value::map(now.element_type(), entries) } else { Value::object(entries) };
    value.carry_onto(&rebuilt)
}

fn replaced_item(value: &Value, prior: &Value, index: u64, rest: &[Step]) -> Value {
    let (Kind::List(now) | Kind::Tuple(now)) = value.open().1 else { return value.clone() };
    let at = usize::try_from(index).unwrap_or(usize::MAX);
    let Some(before) = prior.as_items().and_then(|items| items.get(at)) else { return value.clone() };
    let mut items = now.items().to_vec();
    let Some(slot) = items.get_mut(at) else { return value.clone() };
    *slot = replaced(slot, before, rest);
    let rebuilt = match value.open().1 {
        Kind::List(_) => Value::list(now.element_type(), items),
        _ => Value::tuple(items),
    };
    value.carry_onto(&rebuilt)
}
