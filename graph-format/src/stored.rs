//! Objects and outputs as they are stored in a state: plain data, with text as in the state file.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::codec::json;
use crate::path::{Path, ValueStep};
use crate::value::Value;

/// JSON text exactly as it was given, with every digit of its numbers. `Debug` shows only its length, because
/// attributes may be sensitive.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct RawJson(String);

impl RawJson {
    /// Wraps text that the caller guarantees to be one JSON value.
    pub fn new(text: impl Into<String>) -> RawJson {
        RawJson(text.into())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The JSON text, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl From<String> for RawJson {
    fn from(text: String) -> RawJson {
        RawJson(text)
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "<{} bytes of JSON>", self.0.len())
    }
}

/// Bytes that only their owner interprets: a provider's private data, or the results of operations. `Debug` shows the
/// length.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Opaque(pub Vec<u8>);

impl From<Vec<u8>> for Opaque {
    fn from(bytes: Vec<u8>) -> Opaque {
        Opaque(bytes)
    }
}

impl fmt::Debug for Opaque {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "<{} bytes>", self.0.len())
    }
}

/// One step of a path into attributes. The state file has two kinds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PathStep {
    /// `{"type": "get_attr", "value": NAME}`.
    Attribute(String),
    /// `{"type": "index", "value": {"value": KEY, "type": TYPE}}`: the raw JSON of the outer `value`, key and type.
    Index(RawJson),
}

impl PathStep {
    /// The index step of a key in canonical JSON. OpenTofu requires the type beside the key. If the type is missing,
    /// this function adds it.
    pub fn index(key: RawJson) -> PathStep {
        let word = match key.as_str().as_bytes().first() {
            Some(b'"') => "string",
            Some(b'-' | b'0'..=b'9') => "number",
            Some(b't' | b'f') => "bool",
            _ => return PathStep::Index(key),
        };
        PathStep::Index(RawJson(format!("{{\"value\":{},\"type\":\"{word}\"}}", key.as_str())))
    }
}

/// A path to a sensitive part of the attributes.
pub type SensitivePath = Vec<PathStep>;

/// Converts a path into a value to the form of the state file.
pub fn sensitive_path(path: &Path) -> SensitivePath {
    let step = |step: &ValueStep| match step {
        ValueStep::Attribute(name) => PathStep::Attribute(name.to_string()),
        ValueStep::Key(key) => {
            let mut text = String::new();
            json::write_string(key, &mut text);
            PathStep::index(RawJson(text))
        }
        ValueStep::Index(index) => PathStep::index(RawJson(index.to_string())),
    };
    path.0.iter().map(step).collect()
}

/// Converts a path of the state file to a path into a value. `None` if a step is invalid, or if the key of a step is
/// neither text nor a whole number.
pub fn value_path(stored: &[PathStep]) -> Option<Path> {
    let step = |step: &PathStep| match step {
        PathStep::Attribute(name) => Some(ValueStep::Attribute(name.as_str().into())),
        PathStep::Index(raw) => {
            let index = json::decode_implied(raw.as_str().as_bytes()).ok()?;
            // The key may be stored together with its type.
            key_step(index.as_fields().and_then(|typed| typed.get("value")).unwrap_or(&index))
        }
    };
    stored.iter().map(step).collect::<Option<Vec<_>>>().map(Path)
}

fn key_step(key: &Value) -> Option<ValueStep> {
    match key.as_str() {
        Some(text) => Some(ValueStep::Key(text.into())),
        None => key.as_number().and_then(|number| number.to_u64()).map(ValueStep::Index),
    }
}

