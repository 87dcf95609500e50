//! The plan so far. It reserves numbers for the results of operations, before any operation is drafted.

pub(crate) mod claims;
pub(crate) mod effects;
pub(crate) mod planned;
mod problems;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use weft_graph_format::address::{DeposedKey, ProviderInstance, ResourceInstance};
use weft_graph_format::bare::BareResource;
use weft_graph_format::changes::ResourceChange;
use weft_graph_format::graph::{OperationId, PriorObject};
use weft_state::DoubtKey;

use crate::prior::Prior;
use claims::Claims;
use effects::Effects;
use planned::{
    Computed, MemoryChange, Opening, PlannedCheck, PlannedInstance, PlannedProvision, PlannedStep, Record, Work,
};

/// Everything that is planned, in the order of evaluation.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// How many numbers are reserved.
    reserved: u32,
    /// The reserved number of the `open_provider` operation of each provider instance that something refers to.
    pub(crate) providers: BTreeMap<ProviderInstance, OperationId>,
    /// Changes of objects, for the reviewer.
    pub(crate) changes: Vec<ResourceChange>,
    /// Steps for objects.
    pub(crate) work: Vec<Work>,
    pub(crate) computed: Vec<Computed>,
    pub(crate) checks: Vec<PlannedCheck>,
    pub(crate) openings: Vec<Opening>,
    /// The provisioners that run after an instance is created.
    pub(crate) provisions: FxHashMap<ResourceInstance, Vec<PlannedProvision>>,
    /// Changes of state without a provider.
    pub(crate) records: Vec<Record>,
    /// Objects that the plan moves, writes as the refresh found them, or removes because they no longer exist, before
    /// any other step. Each entry has the current object, if there is one, and its provider instance.
    pub(crate) moves: BTreeMap<ResourceInstance, (Option<PriorObject>, ProviderInstance)>,
    /// Deposed objects that no longer exist.
    pub(crate) vanished: Vec<(ResourceInstance, DeposedKey)>,
    /// Changes of the memories of provider instances.
    pub(crate) memories: Vec<MemoryChange>,
    pub(crate) claims: Claims,
    pub(crate) effects: Effects,
}

impl Agenda {
    /// Reserves a number for an operation that is drafted later.
    pub(crate) fn reserve(&mut self) -> OperationId {
        let number = self.reserved;
        self.reserved = number.saturating_add(1);
        OperationId(number)
    }

    /// How many numbers are reserved.
    pub(crate) fn reserved(&self) -> u32 {
        self.reserved
    }

    /// The number of the operation that opens a provider. Operations that use the provider get higher numbers.
    pub(crate) fn reserve_provider(&mut self, instance: &ProviderInstance) -> OperationId {
        if let Some(known) = self.providers.get(instance) {
            return *known;
        }
        let number = self.reserve();
        self.providers.insert(instance.clone(), number);
        number
    }

    /// Adds the plan for an object. Returns the operation that readers of the object wait for, or `None` if the object
    /// does not change.
    pub(crate) fn take(&mut self, planned: PlannedInstance) -> Option<OperationId> {
        match planned.step {
            Some(step) => Some(self.take_step(planned.change, step)),
            None => {
                self.changes.push(planned.change);
                None
            }
        }
    }

    /// Adds the plan for an object that changes. Returns the operation that readers of the object wait for.
    pub(crate) fn take_step(&mut self, change: ResourceChange, step: PlannedStep) -> OperationId {
        let (address, provider) = (change.address.clone(), change.provider.clone());
        self.claims.add(&address, true);
        self.changes.push(change);
        let result = self.reserve();
        self.work.push(Work { address, provider, result, step });
        result
    }
}

/// The results of reading objects.
#[derive(Debug, Default)]
pub(crate) struct ReadResults {
    /// Objects as they were read.
    pub(crate) refreshed: BTreeMap<ResourceInstance, Prior>,
    /// Deposed objects as they were read.
    pub(crate) deposed: BTreeMap<(ResourceInstance, DeposedKey), Prior>,
    /// Objects that differ from their records in state.
    pub(crate) drift: Vec<ResourceChange>,
    /// Data sources that were read, with their providers.
    pub(crate) read: BTreeMap<ResourceInstance, ProviderInstance>,
    /// Imported objects, with their providers.
    pub(crate) imported: BTreeMap<ResourceInstance, ProviderInstance>,
    /// Resources without instances, if the plan is an import.
    pub(crate) bare: BTreeSet<BareResource>,
    /// The objects in doubt that the plan would touch.
    pub(crate) in_doubt: BTreeSet<DoubtKey>,
}
