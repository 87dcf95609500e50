//! The argument `ignore_changes`.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::schema::Block;
use weft_graph_format::value::{Kind, Transform, Value};

use super::schema_path::attribute_at;

/// The ignored parts of one value.
#[derive(Default)]
struct Ignored {
    /// The value that replaces the whole value, if all of it is ignored.
    whole: Option<Value>,
    /// The values that replace elements of a map. `None` removes an element.
    elements: BTreeMap<SmolStr, Option<Value>>,
}

/// Replaces the ignored parts of the configuration with those of the prior object. If `paths` is `None`, everything is
/// ignored. In this case, `prior` must come from [`prior_for_ignoring_all`]. If the prior object is null, nothing is
/// ignored, because a new object has no earlier values.
///
/// For a path that ends in a map key, only that element of the map is replaced, or removed if the prior map does not
/// have it. Such a path is skipped unless both values have the map. Any other path is skipped unless it exists in both
/// values.
pub fn ignore_changes(config: &Value, prior: &Value, paths: Option<&[Path]>) -> Value {
    if prior.is_null() {
        return config.clone();
    }
    let Some(paths) = paths else { return prior.clone() };
    if config.is_null() {
        return config.clone();
    }
    let mut changes: BTreeMap<Path, Ignored> = BTreeMap::new();
    for path in paths {
        let (whole, key) = match path.0.split_last() {
            Some((ValueStep::Key(key), parents)) => (Path(parents.to_vec()), Some(key.clone())),
            _ => (path.clone(), None),
        };
        let (Ok(before), Ok(after)) = (prior.at_path(&whole), config.at_path(&whole)) else { continue };
        if before.same_content(&after) {
            continue;
        }
        let change = changes.entry(plain(&whole)).or_default();
        match key {
            None => change.whole = Some(before),
            Some(key) => {
                let element = before.as_fields().and_then(|fields| fields.get(&key)).cloned();
                change.elements.insert(key, element);
            }
        }
    }
    if changes.is_empty() {
        return config.clone();
    }
    config.transform(&mut |path, value| {
        let Some(Ignored { whole, elements }) = changes.get(&plain(path)) else { return Transform::Descend };
        if let Some(whole) = whole {
            return Transform::Replace(whole.clone());
        }
        let mut entries = match value.open().1 {
            Kind::Map(map) => map.entries().to_map(),
            Kind::Null(_) => BTreeMap::new(),
            // A single element of an unknown map cannot be replaced. Values of other types have no keys.
            _ => return Transform::Descend,
        };
        for (key, element) in elements {
            match element {
                Some(element) => entries.insert(key.clone(), element.clone()),
                None => entries.remove(key),
            };
        }
        let element = value.ty().element().cloned().unwrap_or(weft_graph_format::types::Type::Dynamic);
        if entries.is_empty() && value.is_null() {
            return Transform::Replace(value.clone());
        }
        Transform::Replace(value.carry_onto(&Value::map(element, entries)))
    })
}

/// Converts map keys to attribute names, because paths that users write do not distinguish the two.
fn plain(path: &Path) -> Path {
    Path(
        path.0
            .iter()
            .map(|step| match step {
                ValueStep::Key(name) => ValueStep::Attribute(name.clone()),
                other => other.clone(),
            })
            .collect(),
    )
}

/// The prior object as a configuration: attributes that only the provider sets are null.
pub fn prior_for_ignoring_all(block: &Block, prior: &Value) -> Value {
    prior.transform(&mut |path, value| match attribute_at(block, path) {
        Some(attribute) if attribute.computed && !attribute.optional => Transform::Replace(Value::null(value.ty())),
        _ => Transform::Descend,
    })
}
