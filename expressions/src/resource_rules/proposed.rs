//! The object that a provider is asked to plan: the configuration, with prior values for attributes that the
//! configuration leaves to the provider. The rules are those of OpenTofu's `objchange.ProposedNew`
//! (`internal/plans/objchange`).

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::schema::{Attribute, Block, NestedAttributes, NestedBlock, Nesting};
use weft_graph_format::value::{Kind, Value};

use super::{part, schema_path};
use crate::stack;

/// The schema of the elements of a nested block or nested attribute.
#[derive(Clone, Copy)]
enum NestedSchema<'s> {
    Block(&'s Block),
    Attributes(&'s NestedAttributes),
}

/// Merges the configuration with the prior object. If one of them is null, returns the other. A null prior object means
/// that the object is created. If both are null, returns null.
pub fn proposed_new(block: &Block, prior: &Value, config: &Value) -> Value {
    if config.is_null() && prior.is_null() {
        return prior.clone();
    }
    stack::guarded(|| {
        if prior.is_null() { merge_block(block, &all_null(block), config) } else { merge_block(block, prior, config) }
    })
}

/// An object of the block's type in which all attributes are null and all blocks are absent.
pub fn all_null(block: &Block) -> Value {
    let attributes =
        block.attributes.iter().map(|(name, attribute)| (name.clone(), Value::null(attribute.ty.without_optional())));
    let blocks = block.blocks.iter().map(|(name, nested)| {
        let content = nested.block.implied_type();
        let empty = match nested.nesting {
            Nesting::Single => Value::null(content),
            Nesting::Group => all_null(&nested.block),
            Nesting::List if content.has_dynamic() => Value::tuple(Vec::new()),
            Nesting::List => Value::list(content, Vec::new()),
            Nesting::Set => Value::set(content, Vec::new()),
            Nesting::Map if content.has_dynamic() => Value::empty_object(),
            Nesting::Map => Value::map(content, BTreeMap::new()),
        };
        (name.clone(), empty)
    });
    Value::object(attributes.chain(blocks))
}

fn merge_block(block: &Block, prior: &Value, config: &Value) -> Value {
    if config.is_null() || !config.is_known() {
        return prior.clone();
    }
    let mut merged = merge_attributes(&block.attributes, prior, config);
    for (name, nested) in &block.blocks {
        let ty = nested.implied_type();
        merged.insert(name.clone(), merge_nested_block(nested, &part(prior, name, &ty), &part(config, name, &ty)));
    }
    Value::object(merged)
}

fn merge_nested_block(nested: &NestedBlock, prior: &Value, config: &Value) -> Value {
    // Only a dynamic block over an unknown collection is unknown as a whole.
    if !config.is_known() {
        return config.clone();
    }
    let content = NestedSchema::Block(&nested.block);
    match nested.nesting {
        Nesting::Single if config.is_null() => config.clone(),
        Nesting::Single | Nesting::Group => merge_element(content, prior, config),
        Nesting::List => merge_list(content, prior, config),
        Nesting::Map => merge_map(content, prior, config),
        Nesting::Set => merge_set(content, prior, config),
    }
}

fn merge_attributes(
    attributes: &BTreeMap<SmolStr, Attribute>,
    prior: &Value,
    config: &Value,
) -> BTreeMap<SmolStr, Value> {
    attributes
        .iter()
        .map(|(name, attribute)| {
            let prior = part(prior, name, &attribute.ty);
            let config = part(config, name, &attribute.ty);
            let merged = if attribute.computed && config.is_null() {
                // A prior value that only a configuration can set is dropped if the configuration no longer sets it.
                if holds_configured(attribute, &prior) { config.into_owned() } else { prior.into_owned() }
            } else {
                match &attribute.nested {
                    Some(nested) => merge_nested_attribute(nested, &prior, &config),
                    None => config.into_owned(),
                }
            };
            (name.clone(), merged)
        })
        .collect()
}

/// Whether a nested attribute contains a value that no provider computes.
fn holds_configured(attribute: &Attribute, prior: &Value) -> bool {
    let (true, Some(nested)) = (attribute.optional, &attribute.nested) else { return false };
    let mut found = false;
    prior.visit(&mut |path, value| {
        if !value.is_null() && schema_path::in_nested(nested, &path.0).is_some_and(|attribute| !attribute.computed) {
            found = true;
        }
    });
    found
}

fn merge_nested_attribute(nested: &NestedAttributes, prior: &Value, config: &Value) -> Value {
    if config.is_null() || !config.is_known() {
        return config.clone();
    }
    let content = NestedSchema::Attributes(nested);
    match nested.nesting {
        Nesting::Single | Nesting::Group => merge_element(content, prior, config),
        Nesting::List => merge_list(content, prior, config),
        Nesting::Map => merge_map(content, prior, config),
        Nesting::Set => merge_set(content, prior, config),
    }
}

fn merge_element(content: NestedSchema<'_>, prior: &Value, config: &Value) -> Value {
    stack::guarded(|| match content {
        NestedSchema::Block(block) => proposed_new(block, prior, config),
        NestedSchema::Attributes(_) if config.is_null() || !config.is_known() => config.clone(),
        NestedSchema::Attributes(nested) => Value::object(merge_attributes(&nested.attributes, prior, config)),
    })
}

/// Merges elements by position. Elements without a prior element are copied from the configuration.
fn merge_list(content: NestedSchema<'_>, prior: &Value, config: &Value) -> Value {
    let Some(items) = config.as_items() else { return config.clone() };
    if items.is_empty() {
        return config.clone();
    }
    let merged: Vec<Value> = items
        .iter()
        .enumerate()
        .map(|(place, item)| match prior.as_items().and_then(|items| items.get(place)) {
            Some(prior) => merge_element(content, prior, item),
            None => item.clone(),
        })
        .collect();
    match config.open().1 {
        Kind::List(list) => Value::list(list.element_type(), merged),
        _ => Value::tuple(merged),
    }
}

/// Merges elements by key.
fn merge_map(content: NestedSchema<'_>, prior: &Value, config: &Value) -> Value {
    let Some(fields) = config.as_fields() else { return config.clone() };
    let merged: BTreeMap<SmolStr, Value> = fields
        .iter()
        .map(|(key, item)| {
            let merged = match prior.as_fields().and_then(|fields| fields.get(key)) {
                Some(prior) => merge_element(content, prior, item),
                None => item.clone(),
            };
            (key.clone(), merged)
        })
        .collect();
    match config.open().1 {
        Kind::Map(map) => Value::map(map.element_type(), merged),
        _ => Value::object(merged),
    }
}

/// Merges each element with the first prior element that this configuration can have produced.
fn merge_set(content: NestedSchema<'_>, prior: &Value, config: &Value) -> Value {
    let Kind::Set(set) = config.open().1 else { return config.clone() };
    let mut left: Vec<&Value> = prior.as_items().unwrap_or_default().iter().collect();
    let element = set.element_type();
    let merged = set
        .items()
        .iter()
        .map(|item| {
            let found = left.iter().position(|prior| may_come_from(content, prior, item));
            let prior = found.map(|place| left.remove(place)).cloned();
            merge_element(content, &prior.unwrap_or_else(|| Value::null(element.clone())), item)
        })
        .collect();
    Value::set(element, merged)
}

/// Whether this configuration can have produced a prior element: the element and the configuration differ only in
/// attributes that the provider sets.
fn may_come_from(content: NestedSchema<'_>, prior: &Value, config: &Value) -> bool {
    let attribute_at = |path: &Path| match content {
        NestedSchema::Block(block) => schema_path::attribute_at(block, path),
        NestedSchema::Attributes(nested) => {
            let single = path.0.first().and_then(|first| match first {
                ValueStep::Attribute(name) | ValueStep::Key(name) => nested.attributes.get(name),
                ValueStep::Index(_) => None,
            })?;
            match (path.0.get(1..), &single.nested) {
                (None | Some([]), _) => Some(single),
                (Some(rest), Some(deeper)) => schema_path::in_nested(deeper, rest),
                (Some(_), None) => None,
            }
        }
    };
    comes_from(&attribute_at, prior, config, &Path::ROOT)
}

fn comes_from<'s>(
    attribute_at: &dyn Fn(&Path) -> Option<&'s Attribute>,
    prior: &Value,
    config: &Value,
    path: &Path,
) -> bool {
    if prior.same_unmarked(config) {
        return true;
    }
    if let Some(attribute) = attribute_at(path)
        && attribute.nested.is_none()
    {
        return attribute.computed && config.is_null();
    }
    match (prior.open().1, config.open().1) {
        (Kind::Object(p), Kind::Object(c)) | (Kind::Map(p), Kind::Map(c)) => {
            p.len() == c.len()
                && p.iter().all(|(name, prior)| {
                    c.get(name)
                        .is_some_and(|config| comes_from(attribute_at, prior, config, &path.attribute(name.clone())))
                })
        }
        (Kind::List(p), Kind::List(c)) | (Kind::Tuple(p), Kind::Tuple(c)) => {
            p.len() == c.len()
                && p.items().iter().zip(c.items()).enumerate().all(|(place, (prior, config))| {
                    comes_from(attribute_at, prior, config, &path.with(ValueStep::Index(place as u64)))
                })
        }
        _ => {
            // If the configuration does not set the attribute, the provider may have set it as a whole.
            config.is_null() && attribute_at(path).is_some_and(|attribute| attribute.computed)
        }
    }
}
