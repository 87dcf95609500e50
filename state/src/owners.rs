//! Which address has which object.

use std::collections::BTreeMap;

use weft_graph_format::address::{ResourceInstance, ResourceMode};

use crate::record::InstanceObject;
use crate::snapshot::Snapshot;

/// The objects of a state by their ids. An object belongs to one address, so an id that is here cannot be adopted by
/// another one.
#[derive(Clone, Debug, Default)]
pub struct IdOwners(BTreeMap<(String, String), Vec<ResourceInstance>>);

impl IdOwners {
    /// Reads the ids of all managed objects. Linear in the number of instances.
    pub fn of(snapshot: &Snapshot) -> IdOwners {
        let mut owners = IdOwners::default();
        let records = snapshot.instances.values().map(|stored| &stored.record);
        for record in records.filter(|record| record.mode() == ResourceMode::Managed) {
            for object in record.current.iter().chain(record.deposed.values()) {
                let Some(id) = id_of(object) else { continue };
                let key = (record.address.resource.type_name.to_string(), id);
                owners.0.entry(key).or_default().push(record.address.clone());
            }
        }
        owners
    }

    /// Another address that has the object with this id. Ids of different types are unrelated.
    pub fn other(&self, address: &str, id: &str) -> Option<String> {
        let wanted: ResourceInstance = address.parse().ok()?;
        let owners = self.0.get(&(wanted.resource.type_name.to_string(), id.to_owned()))?;
        owners.iter().find(|owner| **owner != wanted).map(ToString::to_string)
    }
}

fn id_of(object: &InstanceObject) -> Option<String> {
    let attributes: serde_json::Value = serde_json::from_str(object.attributes.as_str()).ok()?;
    attributes.get("id")?.as_str().map(str::to_owned)
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
        assert_eq!(owners.other("a_b.three", "i-1").as_deref(), Some("a_b.one"));
        assert_eq!(owners.other("a_b.one", "i-1"), None, "its own object");
        assert_eq!(owners.other("a_b.three", "i-2"), None, "another type");
        assert_eq!(owners.other("no address", "i-1"), None);
    }
}
