//! What is planned so far. Results of operations are named by numbers that are reserved here, before anything is drafted.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use weft_graph_format::address::{DeposedKey, ProviderInstance, ResourceInstance};
use weft_graph_format::changes::ResourceChange;
use weft_graph_format::graph::{OperationId, PriorObject};

use super::planned::{Computed, Opening, PlannedCheck, PlannedInstance, PlannedProvision, Record, Step, Work};
use super::prior::Prior;
use crate::whole::claims::Claims;
use crate::whole::triggers::Effects;

/// Everything that is planned, in the order in which evaluation came to it.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// How many numbers are reserved.
    reserved: u32,
    /// Numbers of configured providers that something else names.
    pub(crate) providers: BTreeMap<ProviderInstance, OperationId>,
    /// What happens to each object, for the reviewer.
    pub(crate) changes: Vec<ResourceChange>,
    /// What is to be done about objects.
    pub(crate) work: Vec<Work>,
    pub(crate) computed: Vec<Computed>,
    pub(crate) checks: Vec<PlannedCheck>,
    pub(crate) openings: Vec<Opening>,
    /// What runs after an instance is created.
    pub(crate) provisions: FxHashMap<ResourceInstance, Vec<PlannedProvision>>,
    /// Changes of state alone.
    pub(crate) records: Vec<Record>,
    /// Objects that are moved before anything else happens to them, with the object where state has one.
    pub(crate) moves: BTreeMap<ResourceInstance, (Option<PriorObject>, ProviderInstance)>,
    /// Deposed objects that are gone already.
    pub(crate) vanished: Vec<(ResourceInstance, DeposedKey)>,
    pub(crate) claims: Claims,
    pub(crate) effects: Effects,
}

impl Agenda {
    /// A number for an operation that is drafted later.
    pub(crate) fn reserve(&mut self) -> OperationId {
        let number = self.reserved;
        self.reserved = number.saturating_add(1);
        OperationId(number)
    }

    /// How many numbers are reserved.
    pub(crate) fn reserved(&self) -> u32 {
        self.reserved
    }

    /// The number of the operation that opens a provider. What uses the provider takes its own number after it.
    pub(crate) fn reserve_provider(&mut self, instance: &ProviderInstance) -> OperationId {
        if let Some(known) = self.providers.get(instance) {
            return *known;
        }
        let number = self.reserve();
        self.providers.insert(instance.clone(), number);
        number
    }

    /// Takes what is planned for an object. Gives the operation that its readers wait for; `None` when nothing happens.
    pub(crate) fn take(&mut self, planned: PlannedInstance) -> Option<OperationId> {
        match planned.step {
            Some(step) => Some(self.take_step(planned.change, step)),
            None => {
                self.changes.push(planned.change);
                None
            }
        }
    }

    /// The same for an object that something happens to.
    pub(crate) fn take_step(&mut self, change: ResourceChange, step: Step) -> OperationId {
        let (address, provider) = (change.address.clone(), change.provider.clone());
        self.claims.add(&address, true);
        self.changes.push(change);
        let result = self.reserve();
        self.work.push(Work { address, provider, result, step });
        result
    }
}

/// What was found by reading objects.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Objects as they were found.
    pub(crate) refreshed: BTreeMap<ResourceInstance, Prior>,
    /// Objects that were found to be other than state has them.
    pub(crate) drift: Vec<ResourceChange>,
    /// Data sources that were read, with the provider that did.
    pub(crate) read: BTreeMap<ResourceInstance, ProviderInstance>,
    /// Objects that are taken over, with the provider that found them.
    pub(crate) imported: BTreeMap<ResourceInstance, ProviderInstance>,
}
