//! The third pass: turns the plan into operations of the execution graph.
//!
//! Only this module adds operations to the [`Builder`]. Drafting runs after planning and takes plain data. Each
//! operation gets the number that was reserved for it.

mod change;
mod leave;
pub(crate) mod output;
mod read;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use weft_graph_format::address::{ProviderInstance, ResourceInstance};
use weft_graph_format::graph::{Applied, Builder, OperationId, Provider, Ref, Shard};
use weft_graph_format::origin::Origin;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::agenda::Agenda;
use crate::agenda::claims::Claims;
use crate::agenda::planned::{
    Computed, MemoryChange, Opening, PlannedCheck, PlannedProvision, PlannedStep, Record, Work,
};
use crate::facts::Facts;
use crate::prior::without_provenance;
use crate::providers::Registered;
use crate::whole::order::DeleteOrder;

/// Finds the configuration of a provider instance. `None` if the instance has no registered configuration.
pub(crate) type Configured<'a> = &'a dyn Fn(&ProviderInstance) -> Option<std::sync::Arc<Registered>>;

/// A graph that is being drafted.
pub(crate) struct Drafting<'a> {
    facts: &'a Facts,
    configured: Configured<'a>,
    builder: Builder,
    /// The reserved numbers of `open_provider` operations.
    reserved_providers: BTreeMap<ProviderInstance, OperationId>,
    /// The provisioners that run after an instance is created.
    provisions: FxHashMap<ResourceInstance, Vec<PlannedProvision>>,
    opened: BTreeMap<ProviderInstance, Ref<Provider>>,
    /// The operations drafted so far, by the provider instance in whose shard they run.
    in_shard: BTreeMap<ProviderInstance, Vec<OperationId>>,
    /// The operations that move or write objects before any other step.
    moves: BTreeMap<ResourceInstance, OperationId>,
    ordering: DeleteOrder,
    claims: Claims,
    /// Objects that the state records as destroy-first.
    destroys_first: BTreeSet<ResourceInstance>,
}

/// The result of drafting, without outputs.
pub(crate) struct Drafted {
    pub(crate) builder: Builder,
    pub(crate) claims: Claims,
    /// Whether the plan changes the state without a provider.
    pub(crate) records: bool,
}

impl<'a> Drafting<'a> {
    /// Drafts everything on an agenda except outputs.
    pub(crate) fn of(
        facts: &'a Facts,
        configured: Configured<'a>,
        agenda: Agenda,
        destroys_first: BTreeSet<ResourceInstance>,
    ) -> Drafted {
        let mut drafting = Drafting {
            facts,
            configured,
            builder: Builder::with_reserved(agenda.reserved()),
            reserved_providers: agenda.providers,
            provisions: agenda.provisions,
            opened: BTreeMap::new(),
            in_shard: BTreeMap::new(),
            moves: BTreeMap::new(),
            ordering: DeleteOrder::default(),
            claims: agenda.claims,
            destroys_first,
        };
        for (address, (object, provider)) in agenda.moves {
            let moved = drafting.record(Record { address: address.clone(), object, provider });
            drafting.moves.insert(address, moved);
        }
        agenda.computed.into_iter().for_each(|one| drafting.computed(one));
        agenda.openings.into_iter().for_each(|one| drafting.opening(one));
        agenda.work.into_iter().for_each(|work| drafting.work(work));
        for (address, key) in agenda.vanished {
            let operation = drafting.builder.forget(address.clone(), Some(key)).id();
            drafting.builder.wait(operation, drafting.after_move(&address));
        }
        agenda.checks.into_iter().for_each(|check| drafting.check(check));
        drafting.finish(agenda.records, agenda.memories)
    }

    fn work(&mut self, work: Work) {
        let Work { address, provider, result, step } = work;
        match step {
            PlannedStep::Change(change) => self.change(&address, &provider, result, *change),
            PlannedStep::Delete(leaving) => self.delete(&address, &provider, result, *leaving),
            PlannedStep::Forget(leaving) => self.forget(&address, result, *leaving),
            PlannedStep::Read(read) => self.read(address, &provider, result, *read),
        }
    }

    /// Adds the edges of deletes, drafts the changes that affect only the state, and closes providers.
    fn finish(mut self, mut records: Vec<Record>, memories: Vec<MemoryChange>) -> Drafted {
        let in_shards = self.in_shard.values().flatten().copied();
        for (operation, origin) in self.ordering.waits(in_shards) {
            self.builder.wait(operation, origin);
        }
        for (operation, origin) in self.ordering.preferred() {
            self.builder.prefer(operation, origin);
        }
        records.sort_by(|a, b| a.address.cmp(&b.address));
        let any = !records.is_empty();
        for record in records {
            self.claims.add(&record.address, true);
            // An object is removed from the state only after everything that refers to it is deleted.
            let gone = record.object.is_none().then(|| self.ordering.gone_before(&record.address.all())).flatten();
            let operation = self.record(record);
            self.builder.wait(operation, gone);
        }
        memories.into_iter().for_each(|memory| self.remember(memory));
        for (instance, provider) in std::mem::take(&mut self.opened) {
            let close = self.builder.close_provider(provider, shard(&instance));
            let users = self.in_shard.remove(&instance).unwrap_or_default();
            self.builder.wait(close, Origin::union(users.into_iter().map(Origin::after)));
        }
        Drafted { builder: self.builder, claims: self.claims, records: any }
    }

