//! What the store holds of each resource instance: plain data, as text in the form of the state file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weft_graph_format::address::{
    DeposedKey, InstanceKey, ProviderInstance, ProviderSource, ResourceInstance, ResourceMode, quoted,
};
pub use weft_graph_format::stored::{
    InstanceObject, Opaque, OutputRecord, OutputWrite, PathStep, RawJson, SensitivePath,
};

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

    /// A record without objects for an address. The caller sets the provider.
    pub fn at(address: &ResourceInstance) -> InstanceRecord {
        let (type_name, name) = (address.resource.type_name.as_str(), address.resource.name.as_str());
        let module = address.module.to_string();
        InstanceRecord::new(module, address.resource.mode, type_name, name, address.key.clone(), "")
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
    match mode {
        ResourceMode::Managed => {}
        ResourceMode::Data => text.push_str("data."),
        ResourceMode::Ephemeral => text.push_str("ephemeral."),
    }
    text.push_str(resource_type);
    text.push('.');
    text.push_str(name);
    match key {
        InstanceKey::None => {}
        InstanceKey::Int(index) => text.push_str(&format!("[{index}]")),
        InstanceKey::String(key) => {
            text.push('[');
            text.push_str(&quoted(key));
            text.push(']');
        }
    }
    text
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
