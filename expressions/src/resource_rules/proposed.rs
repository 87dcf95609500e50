//! The proposed new value: configuration, with what the provider chose before filled in where nothing is configured.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::schema::{Attribute, Block, NestedAttributes, NestedBlock, Nesting};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

/// The value to propose for a change from `prior` (null for a create) to `config`, both of the schema's type and
/// without marks.
pub fn proposed_new(schema: &Block, prior: &Value, config: &Value) -> Value {
    if config.is_null() || !config.is_known() {
        return prior.clone();
    }
    let prior = if prior.is_null() { null_object(schema) } else { prior.clone() };
    block(schema, &prior, config)
}

/// The object of a schema in which every attribute is null and no block is there.
pub fn null_object(schema: &Block) -> Value {
    let attributes = schema.attributes.iter().map(|(n, a)| (n.clone(), Value::null(a.ty.clone())));
    let blocks = schema.blocks.iter().map(|(n, b)| (n.clone(), empty_blocks(b)));
    Value::object(attributes.chain(blocks))
}

fn empty_blocks(nested: &NestedBlock) -> Value {
    let content = nested.block.implied_type();
    match nested.nesting {
        Nesting::Single => Value::null(content),
        Nesting::Group => null_object(&nested.block),
        Nesting::List if content.has_dynamic() => Value::tuple(Vec::new()),
        Nesting::List => Value::list(content, Vec::new()),
        Nesting::Set => Value::set(content, Vec::new()),
        Nesting::Map if content.has_dynamic() => Value::empty_object(),
        Nesting::Map => Value::map(content, BTreeMap::new()),
    }
}

fn field(object: &Value, name: &str) -> Option<Value> {
    object.as_fields().and_then(|f| f.get(name)).cloned()
}

fn block(schema: &Block, prior: &Value, config: &Value) -> Value {
    let mut fields: BTreeMap<SmolStr, Value> = attributes(&schema.attributes, prior, config);
    for (name, nested) in &schema.blocks {
        let configured = field(config, name).unwrap_or_else(|| empty_blocks(nested));
        let before = field(prior, name).unwrap_or_else(|| empty_blocks(nested));
        fields.insert(name.clone(), nested_block(nested, &before, &configured));
    }
    Value::object(fields)
}

fn attributes(
    schema: &BTreeMap<SmolStr, Attribute>,
    prior: &Value,
    config: &Value,
) -> BTreeMap<SmolStr, Value> {
    let mut fields = BTreeMap::new();
    for (name, attribute) in schema {
        let configured = field(config, name).unwrap_or_else(|| Value::null(attribute.ty.clone()));
        let before = field(prior, name).unwrap_or_else(|| Value::null(attribute.ty.clone()));
        let value = match &attribute.nested {
            // What the provider may choose, and the configuration leaves open, stays as it was.
            _ if attribute.computed && configured.is_null() && keeps_prior(attribute, &before) => before,
            Some(nested) => nested_attribute(nested, &before, &configured),
            None => configured,
        };
        fields.insert(name.clone(), value);
    }
    fields
}

/// A computed nested attribute whose prior holds content that was configured is not kept when it is dropped from the
/// configuration.
fn keeps_prior(attribute: &Attribute, prior: &Value) -> bool {
    match &attribute.nested {
        Some(nested) if attribute.optional && prior.is_known() && !prior.is_null() => !holds_configured(nested, prior),
        _ => true,
    }
}

/// Whether something in a nested attribute's value can only have come from configuration.
fn holds_configured(nested: &NestedAttributes, value: &Value) -> bool {
    let in_object = |object: &Value| {
        nested.attributes.iter().any(|(name, attribute)| {
            let Some(part) = field(object, name) else { return false };
            if part.is_null() {
                return false;
            }
            match &attribute.nested {
                Some(inner) => holds_configured(inner, &part),
                None => !attribute.computed,
            }
        })
    };
    match nested.nesting {
        Nesting::Single | Nesting::Group => in_object(value),
        Nesting::Map => value.as_fields().is_some_and(|f| f.values().any(in_object)),
        Nesting::List | Nesting::Set => value.as_items().is_some_and(|items| items.iter().any(in_object)),
    }
}

