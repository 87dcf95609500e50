//! What a provider may plan.

use smol_str::SmolStr;
use std::collections::BTreeMap;
use weft_graph_format::path::{Path, Step};
use weft_graph_format::schema::{Attribute, Block, NestedBlock, Nesting};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Transform, Value};

use super::Violation;

/// What is wrong with a planned value: it must be what is configured where something is, what it was or a free choice
/// where the provider may choose, and have the blocks that are configured. Values without marks.
pub fn check_planned(schema: &Block, prior: &Value, config: &Value, planned: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    if planned.is_null() {
        if !config.is_null() {
            found.push(Violation::new(&Path::ROOT, "the planned value is null although the configuration is not"));
        }
        return found;
    }
    if !planned.is_known() {
        found.push(Violation::new(&Path::ROOT, "the planned value as a whole is unknown"));
        return found;
    }
    block(schema, prior, config, planned, &Path::ROOT, &mut found);
    found
}

fn field<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.as_fields().and_then(|f| f.get(name))
}

fn block(schema: &Block, prior: &Value, config: &Value, planned: &Value, path: &Path, found: &mut Vec<Violation>) {
    attributes(&schema.attributes, prior, config, planned, path, found);
    for (name, nested) in &schema.blocks {
        let here = path.attribute(name.clone());
        let (Some(planned), Some(config)) = (field(planned, name), field(config, name)) else { continue };
        let null = Value::null(Type::Dynamic);
        let prior = field(prior, name).unwrap_or(&null);
        nested_block(nested, prior, config, planned, &here, found);
    }
}

fn attributes(
    schema: &BTreeMap<SmolStr, Attribute>,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    found: &mut Vec<Violation>,
) {
    let null = Value::null(Type::Dynamic);
    for (name, attribute) in schema {
        let here = path.attribute(name.clone());
        let Some(planned) = field(planned, name) else {
            found.push(Violation::new(&here, "the attribute is missing"));
            continue;
        };
        let (prior, config) = (field(prior, name).unwrap_or(&null), field(config, name).unwrap_or(&null));
        check_attribute(attribute, prior, config, planned, &here, found);
    }
}

fn check_attribute(
    attribute: &Attribute,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    found: &mut Vec<Violation>,
) {
    if attribute.write_only {
        if !planned.is_null() {
            found.push(Violation::new(path, "a write-only attribute must be null in the plan"));
        }
        return;
    }
    if planned.same_unmarked(config) {
        return;
    }
    // The provider may keep what it has when that means the same as the configuration.
    if !config.is_null() && !prior.is_null() && planned.same_unmarked(prior) {
        return;
    }
    if attribute.computed && config.is_null() {
        return;
    }
    if let Some(nested) = &attribute.nested
        && !planned.is_null()
        && !config.is_null()
        && planned.is_known()
        && config.is_known()
    {
        let pair = |p: &Value, c: &Value, b: &Value, at: &Path, found: &mut Vec<Violation>| {
            if p.is_null() || c.is_null() || !p.is_known() || !c.is_known() {
                return;
            }
            attributes(&nested.attributes, b, c, p, at, found);
        };
        nested_parts(nested.nesting, prior, config, planned, path, found, &pair);
        return;
    }
    let message = if config.is_null() {
        "a value was planned for an attribute that is not configured and that the provider may not choose"
    } else if !config.is_known() && attribute.computed {
        return;
    } else {
        "the planned value is not the configured value"
    };
    found.push(Violation::new(path, message));
}

type PartCheck<'a> = dyn Fn(&Value, &Value, &Value, &Path, &mut Vec<Violation>) + 'a;

fn nested_parts(
    nesting: Nesting,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    found: &mut Vec<Violation>,
    check: &PartCheck<'_>,
) {
    let null = Value::null(Type::Dynamic);
    match nesting {
        Nesting::Single | Nesting::Group => check(planned, config, prior, path, found),
        Nesting::List => {
            let (Some(p), Some(c)) = (planned.as_items(), config.as_items()) else { return };
            if p.len() != c.len() {
                found.push(Violation::new(path, format!("{} elements were planned, {} are configured", p.len(), c.len())));
                return;
            }
            let before = prior.as_items().unwrap_or_default();
            for (i, (p, c)) in p.iter().zip(c).enumerate() {
                check(p, c, before.get(i).unwrap_or(&null), &path.with(Step::Index(i as u64)), found);
            }
        }
        Nesting::Map => {
            let (Some(p), Some(c)) = (planned.as_fields(), config.as_fields()) else { return };
            for key in p.keys().filter(|k| !c.contains_key(*k)) {
                found.push(Violation::new(path, format!("the key {key:?} was planned and is not configured")));
            }
            for (key, c) in c {
                match p.get(key) {
                    Some(p) => check(p, c, field(prior, key).unwrap_or(&null), &path.with(Step::Key(key.clone())), found),
                    None => found.push(Violation::new(path, format!("the key {key:?} is configured and was not planned"))),
                }
            }
        }
        Nesting::Set => {
            let (Some(p), Some(c)) = (planned.as_items(), config.as_items()) else { return };
            // Elements that the provider completed cannot be told apart for sure, so only their number counts.
            let all_known = p.iter().chain(c).all(Value::is_wholly_known);
            if all_known && p.len() != c.len() {
                found.push(Violation::new(path, format!("{} elements were planned, {} are configured", p.len(), c.len())));
            }
        }
    }
}

fn nested_block(
    nested: &NestedBlock,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    found: &mut Vec<Violation>,
) {
    if !config.is_known() {
        return;
    }
    if !planned.is_known() {
        found.push(Violation::new(path, "the number of blocks is configured and must not be unknown in the plan"));
        return;
    }
    if planned.is_null() != config.is_null() {
        found.push(Violation::new(path, "blocks are there in only one of plan and configuration"));
        return;
    }
    if config.is_null() {
        return;
    }
    let pair = |p: &Value, c: &Value, b: &Value, at: &Path, found: &mut Vec<Violation>| {
        if p.is_null() || !p.is_known() || c.is_null() || !c.is_known() {
            return;
        }
        block(&nested.block, b, c, p, at, found);
    };
    nested_parts(nested.nesting, prior, config, planned, path, found, &pair);
}

/// Of the paths that a provider says force a replacement, those where something really differs. An unknown planned
/// part counts as different. A path that leads to nothing in both values is given back as an error.
pub fn changed_paths(
    prior: &Value,
    planned: &Value,
    paths: &[Path],
    write_only: &dyn Fn(&Path) -> bool,
) -> Result<Vec<Path>, Path> {
    let mut found = Vec::new();
    for path in paths {
        if write_only(path) {
            found.push(path.clone());
            continue;
        }
        match (prior.at_path(path).ok(), planned.at_path(path).ok()) {
            (None, None) => return Err(path.clone()),
            (Some(before), Some(after)) => {
                if !after.is_known() || !before.same_unmarked(&after) {
                    found.push(path.clone());
                }
            }
            _ => found.push(path.clone()),
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// What is stored when a provider left something unknown after an apply: null in its place.
pub fn settle_unknowns(value: &Value) -> Value {
    value.transform(&mut |_, part| match part.open().1 {
        Kind::Unknown(unknown) => Transform::Replace(Value::null(unknown.ty.clone()).mark(part.marks())),
        _ => Transform::Descend,
    })
}
