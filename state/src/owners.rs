//! The addresses of the objects of a state, by the ids of the objects.

use std::collections::{BTreeMap, BTreeSet};

use weft_graph_format::address::{ResourceInstance, ResourceMode};

use crate::record::{InstanceObject, InstanceRecord};
use crate::snapshot::Snapshot;

/// The objects of a state by their ids. An object belongs to one address, so an object whose id is in this index cannot
/// be adopted by another address.
#[derive(Clone, Debug, Default)]
pub struct IdOwners(BTreeMap<(String, String), BTreeSet<ResourceInstance>>);

impl IdOwners {
    /// Reads the ids of all managed objects. Linear in the number of instances.
    pub fn of(snapshot: &Snapshot) -> IdOwners {
        let mut owners = IdOwners::default();
        snapshot.instances.values().for_each(|stored| owners.add(&stored.record));
        owners
    }

    /// Adds the objects of an address.
    pub fn add(&mut self, record: &InstanceRecord) {
        if record.mode() != ResourceMode::Managed {
            return;
        }
        for id in record.current.iter().chain(record.deposed.values()).flat_map(ids_of) {
            let owners = self.0.entry((record.address.resource.type_name.to_string(), id)).or_default();
            owners.insert(record.address.clone());
        }
    }

    /// Another address that has the object with this id. The id may also be an identity, as a JSON object. Equal ids of
    /// different resource types are unrelated.
    pub fn other(&self, address: &ResourceInstance, id: &str) -> Option<String> {
        let identity = Some(id).filter(|id| id.starts_with('{')).and_then(normal);
        self.owner_but(address, identity.as_deref().unwrap_or(id))
    }

    /// Another address that has an object with these attributes, given as names with JSON text.
    pub fn other_with_attributes(&self, address: &ResourceInstance, attributes: &[(String, String)]) -> Option<String> {
        let (_, id) = attributes.iter().find(|(name, _)| name == "id")?;
        self.other(address, &serde_json::from_str::<String>(id).ok()?)
    }

    /// Another address that has this object.
    pub fn other_with(&self, address: &ResourceInstance, object: &InstanceObject) -> Option<String> {
        ids_of(object).find_map(|id| self.owner_but(address, &id))
    }

    fn owner_but(&self, wanted: &ResourceInstance, id: &str) -> Option<String> {
        let owners = self.0.get(&(wanted.resource.type_name.to_string(), id.to_owned()))?;
        owners.iter().find(|owner| *owner != wanted).map(ToString::to_string)
    }
}

/// The id of an object, and its identity.
fn ids_of(object: &InstanceObject) -> impl Iterator<Item = String> + use<> {
    let attributes: Option<serde_json::Value> = serde_json::from_str(object.attributes.as_str()).ok();
    let id = attributes.and_then(|found| found.get("id")?.as_str().map(str::to_owned));
    let identity = object.identity.as_ref().and_then(|identity| normal(identity.as_str()));
    id.into_iter().chain(identity)
}

/// A JSON object as text in a normal form, with sorted attributes.
fn normal(text: &str) -> Option<String> {
    let attributes: BTreeMap<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    serde_json::to_string(&attributes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfstate::StateFile;

    #[test]
    fn an_id_belongs_to_one_address_of_its_type() {
        let instance = |kind: &str, name: &str, id: &str| {
            format!(
                r#"{{"mode": "managed", "type": "{kind}", "name": "{name}", "provider": "provider[\"h/n/t\"]",
                   "instances": [{{"schema_version": 0, "attributes": {{"id": "{id}"}}}}]}}"#
            )
        };
        let text = format!(
            r#"{{"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l", "outputs": {{}},
               "check_results": null, "resources": [{}, {}]}}"#,
            instance("a_b", "one", "i-1"),
            instance("a_c", "two", "i-2")
        );
        let Ok(file) = StateFile::parse(text.as_bytes(), "test") else { panic!("a state") };
        let mut ledger = crate::ledger::Ledger::new(crate::RevisionRule::Content, false, crate::Incarnation(1));
        ledger.load(file);
        let owners = IdOwners::of(&ledger.snapshot());
        let other = |address: &str, id: &str| {
            let Ok(address) = address.parse() else { panic!("an address") };
            owners.other(&address, id)
        };
        assert_eq!(other("a_b.three", "i-1").as_deref(), Some("a_b.one"));
        assert_eq!(other("a_b.one", "i-1"), None, "its own object");
        assert_eq!(other("a_b.three", "i-2"), None, "another type");
    }
}
