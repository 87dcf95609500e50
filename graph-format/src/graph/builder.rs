//! Drafting operations while planning, through typed references.

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use smol_str::SmolStr;

use super::opcode::{CheckKind, Operation, PlannedObject, PriorObject, ProvisionWhen, StateRecord};
use super::{OperationId, Shard};
use crate::address::{DeposedKey, ProviderInstance, ResourceInstance};
use crate::formula::Formula;
use crate::origin::Origin;
use crate::path::Path;
use crate::source::SourceRange;
use crate::types::Type;
use crate::value::Value;

/// A drafted operation whose result is a `K`.
#[derive(Debug)]
pub struct Ref<K> {
    id: OperationId,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Ref<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Ref<K> {}

impl<K> Ref<K> {
    fn new(id: OperationId) -> Ref<K> {
        Ref { id, kind: PhantomData }
    }

    /// Which operation.
    pub fn id(self) -> OperationId {
        self.id
    }
}

/// Result of `evaluate` and `output`: a value.
#[derive(Debug)]
pub enum Evaluated {}
/// Result of `open_provider`: a configured provider.
#[derive(Debug)]
pub enum Provider {}
/// Result of `prior_state`: an object.
#[derive(Debug)]
pub enum Prior {}
/// Result of `desired`: a configuration value.
#[derive(Debug)]
pub enum Desired {}
/// Result of `final_plan`.
#[derive(Debug)]
pub enum FinalPlanned {}
/// Result of `apply` and `read_data`: the new object; of `depose`, `forget` and `record`: nothing.
#[derive(Debug)]
pub enum Applied {}
/// Result of `check`: nothing.
#[derive(Debug)]
pub enum Checked {}
/// Result of `provision`: nothing.
#[derive(Debug)]
pub enum Provisioned {}
/// Result of `open_ephemeral`: an open object.
#[derive(Debug)]
pub enum Ephemeral {}

/// One operation as drafted.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) operation: Operation<Formula>,
    pub(super) shard: Shard,
    pub(super) waits: Vec<Origin>,
    pub(super) after: Vec<OperationId>,
}

/// Collects operations; may be shared by everything that plans at the same time.
#[derive(Debug, Default)]
pub struct Builder {
    drafts: Mutex<Vec<Draft>>,
}

impl Builder {
    /// A builder without operations.
    pub fn new() -> Builder {
        Builder::default()
    }

