//! Drafting of operations during planning, with typed references to their results.

use std::cell::RefCell;
use std::marker::PhantomData;

use smol_str::SmolStr;

use super::finish_error::FinishError;
use super::object::{PlannedObject, PriorObject, StateRecord};
use super::opcode::{CheckKind, Operation, ProvisionWhen};
use super::{OperationId, Shard};
use crate::address::{DeposedKey, ProviderInstance, ResourceInstance};
use crate::origin::Origin;
use crate::path::Path;
use crate::source::SourceRange;
use crate::types::Type;
use crate::value::Value;
use crate::value::formula::Formula;

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

    /// The number of the operation.
    pub fn id(self) -> OperationId {
        self.id
    }
}

/// The result of `evaluate` and `output`: a value.
#[derive(Debug)]
pub enum Evaluated {}
/// The result of `open_provider`: a configured provider.
#[derive(Debug)]
pub enum Provider {}
/// The result of `prior_state`: an object.
#[derive(Debug)]
pub enum Prior {}
/// The result of `desired`: a configuration value.
#[derive(Debug)]
pub enum Desired {}
/// The result of `final_plan`: the final plan.
#[derive(Debug)]
pub enum FinalPlanned {}
/// The result of `apply` and `read_data` is the new object. `depose`, `forget` and `record` have no result.
#[derive(Debug)]
pub enum Applied {}
/// The result of `check`: nothing.
#[derive(Debug)]
pub enum Checked {}
/// The result of `provision`: nothing.
#[derive(Debug)]
pub enum Provisioned {}
/// The result of `open_ephemeral`: an open object.
#[derive(Debug)]
pub enum Ephemeral {}

/// A drafted operation.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) operation: Operation<Formula>,
    pub(super) shard: Shard,
    pub(super) waits: Vec<Origin>,
    pub(super) after: Vec<OperationId>,
    /// Operations that the draft waits for, unless this makes a cycle.
    pub(super) preferred: Vec<Origin>,
}

/// Collects operations for a graph.
///
/// A formula may read the result of an operation that is drafted later. Such an operation has a *reserved* number, from
/// [`Builder::with_reserved`]. [`Builder::reserved`] assigns a reserved number to the operation that is drafted next.
#[derive(Debug, Default)]
pub struct Builder {
    drafts: RefCell<Drafts>,
}

#[derive(Debug, Default)]
struct Drafts {
    /// The drafts by number. `None` for a reserved number that is not assigned to an operation yet.
    rows: Vec<Option<Draft>>,
    /// The reserved number of the next draft, if it has one.
    next: Option<OperationId>,
    /// The first misused number: no operation was drafted with this number, or two were.
    misused: Option<OperationId>,
}

impl Drafts {
    fn add(&mut self, draft: Draft) -> OperationId {
        let Some(id) = self.next.take() else {
            self.rows.push(Some(draft));
            return OperationId(
                u32::try_from(self.rows.len() - 1).expect("drafts are fewer than the bytes of memory that they take"),
            );
        };
        match self.rows.get_mut(id.0 as usize) {
            Some(free @ None) => *free = Some(draft),
            Some(Some(_)) | None => drop(self.misused.get_or_insert(id)),
        }
        id
    }

    /// Changes a draft. A number without a draft is a bug in the caller, which [`Builder::finish`] reports.
    fn change(&mut self, id: OperationId, change: impl FnOnce(&mut Draft)) {
        match self.rows.get_mut(id.0 as usize) {
            Some(Some(draft)) => change(draft),
            Some(None) | None => drop(self.misused.get_or_insert(id)),
        }
    }
}

impl Builder {
    /// A builder without operations.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// A builder whose numbers below `count` are reserved.
    pub fn with_reserved(count: u32) -> Builder {
        let builder = Builder::new();
        builder.drafts.borrow_mut().rows.resize_with(count as usize, || None);
        builder
    }

    /// Assigns the reserved number `id` to the operation that is drafted next.
    pub fn reserved(&self, id: OperationId) -> &Builder {
        self.drafts.borrow_mut().next = Some(id);
        self
    }

    fn add(&self, operation: Operation<Formula>, shard: Shard, waits: Option<Origin>) -> OperationId {
        let draft =
            Draft { operation, shard, waits: waits.into_iter().collect(), after: Vec::new(), preferred: Vec::new() };
        self.drafts.borrow_mut().add(draft)
    }

