//! The state that a plan starts from.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use weft_graph_format::address::ResourceMode;
use weft_graph_format::address::{AbsResource, ConfigResource, InstanceKey, ProviderInstance, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::{InstanceObject, Snapshot, StoredInstance};

use crate::problems;

/// The objects of a state.
#[derive(Clone, Debug, Default)]
pub(crate) struct PriorState {
    snapshot: Arc<Snapshot>,
    /// Addresses that no configuration can have. The plan reports them and ignores their objects.
    invalid: BTreeSet<ResourceInstance>,
}

/// A stored instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored<'a> {
    /// The record, with its revision.
    pub(crate) instance: &'a StoredInstance,
}

impl PriorState {
    /// The objects of this state.
    pub(crate) fn of(snapshot: Arc<Snapshot>) -> PriorState {
        let invalid = snapshot.instances.keys().filter(|address| !address.resource.is_valid()).cloned().collect();
        PriorState { snapshot, invalid }
    }

    /// The state itself.
    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// An error for each entry with an invalid address.
    pub(crate) fn problems(&self) -> Vec<Diagnostic> {
        let mut texts: Vec<String> = self.invalid.iter().map(ToString::to_string).collect();
        texts.sort();
        texts.iter().map(|text| problems::invalid_address(text)).collect()
    }

    /// Whether the state has no object and no output.
    pub(crate) fn is_empty(&self) -> bool {
        self.snapshot.instances.is_empty() && self.snapshot.named_outputs().next().is_none()
    }

    /// The stored instance.
    pub(crate) fn get(&self, address: &ResourceInstance) -> Option<Stored<'_>> {
        self.snapshot.instances.get(address).map(|instance| Stored { instance })
    }

    /// The current object of an instance.
    pub(crate) fn current(&self, address: &ResourceInstance) -> Option<&InstanceObject> {
        self.get(address)?.instance.record.current.as_ref()
    }

    /// The revision of an instance, or 0 if the state does not have it.
    pub(crate) fn revision(&self, address: &ResourceInstance) -> u64 {
        self.get(address).map_or(0, |stored| stored.instance.revision.0)
    }

    /// All instances, ordered by address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ResourceInstance, Stored<'_>)> {
        let all = self.snapshot.instances.iter().map(|(address, instance)| (address, Stored { instance }));
        all.filter(|(address, _)| self.invalid.is_empty() || !self.invalid.contains(address))
    }

    /// The managed instances.
    pub(crate) fn managed(&self) -> impl Iterator<Item = (&ResourceInstance, Stored<'_>)> {
        self.iter().filter(|(address, _)| address.resource.mode == ResourceMode::Managed)
    }

    /// The instances of a resource.
    pub(crate) fn of_resource(&self, resource: &AbsResource) -> impl Iterator<Item = &ResourceInstance> {
        // The instance without a key sorts first.
        let first = resource.instance(InstanceKey::None);
        let found = self.snapshot.instances.range(first..).map(|(address, _)| address);
        let (module, name) = (resource.module.clone(), resource.resource.clone());
        found.take_while(move |address| address.module == module && address.resource == name)
    }
}

impl<'a> Stored<'a> {
    /// The provider instance of an object.
    ///
    /// # Errors
    /// Returns an error if the stored address of the provider cannot be parsed.
    pub(crate) fn provider(&self) -> Result<&'a ProviderInstance, Diagnostic> {
        let record = &self.instance.record;
        let provider = record.provider.instance();
        provider.map_err(|error| problems::invalid_provider(&record.address, record.provider.text(), error))
    }
}

/// Cache of configured resources by the text of stored dependencies. Each text is parsed once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    read: FxHashMap<SmolStr, Option<Arc<ConfigResource>>>,
}

impl Names {
    /// The resource of a dependency. `None` if the text is not an address.
    pub(crate) fn resource(&mut self, text: &str) -> Option<Arc<ConfigResource>> {
        if let Some(found) = self.read.get(text) {
            return found.clone();
        }
        let found = text.parse::<ConfigResource>().ok().map(Arc::new);
        self.read.insert(SmolStr::new(text), found.clone());
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_graph_format::address::Resource;
    use weft_state::{InstanceRecord, Revision, StoredProvider};

    fn state(addresses: impl IntoIterator<Item = ResourceInstance>, provider: &str) -> PriorState {
        let instance = |address: ResourceInstance| {
            let record = InstanceRecord::new(address.clone(), StoredProvider::read(provider));
            (address, StoredInstance { record, revision: Revision(7) })
        };
        let instances = addresses.into_iter().map(instance).collect();
        PriorState::of(Arc::new(Snapshot { instances, ..Snapshot::default() }))
    }

    #[test]
    fn instances_of_a_resource_are_found_by_type_not_by_text() {
        let names = ["a.b", "a.b[-1]", "a.b[0]", "a.b[\"x\"]", "a.bc", "a.b2[0]", "module.m.a.b[0]"];
        let state = state(names.map(|name| name.parse().unwrap()), "provider[\"x/y/z\"]");
        let of = |text: &str| -> Vec<String> {
            state.of_resource(&text.parse().unwrap()).map(ToString::to_string).collect()
        };
        assert_eq!(of("a.b"), ["a.b", "a.b[-1]", "a.b[0]", "a.b[\"x\"]"]);
        assert_eq!(of("a.bc"), ["a.bc"]);
        assert_eq!(of("module.m.a.b"), ["module.m.a.b[0]"]);
        assert_eq!(of("a.c"), Vec::<String>::new());
        assert_eq!(state.revision(&"a.b[0]".parse().unwrap()), 7);
    }

    #[test]
    fn invalid_addresses_and_providers_in_state_are_errors() {
        let valid: ResourceInstance = "a.b".parse().unwrap();
        let invalid = ["what is this", "0", ""].map(|name| {
            let resource = Resource { name: name.into(), ..valid.resource.clone() };
            ResourceInstance { resource, ..valid.clone() }
        });
        let found = state(invalid.into_iter().chain([valid.clone()]), "no provider");
        assert_eq!(found.problems().len(), 3);
        assert_eq!(found.iter().count(), 1);
        let (_, stored) = found.iter().next().unwrap();
        assert_eq!(stored.provider().unwrap_err().summary, "Invalid provider address in state");
    }

    #[test]
    fn names_are_parsed_once() {
        let mut names = Names::default();
        let first = names.resource("module.m.data.a.b").unwrap();
        assert!(Arc::ptr_eq(&first, &names.resource("module.m.data.a.b").unwrap()));
        assert!(names.resource("nothing").is_none() && names.resource("nothing").is_none());
    }
}