    fn add(&self, operation: Operation<Formula>, shard: Shard, waits: Option<Origin>) -> OperationId {
        self.with(|drafts| {
            let id = OperationId(u32::try_from(drafts.len()).unwrap_or(u32::MAX));
            drafts.push(Draft { operation, shard, waits: waits.into_iter().collect(), after: Vec::new() });
            id
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut Vec<Draft>) -> T) -> T {
        change(&mut self.drafts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn into_drafts(self) -> Vec<Draft> {
        self.drafts.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything drafted so far, taken out: for whoever ends planning while others may still hold the builder.
    pub fn take(&self) -> Builder {
        Builder { drafts: Mutex::new(self.with(std::mem::take)) }
    }

    /// Number of operations drafted so far.
    pub fn len(&self) -> usize {
        self.with(|drafts| drafts.len())
    }

    /// Whether nothing was drafted yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drafts an `evaluate`.
    pub fn evaluate(&self, name: SmolStr, formula: Formula, waits: Option<Origin>) -> Ref<Evaluated> {
        Ref::new(self.add(Operation::Evaluate { name, formula }, Shard::Unplaced, waits))
    }

    /// Drafts an `evaluate` in the shard of a provider instance, whose functions the formula calls.
    pub fn evaluate_with(
        &self,
        name: SmolStr,
        formula: Formula,
        provider: Ref<Provider>,
        shard: Shard,
        waits: Option<Origin>,
    ) -> Ref<Evaluated> {
        let waits = Origin::union(waits.into_iter().chain([Origin::after(provider.id)]));
        Ref::new(self.add(Operation::Evaluate { name, formula }, shard, waits))
    }

    /// Drafts an `open_provider`.
    pub fn open_provider(&self, instance: ProviderInstance, config: Formula, waits: Option<Origin>) -> Ref<Provider> {
        let shard = Shard::Provider(instance.clone());
        Ref::new(self.add(Operation::OpenProvider { instance, config }, shard, waits))
    }

    /// Drafts an `open_provider` elsewhere than in the shard of its instance: at home, or anywhere for what is
    /// built in. What uses it must be in the same shard.
    pub fn open_provider_in(
        &self,
        instance: ProviderInstance,
        config: Formula,
        waits: Option<Origin>,
        shard: Shard,
    ) -> Ref<Provider> {
        Ref::new(self.add(Operation::OpenProvider { instance, config }, shard, waits))
    }

    /// Drafts a `close_provider`.
    pub fn close_provider(&self, provider: Ref<Provider>, shard: Shard) -> OperationId {
        self.add(Operation::CloseProvider { provider: provider.id }, shard, None)
    }

    /// Drafts a `prior_state`.
    pub fn prior_state(
        &self,
        address: ResourceInstance,
        deposed: Option<DeposedKey>,
        object: PriorObject,
        shard: Shard,
    ) -> Ref<Prior> {
        Ref::new(self.add(Operation::PriorState { address, deposed, object: Box::new(object) }, shard, None))
    }

    /// Drafts a `desired`.
    pub fn desired(
        &self,
        address: ResourceInstance,
        config: Formula,
        shard: Shard,
        waits: Option<Origin>,
    ) -> Ref<Desired> {
        Ref::new(self.add(Operation::Desired { address, config }, shard, waits))
    }

    /// Drafts a `final_plan`.
    pub fn final_plan(
        &self,
        address: ResourceInstance,
        provider: Ref<Provider>,
        prior: Option<Ref<Prior>>,
        desired: Option<Ref<Desired>>,
        planned: PlannedObject,
        shard: Shard,
    ) -> Ref<FinalPlanned> {
        let operation = Operation::FinalPlan {
            address,
            provider: provider.id,
            prior: prior.map(Ref::id),
            desired: desired.map(Ref::id),
            planned: Box::new(planned),
        };
        Ref::new(self.add(operation, shard, None))
    }

    /// Drafts an `apply`.
    pub fn apply(
        &self,
        address: ResourceInstance,
        deposed: Option<DeposedKey>,
        plan: Ref<FinalPlanned>,
        shard: Shard,
    ) -> Ref<Applied> {
        Ref::new(self.add(Operation::Apply { address, deposed, plan: plan.id }, shard, None))
    }

    /// Drafts a `depose`.
    pub fn depose(&self, address: ResourceInstance, key: DeposedKey, shard: Shard) -> Ref<Applied> {
        Ref::new(self.add(Operation::Depose { address, key }, shard, None))
    }

    /// Drafts a `forget`.
    pub fn forget(&self, address: ResourceInstance, deposed: Option<DeposedKey>) -> Ref<Applied> {
        Ref::new(self.add(Operation::Forget { address, deposed }, Shard::Unplaced, None))
    }

    /// Drafts a `read_data`.
    #[allow(clippy::too_many_arguments)]
    pub fn read_data(
        &self,
        address: ResourceInstance,
        provider: Ref<Provider>,
        config: Formula,
        planned: Value,
        record: StateRecord,
        sensitive: Vec<Path>,
        for_check: bool,
        shard: Shard,
        waits: Option<Origin>,
    ) -> Ref<Applied> {
        let provider = provider.id;
        let operation = Operation::ReadData { address, provider, config, planned, record, sensitive, for_check };
        Ref::new(self.add(operation, shard, waits))
    }

    /// Drafts a `record`.
    pub fn record(
        &self,
        address: ResourceInstance,
        previous: Option<ResourceInstance>,
        object: Option<PriorObject>,
        provider: ProviderInstance,
    ) -> Ref<Applied> {
        let operation = Operation::Record { address, previous, object: object.map(Box::new), provider };
        Ref::new(self.add(operation, Shard::Unplaced, None))
    }

    /// Drafts an `output`.
    pub fn output(
        &self,
        name: SmolStr,
        formula: Option<Formula>,
        ty: Type,
        sensitive: bool,
        planned: Value,
        waits: Option<Origin>,
    ) -> Ref<Evaluated> {
        let operation = Operation::Output { name, formula, ty, sensitive, planned, deprecated: None };
        Ref::new(self.add(operation, Shard::Unplaced, waits))
    }

    /// An output is stored with the notice that nobody should use it any more.
    pub fn deprecate_output(&self, output: Ref<Evaluated>, notice: String) {
        self.with(|drafts| {
            if let Some(Operation::Output { deprecated, .. }) =
                drafts.get_mut(output.id.0 as usize).map(|draft| &mut draft.operation)
            {
                *deprecated = Some(notice);
            }
        });
    }

    /// What a `final_plan` is about is stored as replaced by destroying first.
    pub fn stores_destroy_first(&self, plan: OperationId) {
        self.with(|drafts| {
            if let Some(Operation::FinalPlan { planned, .. }) =
                drafts.get_mut(plan.0 as usize).map(|draft| &mut draft.operation)
            {
                planned.record.create_before_destroy = false;
            }
        });
    }

    /// Drafts a `check`.
    pub fn check(
        &self,
        address: SmolStr,
        kind: CheckKind,
        condition: Formula,
        message: Formula,
        range: Option<SourceRange>,
        waits: Option<Origin>,
    ) -> Ref<Checked> {
        let operation = Operation::Check { address, kind, condition, message, range };
        Ref::new(self.add(operation, Shard::Unplaced, waits))
    }

    /// Drafts a `provision`, on the machine of whoever applies.
    #[allow(clippy::too_many_arguments)]
    pub fn provision(
        &self,
        address: ResourceInstance,
        provisioner: SmolStr,
        when: ProvisionWhen,
        continues: bool,
        config: Formula,
        range: Option<SourceRange>,
        waits: Option<Origin>,
    ) -> Ref<Provisioned> {
        let operation = Operation::Provision { address, provisioner, when, continues, config, range };
        Ref::new(self.add(operation, Shard::Home, waits))
    }

    /// Drafts an `open_ephemeral`. Finishing puts one, and a `close_ephemeral`, into each shard that reads it or
    /// another instance of its resource; what nobody reads is left out.
    pub fn open_ephemeral(
        &self,
        address: ResourceInstance,
        provider: Ref<Provider>,
        config: Formula,
        waits: Option<Origin>,
    ) -> Ref<Ephemeral> {
        let operation = Operation::OpenEphemeral { address, provider: provider.id, config, shards: 0 };
        Ref::new(self.add(operation, Shard::Unplaced, waits))
    }

    /// `later` waits for `earlier`, although it uses nothing of it.
    pub fn order(&self, earlier: OperationId, later: OperationId) {
        self.with(|drafts| {
            if let Some(draft) = drafts.get_mut(later.0 as usize) {
                draft.after.push(earlier);
            }
        });
    }

    /// `operation` also waits for everything in `origin`.
    pub fn wait(&self, operation: OperationId, origin: Option<Origin>) {
        self.with(|drafts| {
            if let Some(draft) = drafts.get_mut(operation.0 as usize) {
                draft.waits.extend(origin);
            }
        });
    }
}