/// One object of a resource instance, either the current one or a deposed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceObject {
    /// The version of the resource type's schema that the attributes follow.
    pub schema_version: u64,
    /// The attributes as JSON text, in cty's encoding for the type of the schema. Sensitive parts are in clear text.
    pub attributes: RawJson,
    /// The attributes in the legacy flat form (`attributes_flat`). Only very old versions wrote it.
    pub attributes_flat: Option<BTreeMap<String, String>>,
    /// Paths to sensitive parts, in the order of the state file.
    pub sensitive_paths: Vec<SensitivePath>,
    /// The private data that the provider stores with the object.
    pub private: Opaque,
    /// Addresses of resources (without keys) that must outlive this object, sorted.
    pub dependencies: Vec<String>,
    /// Whether the replacement of this object is created before the object is destroyed.
    pub create_before_destroy: bool,
    /// Whether the configuration has `lifecycle { destroy = false }`.
    pub skip_destroy: bool,
    /// Whether the object is tainted (`status: "tainted"`).
    pub tainted: bool,
    /// The resource identity as JSON text, if the provider returns one.
    pub identity: Option<RawJson>,
    /// The version of the schema of the identity.
    pub identity_schema_version: u64,
}

impl InstanceObject {
    /// An object with these attributes, and defaults for everything else.
    pub fn new(schema_version: u64, attributes: RawJson) -> InstanceObject {
        InstanceObject {
            schema_version,
            attributes,
            attributes_flat: None,
            sensitive_paths: Vec::new(),
            private: Opaque::default(),
            dependencies: Vec::new(),
            create_before_destroy: false,
            skip_destroy: false,
            tainted: false,
            identity: None,
            identity_schema_version: 0,
        }
    }
}

/// A root output value in the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputRecord {
    /// The value as JSON text.
    pub value: RawJson,
    /// The type in cty's JSON form, such as `"string"` or `["list","string"]`.
    pub value_type: RawJson,
    /// Whether the configuration declares the output as sensitive.
    pub sensitive: bool,
    /// The deprecation message of the configuration, if any.
    pub deprecated: Option<String>,
}

/// The new record of a root output, or its removal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputWrite {
    /// The name of the output.
    pub name: String,
    /// The record. `None` removes it.
    pub record: Option<OutputRecord>,
}

/// Whether a stored output is the memory of a provider instance, or a bare resource ([`crate::bare`]). The name of a
/// memory is the address of the provider instance.
///
/// Both are stored like root outputs, so that journals, stores and copies need no code for them. No output of a
/// configuration has such a name.
pub fn is_provider_memory(name: &str) -> bool {
    name.contains("provider[\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_two_forms() {
        let path = Path(vec![ValueStep::Attribute("a".into()), ValueStep::Key("x\"".into()), ValueStep::Index(3)]);
        let stored = sensitive_path(&path);
        let keys: Vec<&str> = stored
            .iter()
            .map(|step| match step {
                PathStep::Attribute(name) => name.as_str(),
                PathStep::Index(raw) => raw.as_str(),
            })
            .collect();
        let expected = ["a", r#"{"value":"x\"","type":"string"}"#, r#"{"value":3,"type":"number"}"#];
        assert_eq!(keys, expected);
        assert_eq!(value_path(&stored), Some(path));
    }

    #[test]
    fn memories_have_the_address_of_their_provider_instance() {
        for (name, is) in [
            ("provider[\"a/b/c\"].x[\"k\"]", true),
            ("module.m[\"provider\"].provider[\"a/b/c\"]", true),
            ("provider", false),
            ("module_m", false),
        ] {
            assert_eq!(is_provider_memory(name), is, "{name}");
        }
    }

    #[test]
    fn only_plain_keys_are_read() {
        let at = |raw: &str| value_path(&[PathStep::Index(RawJson::new(raw))]);
        assert_eq!(at("\"k\""), Some(Path(vec![ValueStep::Key("k".into())])));
        assert_eq!(at("3"), Some(Path(vec![ValueStep::Index(3)])));
        for raw in ["null", "-1", "1.5", "{}", "[", "true"] {
            assert_eq!(at(raw), None, "{raw}");
        }
    }
}
