//! The doubts of the state: objects whose last operation has an unknown outcome.

use std::collections::BTreeMap;

use weft_graph_format::address::ResourceInstance;
use weft_state::{Doubt, Snapshot};

/// The old addresses of moved instances, by new address.
type Moved = BTreeMap<ResourceInstance, ResourceInstance>;

/// The doubts of a state by instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doubts(BTreeMap<ResourceInstance, Vec<Doubt>>);

impl Doubts {
    /// The doubts of a state. `moved` returns the old addresses of moved instances, by new address. A doubt counts for
    /// both addresses, because the state has no object for a create in doubt.
    pub(crate) fn of(snapshot: &Snapshot, moved: impl Fn(Vec<ResourceInstance>) -> Moved) -> Doubts {
        let mut found: BTreeMap<ResourceInstance, Vec<Doubt>> = BTreeMap::new();
        for doubt in snapshot.doubts.values() {
            let Ok(address) = doubt.key.address.parse() else { continue };
            found.entry(address).or_default().push(doubt.clone());
        }
        if found.is_empty() {
            return Doubts::default();
        }
        for (new, old) in moved(found.keys().cloned().collect()) {
            let doubts = found.get(&old).cloned().unwrap_or_default();
            found.entry(new).or_default().extend(doubts);
        }
        Doubts(found)
    }

    /// The addresses of the instance that a doubt is about: its address in the state, and the one after a move. Empty
    /// if the doubt is about no instance.
    pub(crate) fn addresses(&self, doubt: &Doubt) -> Vec<&ResourceInstance> {
        let mut found: Vec<&ResourceInstance> = self
            .0
            .iter()
            .filter(|(_, doubts)| doubts.iter().any(|one| one.key == doubt.key))
            .map(|(at, _)| at)
            .collect();
        // The new address is the last one.
        found.sort_by_key(|address| address.to_string() != doubt.key.address);
        found
    }

    /// The doubts about the objects of an instance.
    pub(crate) fn get(&self, address: &ResourceInstance) -> Option<&Vec<Doubt>> {
        self.0.get(address)
    }
}
