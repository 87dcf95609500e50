//! What the store holds of each resource instance: plain data, as text in the form of the state file.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use weft_graph_format::address::{ProviderInstance, ProviderSource, quoted};

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

/// One step of a path into attributes, in one of the two kinds of the state file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PathStep {
    /// `{"type": "get_attr", "value": NAME}`.
    Attribute(String),
    /// `{"type": "index", "value": {"value": KEY, "type": TYPE}}`: the raw JSON of the outer `value`, key and type.
    Index(RawJson),
}

impl PathStep {
    /// The index step of a canonical key. OpenTofu requires the type beside the key, so a bare key gets it here.
    pub(crate) fn index(key: RawJson) -> PathStep {
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

/// The key of a deposed object: eight hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeposedKey(String);

/// The length of a deposed key that OpenTofu requires when it reads a state file.
const DEPOSED_KEY_LENGTH: usize = 8;

impl DeposedKey {
    /// Parses a deposed key of eight characters, which is all that OpenTofu checks.
    pub fn parse(text: &str) -> Option<DeposedKey> {
        (text.len() == DEPOSED_KEY_LENGTH).then(|| DeposedKey(text.to_owned()))
    }

    /// Makes a key from four bytes, for deposing an object.
    pub fn from_bytes(bytes: [u8; 4]) -> DeposedKey {
        DeposedKey(data_encoding::HEXLOWER.encode(&bytes))
    }

    /// The eight characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeposedKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Managed or data resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ResourceMode {
    /// `data`: read, but never changed.
    Data,
    /// `managed`: created, updated, destroyed.
    Managed,
}

impl ResourceMode {
    /// The word in the state file.
    pub fn word(self) -> &'static str {
        match self {
            ResourceMode::Data => "data",
            ResourceMode::Managed => "managed",
        }
    }
}

/// The key of a resource instance. The order is that of the state file: no key, then integers, then strings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum InstanceKey {
    /// The resource has neither `count` nor `for_each`.
    #[default]
    None,
    /// From `count`.
    Int(i64),
    /// From `for_each`.
    Str(String),
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
    /// Resources (without instance keys) that must outlive this object, sorted.
    pub dependencies: Vec<String>,
    /// Whether the replacement of this object is created before the object is destroyed.
    pub create_before_destroy: bool,
    /// Whether `lifecycle { destroy = false }` was in force.
    pub skip_destroy: bool,
    /// Whether the object must be replaced (`status: "tainted"`).
    pub tainted: bool,
    /// The resource identity as JSON text, if the provider returns one.
    pub identity: Option<RawJson>,
    /// The version of the schema of the identity.
    pub identity_schema_version: u64,
}

impl InstanceObject {
    /// An object with these attributes and nothing else.
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

/// A resource instance in the state: its address, its provider, and its current and deposed objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceRecord {
    /// The whole address, `module.a["k"].aws_x.y[0]` or `data.aws_x.y`. It is the key of the record everywhere.
    pub address: String,
    /// The module instance, `module.a["k"].module.b`; empty for the root module.
    pub module: String,
    /// Managed or data.
    pub mode: ResourceMode,
    /// The resource type, `aws_x`.
    pub resource_type: String,
    /// The resource's name, `y`.
    pub name: String,
    /// The instance key.
    pub key: InstanceKey,
    /// The provider instance: `provider["host/ns/type"]`, with `.alias`, `.alias["key"]` and a module prefix where
    /// these apply. The state file has an instance key with each instance, and anything else with the resource.
    pub provider: String,
    /// The current object. It is absent when only deposed objects are left.
    pub current: Option<InstanceObject>,
    /// Objects that were replaced and are not destroyed yet.
    pub deposed: BTreeMap<DeposedKey, InstanceObject>,
}

impl InstanceRecord {
    /// A record without objects. The parts make up `address`.
    pub fn new(
        module: impl Into<String>,
        mode: ResourceMode,
        resource_type: impl Into<String>,
        name: impl Into<String>,
        key: InstanceKey,
        provider: impl Into<String>,
    ) -> InstanceRecord {
        let (module, resource_type, name) = (module.into(), resource_type.into(), name.into());
        InstanceRecord {
            address: instance_address(&module, mode, &resource_type, &name, &key),
            module,
            mode,
            resource_type,
            name,
            key,
            provider: provider.into(),
            current: None,
            deposed: BTreeMap::new(),
        }
    }

    /// Whether no object is left, so that the state has no entry for the record.
    pub fn is_empty(&self) -> bool {
        self.current.is_none() && self.deposed.is_empty()
    }

    /// The provider instance, or `None` if its text is not valid.
    pub fn provider_instance(&self) -> Option<ProviderInstance> {
        self.provider.parse().ok()
    }

    /// The source of the provider, or `None` if its text is not valid.
    pub fn provider_source(&self) -> Option<ProviderSource> {
        self.provider_instance().map(|instance| instance.source.clone())
    }

    /// Every resource that an object of this instance depends on.
    pub fn dependencies(&self) -> std::collections::BTreeSet<&str> {
        let objects = self.current.iter().chain(self.deposed.values());
        objects.flat_map(|object| object.dependencies.iter().map(String::as_str)).collect()
    }
}

/// The address of a resource instance as text. String keys are quoted as in every address.
pub fn instance_address(
    module: &str,
    mode: ResourceMode,
    resource_type: &str,
    name: &str,
    key: &InstanceKey,
) -> String {
    let mut text = String::with_capacity(module.len() + resource_type.len() + name.len() + 16);
    if !module.is_empty() {
        text.push_str(module);
        text.push('.');
    }
    if mode == ResourceMode::Data {
        text.push_str("data.");
    }
    text.push_str(resource_type);
    text.push('.');
    text.push_str(name);
    match key {
        InstanceKey::None => {}
        InstanceKey::Int(index) => text.push_str(&format!("[{index}]")),
        InstanceKey::Str(key) => {
            text.push('[');
            text.push_str(&quoted(key));
            text.push(']');
        }
    }
    text
}

/// A root output value in the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputRecord {
    /// The value as JSON text.
    pub value: RawJson,
    /// The type in cty's JSON form, such as `"string"` or `["list","string"]`.
    pub value_type: RawJson,
    /// Whether the configuration declares it sensitive.
    pub sensitive: bool,
    /// The deprecation message of the configuration, if any.
    pub deprecated: Option<String>,
}

/// The results of all checks of one object of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRecord {
    /// `resource`, `output`, `check` or `var`.
    pub object_kind: String,
    /// The address in configuration, without instance keys.
    pub config_addr: String,
    /// `pass`, `fail`, `error` or `unknown`.
    pub status: String,
    /// The instances, or `None` (JSON null) if the object was never expanded.
    pub objects: Option<Vec<CheckObject>>,
}

/// The results of the checks of one instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckObject {
    /// The address with instance keys.
    pub object_addr: String,
    /// `pass`, `fail`, `error` or `unknown`.
    pub status: String,
    /// The error messages of the failed conditions.
    pub failure_messages: Vec<String>,
}