    /// The `open_provider` operation of a provider instance. It is drafted only once.
    fn opened(&mut self, instance: &ProviderInstance) -> Ref<Provider> {
        if let Some(known) = self.opened.get(instance) {
            return *known;
        }
        let (config, origin) = match (self.configured)(instance) {
            Some(registered) => (registered.config.to_formula(), registered.origin.clone()),
            None => (Value::empty_object().to_formula(), None),
        };
        let builder = match self.reserved_providers.get(instance) {
            Some(number) => self.builder.reserved(*number),
            None => &self.builder,
        };
        let opened = builder.open_provider(instance.clone(), config, origin);
        self.opened.insert(instance.clone(), opened);
        opened
    }

    /// The operations that all operations of a provider wait for.
    fn after_configuration(&self, instance: &ProviderInstance) -> Option<Origin> {
        (self.configured)(instance).and_then(|registered| registered.origin.clone())
    }

    /// The operations that all operations on a moved object wait for.
    fn after_move(&self, address: &ResourceInstance) -> Option<Origin> {
        self.moves.get(address).copied().map(Origin::after)
    }

    /// Records an operation in the shard of its provider.
    fn in_shard(&mut self, instance: &ProviderInstance, operation: OperationId) {
        match self.in_shard.get_mut(instance) {
            Some(known) => known.push(operation),
            None => drop(self.in_shard.insert(instance.clone(), vec![operation])),
        }
    }

    fn applied(&mut self, instance: &ProviderInstance, operation: Ref<Applied>) -> OperationId {
        self.in_shard(instance, operation.id());
        operation.id()
    }

    fn record(&mut self, record: Record) -> OperationId {
        let Record { address, object, provider } = record;
        let moving = self.after_move(&address);
        let previous = self.facts.previous(&address).filter(|_| moving.is_none()).cloned();
        if let Some(previous) = &previous {
            self.claims.add(previous, true);
        }
        let operation = self.builder.record(address, previous, object, provider).id();
        self.builder.wait(operation, moving);
        operation
    }

    /// Drafts the change of the memory of a provider instance as an `output`. The state forgets a provider instance
    /// only after all other operations of the plan that use this instance.
    fn remember(&mut self, memory: MemoryChange) {
        let name = SmolStr::from(memory.instance.to_string());
        let Some(value) = memory.value else {
            let users = self.in_shard.get(&memory.instance).into_iter().flatten();
            let waits = Origin::union(users.copied().map(Origin::after));
            self.builder.output(name, None, Type::Dynamic, false, Value::null(Type::Dynamic), waits);
            return;
        };
        let (formula, planned) = (value.to_formula(), without_provenance(&value));
        self.builder.output(name, Some(formula), Type::Dynamic, false, planned, value.deep_origin());
    }

    fn computed(&mut self, computed: Computed) {
        let Computed { result, label, formula, waits, provider } = computed;
        let Some(instance) = provider else {
            self.builder.reserved(result).evaluate(label, formula, waits);
            return;
        };
        let opened = self.opened(&instance);
        self.builder.reserved(result).evaluate_with(label, formula, opened, shard(&instance), waits);
        self.in_shard(&instance, result);
    }

    fn opening(&mut self, opening: Opening) {
        let Opening { result, address, provider, config, waits } = opening;
        let opened = self.opened(&provider);
        let waits = Origin::union([waits, self.after_configuration(&provider)].into_iter().flatten());
        self.builder.reserved(result).open_ephemeral(address, opened, config, waits);
    }

    fn check(&mut self, check: PlannedCheck) {
        let PlannedCheck { result, address, kind, condition, message, range, waits } = check;
        self.builder.reserved(result).check(address, kind, condition, message, Some(range), waits);
    }

    fn provision(&mut self, address: &ResourceInstance, provision: PlannedProvision) -> OperationId {
        let PlannedProvision { result, kind, when, continues, config, range, waits } = provision;
        let builder = match result {
            Some(number) => self.builder.reserved(number),
            None => &self.builder,
        };
        builder.provision(address.clone(), kind, when, continues, config, Some(range), waits).id()
    }
}

/// The shard of a provider instance.
fn shard(instance: &ProviderInstance) -> Shard {
    Shard::Provider(instance.clone())
}

#[cfg(test)]
mod tests;
