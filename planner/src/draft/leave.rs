//! Drafts deletes and forgets.

use weft_graph_format::address::{DeposedKey, ProviderInstance, ResourceInstance};
use weft_graph_format::graph::{Action, OperationId, PlannedObject, PriorObject, StateRecord};
use weft_graph_format::value::Value;

use super::{Drafting, shard};
use crate::agenda::planned::{Leaving, PlannedProvision};
use crate::prior::Prior;
use crate::whole::order::{Delete, DeleteKind};

/// An object to delete.
pub(super) struct Going<'a> {
    pub(super) address: &'a ResourceInstance,
    pub(super) instance: &'a ProviderInstance,
    /// The deposed key, or `None` for the current object.
    pub(super) deposed: Option<DeposedKey>,
    pub(super) prior: &'a Prior,
    /// The provider's private data.
    pub(super) private: Vec<u8>,
    pub(super) kind: DeleteKind,
    /// Provisioners that run before the delete.
    pub(super) farewell: Vec<PlannedProvision>,
    /// The number of the delete, if something refers to it.
    pub(super) result: Option<OperationId>,
}

impl<'a> Going<'a> {
    /// An object that is deleted because it is replaced.
    pub(super) fn replaced(
        address: &'a ResourceInstance,
        instance: &'a ProviderInstance,
        prior: &'a Prior,
        deposed: Option<DeposedKey>,
        kind: DeleteKind,
    ) -> Going<'a> {
        let private = prior.private.clone();
        Going { address, instance, deposed, prior, private, kind, farewell: Vec::new(), result: None }
    }
}

impl Drafting<'_> {
    /// Drafts the delete of an object that is not replaced.
    pub(super) fn delete(
        &mut self,
        address: &ResourceInstance,
        instance: &ProviderInstance,
        result: OperationId,
        leaving: Leaving,
    ) {
        let Leaving { deposed, prior, private, farewell } = leaving;
        let (kind, result) = (DeleteKind::Final, Some(result));
        self.delete_object(Going { address, instance, deposed, prior: &prior, private, kind, farewell, result });
    }

    /// Drafts a delete.
    pub(super) fn delete_object(&mut self, going: Going<'_>) -> OperationId {
        let Going { address, instance, deposed, prior, private, kind, farewell, result } = going;
        let shard = shard(instance);
        let opened = self.opened(instance);
        let object: PriorObject = self.facts.object(address, prior);
        let planned = planned_delete(prior, private, kind);
        let state = self.builder.prior_state(address.clone(), deposed.clone(), object, shard.clone());
        let plan = self.builder.final_plan(address.clone(), opened, Some(state), None, planned, shard.clone());
        let ends = self.farewell(address, farewell);
        let builder = match result {
            Some(number) => self.builder.reserved(number),
            None => &self.builder,
        };
        // A deposed object comes from a replacement that created the new object first.
        let create_first = prior.record.create_before_destroy || deposed.is_some();
        let apply = builder.apply(address.clone(), deposed, plan, shard);
        self.builder.wait(apply.id(), self.after_configuration(instance));
        self.builder.wait(apply.id(), self.after_move(address));
        let operation = self.applied(instance, apply);
        let first = match ends {
            Some((first, last)) => {
                self.builder.wait(first, self.after_move(address));
                self.builder.order(last, operation);
                first
            }
            None => operation,
        };
        let delete = Delete { first, last: operation, kind, create_first };
        self.ordering.delete(address.all(), instance, delete, &prior.record.dependencies);
        operation
    }

    /// Drafts the provisioners before a delete, in order. Returns the first and the last operation.
    fn farewell(
        &mut self,
        address: &ResourceInstance,
        provisions: Vec<PlannedProvision>,
    ) -> Option<(OperationId, OperationId)> {
        let mut ends: Option<(OperationId, OperationId)> = None;
        for provision in provisions {
            let operation = self.provision(address, provision);
            if let Some((_, earlier)) = ends {
                self.builder.order(earlier, operation);
            }
            ends = Some((ends.map_or(operation, |(first, _)| first), operation));
        }
        ends
    }

    /// Drafts a forget of an object that is not replaced.
    pub(super) fn forget(&mut self, address: &ResourceInstance, result: OperationId, leaving: Leaving) {
        self.forget_object(address, leaving.deposed, Some(&leaving.prior), Some(result));
    }

    /// Drafts a forget.
    pub(super) fn forget_object(
        &mut self,
        address: &ResourceInstance,
        deposed: Option<DeposedKey>,
        prior: Option<&Prior>,
        result: Option<OperationId>,
    ) -> OperationId {
        let builder = match result {
            Some(number) => self.builder.reserved(number),
            None => &self.builder,
        };
        let operation = builder.forget(address.clone(), deposed).id();
        self.builder.wait(operation, self.after_move(address));
        if let Some(prior) = prior {
            self.ordering.goes(operation, &address.module, &prior.record.dependencies);
        }
        operation
    }
}

fn planned_delete(prior: &Prior, private: Vec<u8>, kind: DeleteKind) -> PlannedObject {
    let mut record: StateRecord = prior.record.clone();
    if kind == DeleteKind::BeforeCreate {
        // The planned identity belongs to the new object.
        record.identity = None;
    }
    PlannedObject {
        action: Action::Delete,
        value: Value::null(prior.value.ty()),
        private,
        legacy: false,
        provisioned: false,
        config_known: true,
        record,
        sensitive: Vec::new(),
        lookup: None,
    }
}
