//! Converts the catalog to schemas of the protocol, and values to and from messages of the protocol.

use serde_json::Value as Json;
use weft_proto::tfplugin6::schema::{Attribute as WireAttribute, Block};
use weft_proto::tfplugin6::{DynamicValue, Schema, StringKind};

use super::catalog::{Attribute, Mode, Resource};
use super::msgpack;
use super::problem::Problem;
use super::value::{Attributes, Value};

/// A schema that consists only of attributes.
pub fn schema(version: i64, attributes: &[Attribute], description: String) -> Schema {
    let attribute = |attribute: &Attribute| WireAttribute {
        name: attribute.name.to_owned(),
        r#type: attribute.ty.wire().to_vec(),
        description: attribute.description.to_owned(),
        required: attribute.mode == Mode::Required,
        optional: matches!(attribute.mode, Mode::Optional | Mode::OptionalComputed),
        computed: matches!(attribute.mode, Mode::Computed | Mode::OptionalComputed),
        sensitive: attribute.sensitive,
        ..WireAttribute::default()
    };
    let block = Block {
        attributes: attributes.iter().map(attribute).collect(),
        description,
        description_kind: StringKind::Markdown as i32,
        ..Block::default()
    };
    Schema { version, block: Some(block) }
}

/// The schema of a resource type.
pub fn resource_schema(resource: &Resource) -> Schema {
    schema(resource.version, resource.attributes, resource.full_description())
}

/// Decodes an object. `None` if it is null. A missing message counts as null.
pub fn read(value: Option<&DynamicValue>, attributes: &[Attribute]) -> Result<Option<Attributes>, Problem> {
    let bad = |what: String| Problem::new("Unreadable value", format!("The value cannot be read: {what}."));
    let value = match value {
        None => Value::Null,
        Some(value) if !value.msgpack.is_empty() => {
            msgpack::decode(&value.msgpack).map_err(|error| bad(error.to_string()))?
        }
        Some(value) if !value.json.is_empty() => {
            let json: Json = serde_json::from_slice(&value.json).map_err(|error| bad(error.to_string()))?;
            Value::from_json(&json)
        }
        Some(_) => Value::Null,
    };
    match value {
        Value::Null => Ok(None),
        Value::Map(object) => conform(object, attributes).map(Some),
        _ => Err(bad("it is not an object".to_owned())),
    }
}

/// Checks an object against its attributes. Missing attributes become null, and unknown names are errors.
pub fn conform(mut object: Attributes, attributes: &[Attribute]) -> Result<Attributes, Problem> {
    for attribute in attributes {
        let Some(value) = object.get_mut(attribute.name) else {
            object.insert(attribute.name.to_owned(), Value::Null);
            continue;
        };
        number_from_text(value, attribute);
        if !attribute.ty.holds(value) {
            let wanted = String::from_utf8_lossy(attribute.ty.wire()).into_owned();
            let problem = Problem::new("Unfit value", format!("The value of {} is not {wanted}.", attribute.name));
            return Err(problem.at(attribute.name));
        }
    }
    // All attributes are in the object. An object with more entries has other names too.
    let mut names = object.keys().filter(|_| object.len() > attributes.len());
    match names.find(|name| attributes.iter().all(|attribute| attribute.name != name.as_str())) {
        Some(name) => Err(Problem::new("Unknown attribute", format!("There is no attribute {name:?}."))),
        None => Ok(object),
    }
}

/// Converts a number from text. Numbers that no float can represent are sent as decimal strings.
fn number_from_text(value: &mut Value, attribute: &Attribute) {
    if let Value::Text(text) = value
        && attribute.ty == super::value::Type::Number
        && let Ok(number) = text.parse()
    {
        *value = Value::Number(number);
    }
}

/// Encodes an object, or null.
pub fn write(object: Option<&Attributes>) -> DynamicValue {
    let msgpack = object.map_or_else(|| msgpack::encode(&Value::Null), msgpack::encode_object);
    DynamicValue { msgpack, json: Vec::new() }
}
