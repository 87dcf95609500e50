//! The stored records of resource instances.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weft_graph_format::address::{
    AddressError, DeposedKey, InstanceKey, ModuleInstance, Resource, ResourceInstance, ResourceMode,
};
pub use weft_graph_format::stored::{
    InstanceObject, Opaque, OutputRecord, OutputWrite, PathStep, RawJson, SensitivePath,
};

use crate::provider::StoredProvider;
use crate::recent::Recent;

/// A resource instance in the state: its address, its provider, and its current and deposed objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceRecord {
    /// The address. Type and name may be any text: [`Resource::is_valid`] checks whether a configuration can have them.
    pub address: ResourceInstance,
    /// The provider instance. In the state file, its address is on the resource, or on each instance if one of the
    /// addresses has an instance key.
    pub provider: StoredProvider,
    /// The current object. It is absent if only deposed objects remain.
    pub current: Option<InstanceObject>,
    /// Objects that were replaced and are not destroyed yet.
    pub deposed: BTreeMap<DeposedKey, InstanceObject>,
}

impl InstanceRecord {
    /// A record without objects.
    pub fn new(address: ResourceInstance, provider: StoredProvider) -> InstanceRecord {
        InstanceRecord { address, provider, current: None, deposed: BTreeMap::new() }
    }

    /// Managed or data.
    pub fn mode(&self) -> ResourceMode {
        self.address.resource.mode
    }

    /// Whether the record has no objects. The state has no entry for such a record.
    pub fn is_empty(&self) -> bool {
        self.current.is_none() && self.deposed.is_empty()
    }

    /// Every resource that an object of this instance depends on.
    pub fn dependencies(&self) -> std::collections::BTreeSet<&str> {
        let objects = self.current.iter().chain(self.deposed.values());
        objects.flat_map(|object| object.dependencies.iter().map(String::as_str)).collect()
    }
}

thread_local! {
    static RECENT: RefCell<Recent<Result<ModuleInstance, AddressError>>> = const { RefCell::new(Recent::NONE) };
}

/// Parses the address of a module instance in a state. The text is empty for the root module.
///
/// # Errors
/// Returns an error if the text is not such an address.
pub(crate) fn read_module(text: &str) -> Result<ModuleInstance, AddressError> {
    if text.is_empty() {
        return Ok(ModuleInstance::root());
    }
    RECENT.with_borrow_mut(|recent| recent.get(text, || text.parse()))
}

/// The serialized form of a record in journals and in Redis. Both the address and its parts are stored, as text.
#[derive(Serialize, Deserialize)]
#[serde(rename = "InstanceRecord")]
struct Form<Text, Key, Objects, Deposed> {
    address: String,
    module: String,
    mode: ResourceMode,
    resource_type: Text,
    name: Text,
    key: Key,
    provider: StoredProvider,
    current: Objects,
    deposed: Deposed,
}

impl Serialize for InstanceRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ResourceInstance { module, resource, key } = &self.address;
        let form = Form {
            address: self.address.to_string(),
            module: module.to_string(),
            mode: resource.mode,
            resource_type: resource.type_name.as_str(),
            name: resource.name.as_str(),
            key,
            provider: self.provider.clone(),
            current: &self.current,
            deposed: &self.deposed,
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for InstanceRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<InstanceRecord, D::Error> {
        let form: Form<String, InstanceKey, Option<InstanceObject>, BTreeMap<DeposedKey, InstanceObject>> =
            Form::deserialize(deserializer)?;
        let module = read_module(&form.module).map_err(serde::de::Error::custom)?;
        let resource = Resource { mode: form.mode, type_name: form.resource_type.into(), name: form.name.into() };
        Ok(InstanceRecord {
            address: ResourceInstance { module, resource, key: form.key },
            provider: form.provider,
            current: form.current,
            deposed: form.deposed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::bytes_of;

    #[test]
    fn a_record_is_serialized_with_its_addresses_as_text() {
        let provider = "provider[\"a/b/c\"].x[\"k\"]";
        for (module, mode, name, key, address) in [
            ("", ResourceMode::Managed, "n", InstanceKey::None, "t.n"),
            ("module.m[\"x\"]", ResourceMode::Data, "n", InstanceKey::Int(3), "module.m[\"x\"].data.t.n[3]"),
            ("", ResourceMode::Managed, "any name", InstanceKey::String("k".into()), "t.any name[\"k\"]"),
            ("", ResourceMode::Managed, "n", InstanceKey::Int(-1), "t.n[-1]"),
        ] {
            let none = Option::<InstanceObject>::None;
            let deposed = BTreeMap::<DeposedKey, InstanceObject>::new();
            let bytes = bytes_of(&(address, module, mode, "t", name, &key, provider, none, deposed));
            let record: InstanceRecord = postcard::from_bytes(&bytes).unwrap();
            assert_eq!((record.address.to_string().as_str(), record.provider.text()), (address, provider));
            assert_eq!(bytes_of(&record), bytes);
        }
        let bytes = bytes_of(&("", "no module", ResourceMode::Managed, "t", "n", InstanceKey::None, ""));
        assert!(postcard::from_bytes::<InstanceRecord>(&bytes).is_err());
    }
}