fn nested_attribute(nested: &NestedAttributes, prior: &Value, config: &Value) -> Value {
    if config.is_null() || !config.is_known() {
        return config.clone();
    }
    let merge = |before: &Value, configured: &Value| -> Value {
        if configured.is_null() || !configured.is_known() {
            return configured.clone();
        }
        Value::object(attributes(&nested.attributes, before, configured))
    };
    let computed_equal = |before: &Value, configured: &Value| {
        matches_configured(&nested.attributes, &BTreeMap::new(), before, configured)
    };
    merge_nested(nested.nesting, &nested.implied_type(), prior, config, &merge, &computed_equal)
}

fn nested_block(nested: &NestedBlock, prior: &Value, config: &Value) -> Value {
    if !config.is_known() {
        return config.clone();
    }
    if config.is_null() {
        return config.clone();
    }
    let merge = |before: &Value, configured: &Value| -> Value {
        if configured.is_null() || !configured.is_known() {
            return configured.clone();
        }
        let before = if before.is_null() { null_object(&nested.block) } else { before.clone() };
        block(&nested.block, &before, configured)
    };
    let computed_equal = |before: &Value, configured: &Value| {
        matches_configured(&nested.block.attributes, &nested.block.blocks, before, configured)
    };
    merge_nested(nested.nesting, &nested.implied_type(), prior, config, &merge, &computed_equal)
}

fn merge_nested(
    nesting: Nesting,
    ty: &Type,
    prior: &Value,
    config: &Value,
    merge: &dyn Fn(&Value, &Value) -> Value,
    same: &dyn Fn(&Value, &Value) -> bool,
) -> Value {
    let null = Value::null(ty.element().cloned().unwrap_or(Type::Dynamic));
    match nesting {
        Nesting::Single | Nesting::Group => merge(prior, config),
        Nesting::List => {
            let before = prior.as_items().unwrap_or_default();
            let Some(items) = config.as_items() else { return config.clone() };
            let merged: Vec<Value> =
                items.iter().enumerate().map(|(i, item)| merge(before.get(i).unwrap_or(&null), item)).collect();
            match config.open().1 {
                Kind::List(s) => Value::list(s.element_type(), merged),
                _ => Value::tuple(merged),
            }
        }
        Nesting::Map => {
            let Some(entries) = config.as_fields() else { return config.clone() };
            let merged = entries.iter().map(|(key, item)| {
                let before = field(prior, key).unwrap_or_else(|| null.clone());
                (key.clone(), merge(&before, item))
            });
            match config.open().1 {
                Kind::Map(f) => Value::map(f.element_type(), merged.collect()),
                _ => Value::object(merged),
            }
        }
        Nesting::Set => {
            let Some(items) = config.as_items() else { return config.clone() };
            let before = prior.as_items().unwrap_or_default();
            let mut used = vec![false; before.len()];
            let merged: Vec<Value> = items
                .iter()
                .map(|item| {
                    let found = before.iter().enumerate().position(|(i, b)| !used[i] && same(b, item));
                    match found {
                        Some(i) => {
                            used[i] = true;
                            merge(&before[i], item)
                        }
                        None => merge(&null, item),
                    }
                })
                .collect();
            let element = ty.element().cloned().unwrap_or(Type::Dynamic);
            Value::set(element, merged)
        }
    }
}

/// Whether a prior set element is what a configured one became: equal but for what the provider may have filled in.
fn matches_configured(
    attributes: &BTreeMap<SmolStr, Attribute>,
    blocks: &BTreeMap<SmolStr, NestedBlock>,
    prior: &Value,
    config: &Value,
) -> bool {
    if prior.is_null() || config.is_null() || !prior.is_known() || !config.is_known() {
        return prior.same_unmarked(config);
    }
    let same_attribute = attributes.iter().all(|(name, attribute)| {
        let (before, now) = (field(prior, name), field(config, name));
        let (Some(before), Some(now)) = (before, now) else { return false };
        if now.is_null() && attribute.computed {
            return true;
        }
        match &attribute.nested {
            Some(nested) if !now.is_null() && now.is_known() => match nested.nesting {
                Nesting::Single | Nesting::Group => {
                    matches_configured(&nested.attributes, &BTreeMap::new(), &before, &now)
                }
                _ => pairwise(&before, &now, &|b, n| {
                    matches_configured(&nested.attributes, &BTreeMap::new(), b, n)
                }),
            },
            _ => before.same_unmarked(&now),
        }
    });
    same_attribute
        && blocks.iter().all(|(name, nested)| {
            let (Some(before), Some(now)) = (field(prior, name), field(config, name)) else { return false };
            let same = |b: &Value, n: &Value| matches_configured(&nested.block.attributes, &nested.block.blocks, b, n);
            match nested.nesting {
                Nesting::Single | Nesting::Group => same(&before, &now),
                _ => pairwise(&before, &now, &same),
            }
        })
}