    /// All drafts. The error names the first wrong number.
    pub(super) fn into_drafts(self) -> Result<Vec<Draft>, FinishError> {
        let drafts = self.drafts.into_inner();
        if let Some(id) = drafts.misused {
            return Err(FinishError::Misused { operation: id.0 });
        }
        if let Some(missing) = drafts.rows.iter().position(Option::is_none) {
            return Err(FinishError::NotDrafted { operation: u32::try_from(missing).unwrap_or(u32::MAX) });
        }
        // Collected in place, because there may be millions of drafts.
        Ok(drafts.rows.into_iter().flatten().collect())
    }

    /// The number of operations drafted so far.
    pub fn len(&self) -> usize {
        self.drafts.borrow().rows.iter().flatten().count()
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

    /// Drafts an `open_provider` outside the shard of its instance: at home, or anywhere for built-in providers. The
    /// operations that use the provider must also be in `shard`.
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
        let (provider, record) = (provider.id, Box::new(record));
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
        let (previous, object) = (previous.map(Box::new), object.map(Box::new));
        let operation = Operation::Record { address, previous, object, provider };
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

    /// Adds a deprecation message to an output. The message is stored with the output.
    pub fn deprecate_output(&self, output: Ref<Evaluated>, notice: String) {
        self.drafts.borrow_mut().change(output.id, |draft| {
            if let Operation::Output { deprecated, .. } = &mut draft.operation {
                *deprecated = Some(notice);
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

    /// Drafts a `provision` on the user's machine.
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

    /// Drafts an `open_ephemeral`. [`Builder::finish`] copies it, with a `close_ephemeral`, into each shard that reads
    /// the object or another instance of its resource. Objects without readers are dropped.
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

    /// Makes `later` wait for `earlier`, although `later` reads nothing from `earlier`.
    ///
    /// `later` must have been drafted. Otherwise the caller has a bug, which [`Builder::finish`] reports.
    pub fn order(&self, earlier: OperationId, later: OperationId) {
        self.drafts.borrow_mut().change(later, |draft| draft.after.push(earlier));
    }

    /// Makes `operation`, which must have been drafted, wait for everything in `origin` too.
    pub fn wait(&self, operation: OperationId, origin: Option<Origin>) {
        self.drafts.borrow_mut().change(operation, |draft| draft.waits.extend(origin));
    }

    /// Makes `operation` wait for the operations in `origin`, unless this makes a cycle. `operation` must have been
    /// drafted, and the operations in `origin` must be tracked.
    pub fn prefer(&self, operation: OperationId, origin: Option<Origin>) {
        self.drafts.borrow_mut().change(operation, |draft| draft.preferred.extend(origin));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(builder: &Builder) -> OperationId {
        builder.evaluate(SmolStr::new("local.x"), Formula::constant(Value::int(1)), None).id()
    }

    #[test]
    fn reserved_numbers_are_taken_in_any_order() {
        let builder = Builder::with_reserved(2);
        assert_eq!(evaluate(&builder), OperationId(2));
        assert_eq!(evaluate(builder.reserved(OperationId(1))), OperationId(1));
        assert_eq!(evaluate(builder.reserved(OperationId(0))), OperationId(0));
        builder.order(OperationId(0), OperationId(1));
        assert!(builder.into_drafts().is_ok_and(|drafts| drafts.len() == 3));
    }

    #[test]
    fn a_number_without_a_draft_is_an_error() {
        let promised = Builder::with_reserved(1);
        assert_eq!(promised.into_drafts().err(), Some(FinishError::NotDrafted { operation: 0 }));
        let twice = Builder::with_reserved(1);
        evaluate(twice.reserved(OperationId(0)));
        evaluate(twice.reserved(OperationId(0)));
        assert_eq!(twice.into_drafts().err(), Some(FinishError::Misused { operation: 0 }));
        for wrong in [
            |builder: &Builder| builder.order(OperationId(0), OperationId(7)),
            |builder: &Builder| {
                builder.wait(OperationId(7), None);
            },
        ] {
            let builder = Builder::new();
            evaluate(&builder);
            wrong(&builder);
            assert_eq!(builder.into_drafts().err(), Some(FinishError::Misused { operation: 7 }));
        }
    }
}
