//! Finds the schemas of objects, and decodes the objects of a state with them.

use super::problems;
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use weft_graph_format::address::{ProviderSource, ResourceMode};
use weft_graph_format::codec;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::marks::Marks;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::schema::{Attribute, Block, ProviderSchema, Schema};
use weft_graph_format::stored::value_path;
use weft_graph_format::value::{Transform, Value};
use weft_providers::Builtin;
use weft_state::{InstanceObject, InstanceRecord};

static BUILT_IN: LazyLock<Arc<ProviderSchema>> = LazyLock::new(Builtin::schema);

/// The available schemas, by provider.
pub type Schemas = BTreeMap<ProviderSource, Arc<ProviderSchema>>;

/// The schema of a resource type, if available.
pub fn schema_of<'a, S: Borrow<ProviderSchema>>(
    schemas: &'a BTreeMap<ProviderSource, S>,
    source: &ProviderSource,
    mode: ResourceMode,
    type_name: &str,
) -> Option<&'a Schema> {
    let provider: &ProviderSchema = match schemas.get(source) {
        Some(provider) => provider.borrow(),
        // Built-in providers need no package.
        None if *source == ProviderSource::builtin("terraform") => &BUILT_IN,
        None => return None,
    };
    Some(provider.types(mode).get(type_name)?)
}

/// The schema of a stored instance, if available.
pub fn schema_of_record<'a, S: Borrow<ProviderSchema>>(
    schemas: &'a BTreeMap<ProviderSource, S>,
    record: &InstanceRecord,
) -> Option<&'a Schema> {
    schema_of(schemas, record.provider.source()?, record.mode(), &record.address.resource.type_name)
}

/// Decodes a stored object. The state and the schema decide which parts are sensitive. Without a matching schema, the
/// JSON decides the types. `None` if the record is damaged, or has the flat format of very old versions.
pub fn stored_value(object: &InstanceObject, schema: Option<&Schema>) -> Option<Value> {
    let text = object.attributes.as_str().as_bytes();
    let typed = schema
        .filter(|schema| schema.version == object.schema_version)
        .and_then(|schema| Some((codec::json::decode(text, &schema.block.implied_type()).ok()?, schema)));
    // If a path cannot be decoded, it may lead to any part, so the whole object becomes sensitive.
    let marks: Option<Vec<(Path, Marks)>> =
        object.sensitive_paths.iter().map(|path| Some((value_path(path)?, Marks::SENSITIVE))).collect();
    let marks = marks.unwrap_or_else(|| vec![(Path::ROOT, Marks::SENSITIVE)]);
    match typed {
        Some((value, schema)) => Some(with_schema_marks(&value.mark_paths(&marks), &schema.block)),
        None => Some(codec::json::decode_implied(text).ok()?.mark_paths(&marks)),
    }
}

/// Checks that the objects of a state match the available schemas.
///
/// # Errors
/// Returns an error if an object has another schema version, or does not match its schema.
pub fn fitting<'a, S: Borrow<ProviderSchema>>(
    schemas: &BTreeMap<ProviderSource, S>,
    records: impl Iterator<Item = &'a InstanceRecord>,
) -> Result<(), Diagnostic> {
    for record in records {
        let known = record.provider.source().is_some_and(|source| schemas.contains_key(source) || source.is_builtin());
        if !known {
            continue;
        }
        let Some(schema) = schema_of_record(schemas, record) else {
            return Err(problems::no_schema(&record.address));
        };
        for object in record.current.iter().chain(record.deposed.values()) {
            if object.schema_version != schema.version {
                return Err(problems::other_schema_version(&record.address, object.schema_version, schema.version));
            }
            let text = object.attributes.as_str().as_bytes();
            if let Err(error) = codec::json::decode(text, &schema.block.implied_type()) {
                return Err(problems::other_shape(&record.address, &error));
            }
        }
    }
    Ok(())
}

/// Marks the sensitive parts according to the schema, including null values.
pub fn with_schema_marks(value: &Value, block: &Block) -> Value {
    if !has_sensitive(block) {
        return value.clone();
    }
    value.transform(&mut |path, part| {
        if path.0.is_empty() || !sensitive_at(block, &path.0) || part.marks().is_sensitive() {
            Transform::Descend
        } else {
            Transform::Replace(part.mark(&Marks::SENSITIVE))
        }
    })
}

fn has_sensitive(block: &Block) -> bool {
    fn attribute(a: &Attribute) -> bool {
        a.sensitive || a.nested.as_ref().is_some_and(|nested| nested.attributes.values().any(attribute))
    }
    block.attributes.values().any(attribute) || block.blocks.values().any(|nested| has_sensitive(&nested.block))
}

/// Whether a path leads to a sensitive attribute. Indices and keys in the path are ignored.
fn sensitive_at(block: &Block, path: &[ValueStep]) -> bool {
    let mut names = path.iter().filter_map(|step| match step {
        ValueStep::Attribute(name) => Some(name),
        _ => None,
    });
    if !matches!(path.last(), Some(ValueStep::Attribute(_))) {
        return false;
    }
    let mut block = block;
    let mut attribute: Option<&Attribute> = None;
    for name in names.by_ref() {
        attribute = match attribute {
            Some(Attribute { nested: Some(nested), .. }) => nested.attributes.get(name),
            Some(_) => return false,
            None => match (block.attributes.get(name), block.blocks.get(name)) {
                (Some(found), _) => Some(found),
                (None, Some(nested)) => {
                    block = &nested.block;
                    continue;
                }
                (None, None) => return false,
            },
        };
        if attribute.is_none() {
            return false;
        }
    }
    attribute.is_some_and(|a| a.sensitive)
}
