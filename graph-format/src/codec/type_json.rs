//! Types as JSON: `"string"`, `["list","string"]`, `["object",{"a":"number"},["a"]]`, as cty writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smol_str::SmolStr;

use super::json_syntax::{Json, parse, write_string};
use super::{DecodeError, DecodeProblem, normal};
use crate::path::Path;
use crate::types::{ObjectType, Type};

/// The type as JSON text. Attributes are sorted by name.
pub fn encode(ty: &Type) -> String {
    let mut out = String::new();
    write(ty, &mut out);
    out
}

/// Reads what [`encode`] writes.
pub fn decode(text: &[u8]) -> Result<Type, DecodeError> {
    from_json(&parse(text)?).map_err(|problem| DecodeError { path: Path::ROOT, problem })
}

pub(super) fn write(ty: &Type, out: &mut String) {
    match ty {
        Type::Dynamic => out.push_str("\"dynamic\""),
        Type::Bool => out.push_str("\"bool\""),
        Type::Number => out.push_str("\"number\""),
        Type::String => out.push_str("\"string\""),
        Type::List(element) => write_collection("list", element, out),
        Type::Set(element) => write_collection("set", element, out),
        Type::Map(element) => write_collection("map", element, out),
        Type::Tuple(elements) => {
            out.push_str("[\"tuple\",[");
            for (place, element) in elements.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write(element, out);
            }
            out.push_str("]]");
        }
        Type::Object(object) => write_object(object, out),
        // Only for display: this form cannot be decoded.
        Type::Provider(source) => {
            out.push_str("[\"provider\",");
            write_string(&source.to_string(), out);
            out.push(']');
        }
    }
}

fn write_collection(word: &str, element: &Type, out: &mut String) {
    out.push_str("[\"");
    out.push_str(word);
    out.push_str("\",");
    write(element, out);
    out.push(']');
}

fn write_object(object: &ObjectType, out: &mut String) {
    out.push_str("[\"object\",{");
    for (place, (name, ty)) in object.attributes.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        write_string(name, out);
        out.push(':');
        write(ty, out);
    }
    out.push('}');
    if !object.optional.is_empty() {
        out.push_str(",[");
        for (place, name) in object.optional.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            write_string(name, out);
        }
        out.push(']');
    }
    out.push(']');
}

/// The type that parsed JSON describes. The parser limits the depth.
pub(super) fn from_json(json: &Json) -> Result<Type, DecodeProblem> {
    match json {
        Json::String(word) => match word.as_str() {
            "dynamic" => Ok(Type::Dynamic),
            "bool" => Ok(Type::Bool),
            "number" => Ok(Type::Number),
            "string" => Ok(Type::String),
            _ => Err(DecodeProblem::Type("no such primitive type")),
        },
        Json::Array(parts) => match parts.as_slice() {
            [Json::String(word), argument] => match (word.as_str(), argument) {
                ("list", element) => from_json(element).map(Type::list),
                ("set", element) => from_json(element).map(Type::set),
                ("map", element) => from_json(element).map(Type::map),
                ("tuple", Json::Array(elements)) => {
                    Ok(Type::tuple(elements.iter().map(from_json).collect::<Result<Vec<_>, _>>()?))
                }
                ("object", Json::Object(attributes)) => object(attributes, &[]),
                _ => Err(DecodeProblem::Type("no such kind of type")),
            },
            [Json::String(word), Json::Object(attributes), Json::Array(optional)] if word == "object" => {
                object(attributes, optional)
            }
            _ => Err(DecodeProblem::Type("a kind and its argument are required")),
        },
        _ => Err(DecodeProblem::Type("a string or an array is required")),
    }
}

fn object(attributes: &[(String, Json)], optional: &[Json]) -> Result<Type, DecodeProblem> {
    let attributes = attributes
        .iter()
        .map(|(name, ty)| Ok((normal(name), from_json(ty)?)))
        .collect::<Result<BTreeMap<SmolStr, Type>, DecodeProblem>>()?;
    let optional = optional
        .iter()
        .map(|name| match name {
            Json::String(name) if attributes.contains_key(&normal(name)) => Ok(normal(name)),
            _ => Err(DecodeProblem::Type("an optional attribute is not one of the attributes")),
        })
        .collect::<Result<BTreeSet<SmolStr>, DecodeProblem>>()?;
    Ok(Type::Object(Arc::new(ObjectType { attributes, optional })))
}
