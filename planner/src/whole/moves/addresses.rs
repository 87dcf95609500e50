//! The addresses of a state during moves.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, InstanceKey, Module, Resource, ResourceInstance, ResourceMode};

use super::Statement;

/// The current addresses, each with its stored address.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    now: BTreeMap<ResourceInstance, ResourceInstance>,
    /// Current addresses by configured address and key.
    by_key: BTreeMap<ConfigResource, BTreeMap<InstanceKey, BTreeSet<ResourceInstance>>>,
}

impl Addresses {
    /// Creates the set for a state.
    pub(super) fn of(addresses: impl Iterator<Item = ResourceInstance>) -> Addresses {
        let mut found = Addresses::default();
        addresses.for_each(|address| found.insert(address.clone(), address));
        found
    }

    fn insert(&mut self, address: ResourceInstance, origin: ResourceInstance) {
        let keys = self.by_key.entry(address.config()).or_default();
        keys.entry(address.key.clone()).or_default().insert(address.clone());
        self.now.insert(address, origin);
    }

    /// Whether an object has this address.
    pub(super) fn has(&self, address: &ResourceInstance) -> bool {
        self.now.contains_key(address)
    }

    /// All addresses, ascending.
    pub(super) fn all(&self) -> Vec<ResourceInstance> {
        self.now.keys().cloned().collect()
    }

    /// Renames an object. No other object may have the new address.
    pub(super) fn rename(&mut self, address: &ResourceInstance, to: ResourceInstance) {
        let origin = self.now.remove(address).expect("only an object of the state is renamed");
        if let Some(found) = self.by_key.get_mut(&address.config()).and_then(|keys| keys.get_mut(&address.key)) {
            found.remove(address);
        }
        self.insert(to, origin);
    }

    /// The moved objects, with their stored addresses.
    pub(super) fn moved(self) -> BTreeMap<ResourceInstance, ResourceInstance> {
        self.now.into_iter().filter(|(new, old)| new != old).collect()
    }

    /// Addresses that a statement may match, ascending. For a statement about a single resource instance, these are
    /// only the addresses with the key of that instance.
    pub(super) fn about(&self, statement: &Statement) -> Vec<ResourceInstance> {
        let (module, _) = statement.end(&statement.from);
        let found: BTreeSet<ResourceInstance> = match &statement.from.resource {
            Some((resource, key)) => {
                let keys = self.by_key.get(&ConfigResource { module, resource: resource.clone() });
                match statement.by_instance() {
                    true => keys.and_then(|keys| keys.get(key)).into_iter().flatten().cloned().collect(),
                    false => keys.into_iter().flat_map(BTreeMap::values).flatten().cloned().collect(),
                }
            }
            None if statement.by_instance() && statement.base.is_root() => {
                let first = ResourceInstance {
                    module: statement.from.module.clone(),
                    resource: least(),
                    key: InstanceKey::None,
                };
                let own = |address: &&ResourceInstance| address.module.0.starts_with(&statement.from.module.0);
                self.now.range(first..).map(|(address, _)| address).take_while(own).cloned().collect()
            }
            None => self.within(&module).cloned().collect(),
        };
        found.into_iter().collect()
    }

    /// The addresses in all instances of a module and below.
    fn within<'a>(&'a self, module: &'a Module) -> impl Iterator<Item = &'a ResourceInstance> {
        // The resources of a module are adjacent in the order.
        let first = ConfigResource { module: module.clone(), resource: least() };
        let found = self.by_key.range(first..).take_while(|(config, _)| config.module.0.starts_with(&module.0));
        found.flat_map(|(_, keys)| keys.values()).flatten()
    }
}

/// The first resource in the order.
fn least() -> Resource {
    Resource { mode: ResourceMode::Data, type_name: SmolStr::default(), name: SmolStr::default() }
}

#[cfg(test)]
mod tests {
    use super::super::tests::statement;
    use super::*;

    fn about(state: &[&str], base: &str, from: &str, to: &str) -> Vec<String> {
        let addresses = Addresses::of(state.iter().map(|text| text.parse().unwrap()));
        addresses.about(&statement(base, from, to)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_statement_finds_its_objects() {
        let state = [
            "a.x",
            "a.x[0]",
            "a.x[1]",
            "a.y[0]",
            "module.m[0].a.x[0]",
            "module.m[1].a.x[0]",
            "module.m[1].module.n.a.y",
        ];
        for (base, from, to, want) in [
            ("", "a.x", "a.z", vec!["a.x", "a.x[0]", "a.x[1]"]),
            ("", "a.x[0]", "a.z", vec!["a.x[0]"]),
            ("m", "a.x[0]", "a.z", vec!["module.m[0].a.x[0]", "module.m[1].a.x[0]"]),
            ("", "module.m[1]", "module.m[2]", vec!["module.m[1].a.x[0]", "module.m[1].module.n.a.y"]),
            ("m", "module.n", "module.o", vec!["module.m[1].module.n.a.y"]),
        ] {
            assert_eq!(about(&state, base, from, to), want, "{from} in {base:?}");
        }
    }

    #[test]
    fn steps_grow_with_the_number_of_statements() {
        let steps = |count: usize, form: fn(usize) -> (String, String, String)| {
            let all: Vec<_> = (0..count).map(form).collect();
            let addresses = Addresses::of(all.iter().map(|(address, ..)| address.parse().unwrap()));
            let about = |(_, from, to): &(String, String, String)| addresses.about(&statement("", from, to)).len();
            all.iter().map(about).sum::<usize>()
        };
        let of_resource = |n: usize| (format!("a.x[{n}]"), format!("a.x[{n}]"), format!("a.x[\"k{n}\"]"));
        let of_module = |n: usize| (format!("module.m[{n}].a.x"), format!("module.m[{n}]"), format!("module.n[{n}]"));
        for form in [of_resource, of_module] {
            assert_eq!((steps(100, form), steps(1_000, form)), (100, 1_000));
        }
    }
}
