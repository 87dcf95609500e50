//! State with typed addresses. Only this module parses the addresses in a state.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use weft_graph_format::address::{
    AbsResource, ConfigResource, InstanceKey, ProviderInstance, ResourceInstance, ResourceMode,
};
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::{InstanceObject, Snapshot, StoredInstance};

use crate::problems;

/// The objects of a state.
#[derive(Clone, Debug, Default)]
pub(crate) struct PriorState {
    snapshot: Arc<Snapshot>,
    instances: BTreeMap<ResourceInstance, Entry>,
    /// Entries whose address cannot be read.
    problems: Vec<Diagnostic>,
}

/// The indexed parts of an instance.
#[derive(Clone, Debug)]
struct Entry {
    /// The address as stored.
    text: Arc<str>,
    provider: Result<ProviderInstance, Arc<str>>,
}

/// A stored instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored<'a> {
    entry: &'a Entry,
    /// The record, with its revision.
    pub(crate) instance: &'a StoredInstance,
}

impl PriorState {
    /// Parses the addresses of a state.
    pub(crate) fn of(snapshot: Arc<Snapshot>) -> PriorState {
        let mut found = PriorState { snapshot: Arc::default(), instances: BTreeMap::new(), problems: Vec::new() };
        let mut providers: FxHashMap<&str, Result<ProviderInstance, Arc<str>>> = FxHashMap::default();
        for (text, stored) in &snapshot.instances {
            let Ok(address) = text.parse::<ResourceInstance>() else {
                found.problems.push(problems::invalid_address(text));
                continue;
            };
            let provider = providers.entry(stored.record.provider.as_str()).or_insert_with_key(|text| {
                text.parse::<ProviderInstance>().map_err(|error| Arc::from(error.to_string().as_str()))
            });
            found.instances.insert(address, Entry { text: Arc::from(text.as_str()), provider: provider.clone() });
        }
        drop(providers);
        found.snapshot = snapshot;
        found
    }

    /// The state itself.
    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// An error for each entry with an invalid address.
    pub(crate) fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// Whether the state has no object and no output.
    pub(crate) fn is_empty(&self) -> bool {
        self.snapshot.instances.is_empty() && self.snapshot.outputs.is_empty()
    }

    /// The stored instance.
    pub(crate) fn get(&self, address: &ResourceInstance) -> Option<Stored<'_>> {
        let entry = self.instances.get(address)?;
        Some(Stored { entry, instance: self.snapshot.instances.get(&*entry.text)? })
    }

    /// The current object of an instance.
    pub(crate) fn current(&self, address: &ResourceInstance) -> Option<&InstanceObject> {
        self.get(address)?.instance.record.current.as_ref()
    }

    /// The revision of an instance; 0 if state has none.
    pub(crate) fn revision(&self, address: &ResourceInstance) -> u64 {
        self.get(address).map_or(0, |stored| stored.instance.revision.0)
    }

    /// All instances, ordered by address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ResourceInstance, Stored<'_>)> {
        self.instances.iter().filter_map(|(address, entry)| {
            let instance = self.snapshot.instances.get(&*entry.text)?;
            Some((address, Stored { entry, instance }))
        })
    }

    /// The managed instances.
    pub(crate) fn managed(&self) -> impl Iterator<Item = (&ResourceInstance, Stored<'_>)> {
        self.iter().filter(|(_, stored)| stored.instance.record.mode == ResourceMode::Managed)
    }

    /// The instances of a resource.
    pub(crate) fn of_resource(&self, resource: &AbsResource) -> impl Iterator<Item = &ResourceInstance> {
        // The instance without a key sorts first.
        let first = resource.instance(InstanceKey::None);
        let found = self.instances.range(first..).map(|(address, _)| address);
        let (module, name) = (resource.module.clone(), resource.resource.clone());
        found.take_while(move |address| address.module == module && address.resource == name)
    }
}

impl Stored<'_> {
    /// The provider instance of an object.
    ///
    /// # Errors
    /// An address that cannot be parsed.
    pub(crate) fn provider(&self) -> Result<&ProviderInstance, Diagnostic> {
        self.entry
            .provider
            .as_ref()
            .map_err(|error| problems::invalid_provider(&self.entry.text, &self.instance.record.provider, error))
    }
}

/// Configured resources by the text of stored dependencies. Each text is parsed once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    read: FxHashMap<SmolStr, Option<Arc<ConfigResource>>>,
}

impl Names {
    /// The resource of a dependency; `None` if the text is not an address.
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
    use weft_state::{InstanceRecord, Revision};

    fn state(names: &[&str], provider: &str) -> PriorState {
        let instance = |name: &str| {
            let key = InstanceKey::None;
            let mut record = InstanceRecord::new("", ResourceMode::Managed, "a", "b", key, provider);
            record.address = name.to_owned();
            (name.to_owned(), StoredInstance { record, revision: Revision(7) })
        };
        let instances = names.iter().map(|name| instance(name)).collect();
        PriorState::of(Arc::new(Snapshot { instances, ..Snapshot::default() }))
    }

    #[test]
    fn instances_of_a_resource_are_found_by_type_not_by_text() {
        let state =
            state(&["a.b", "a.b[0]", "a.b[\"x\"]", "a.bc", "a.b2[0]", "module.m.a.b[0]"], "provider[\"x/y/z\"]");
        let of = |text: &str| -> Vec<String> {
            state.of_resource(&text.parse().unwrap()).map(ToString::to_string).collect()
        };
        assert_eq!(of("a.b"), ["a.b", "a.b[0]", "a.b[\"x\"]"]);
        assert_eq!(of("a.bc"), ["a.bc"]);
        assert_eq!(of("module.m.a.b"), ["module.m.a.b[0]"]);
        assert_eq!(of("a.c"), Vec::<String>::new());
        assert_eq!(state.revision(&"a.b[0]".parse().unwrap()), 7);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let found = state(&["a.b", "what is this"], "no provider");
        assert_eq!(found.problems().len(), 1);
        let (_, stored) = found.iter().next().unwrap();
        assert_eq!(stored.provider().unwrap_err().summary, "Invalid provider address in state");
    }

    #[test]
    fn names_are_read_once() {
        let mut names = Names::default();
        let first = names.resource("module.m.data.a.b").unwrap();
        assert!(Arc::ptr_eq(&first, &names.resource("module.m.data.a.b").unwrap()));
        assert!(names.resource("nothing").is_none() && names.resource("nothing").is_none());
    }
}