fn pairwise(a: &Value, b: &Value, same: &dyn Fn(&Value, &Value) -> bool) -> bool {
    match (a.as_items(), b.as_items(), a.as_fields(), b.as_fields()) {
        (Some(x), Some(y), ..) => x.len() == y.len() && x.iter().zip(y).all(|(v, w)| same(v, w)),
        (.., Some(x), Some(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|((k, v), (l, w))| k == l && same(v, w))
        }
        _ => a.same_unmarked(b),
    }
}

/// The value with everything that the provider may choose, and the configuration leaves null, unknown: what a create
/// comes to when nobody asks the provider.
pub fn all_unknown(schema: &Block, config: &Value) -> Value {
    let Some(fields) = config.as_fields() else { return Value::unknown(schema.implied_type()) };
    Value::object(fields.iter().map(|(name, value)| {
        let value = match schema.attributes.get(name) {
            Some(attribute) if attribute.computed && value.is_null() => Value::unknown(attribute.ty.clone()),
            _ => match schema.blocks.get(name) {
                Some(nested) => unknown_in_blocks(nested, value),
                None => value.clone(),
            },
        };
        (name.clone(), value)
    }))
}

fn unknown_in_blocks(nested: &NestedBlock, value: &Value) -> Value {
    let each = |v: &Value| if v.is_null() || !v.is_known() { v.clone() } else { all_unknown(&nested.block, v) };
    match value.open().1 {
        Kind::Object(_) if matches!(nested.nesting, Nesting::Single | Nesting::Group) => each(value),
        Kind::List(s) => Value::list(s.element_type(), s.items().iter().map(each).collect()),
        Kind::Tuple(s) => Value::tuple(s.items().iter().map(each).collect()),
        Kind::Set(s) => Value::set(s.element_type(), s.items().iter().map(each).collect()),
        Kind::Map(f) => Value::map(f.element_type(), f.iter().map(|(k, v)| (k.clone(), each(v))).collect()),
        Kind::Object(f) => Value::object(f.iter().map(|(k, v)| (k.clone(), each(v)))),
        _ => value.clone(),
    }
}

/// The value with write-only attributes null: what may be stored.
pub fn without_write_only(schema: &Block, value: &Value) -> Value {
    let Some(fields) = value.as_fields() else { return value.clone() };
    let touched = schema.attributes.values().any(|a| a.write_only) || !schema.blocks.is_empty();
    if !touched {
        return value.clone();
    }
    let rebuilt = Value::object(fields.iter().map(|(name, part)| {
        let part = match (schema.attributes.get(name), schema.blocks.get(name)) {
            (Some(attribute), _) if attribute.write_only => Value::null(attribute.ty.clone()),
            (_, Some(nested)) => {
                let each = |v: &Value| without_write_only(&nested.block, v);
                match part.open().1 {
                    Kind::Object(_) if matches!(nested.nesting, Nesting::Single | Nesting::Group) => each(part),
                    Kind::List(s) => Value::list(s.element_type(), s.items().iter().map(each).collect()),
                    Kind::Set(s) => Value::set(s.element_type(), s.items().iter().map(each).collect()),
                    Kind::Map(f) => {
                        Value::map(f.element_type(), f.iter().map(|(k, v)| (k.clone(), each(v))).collect())
                    }
                    _ => part.clone(),
                }
            }
            _ => part.clone(),
        };
        (name.clone(), part)
    }));
    value.carry_onto(&rebuilt)
}
