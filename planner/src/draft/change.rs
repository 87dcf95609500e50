//! Drafts creates, updates and replacements.

use smol_str::SmolStr;
use weft_evaluator::selection::Selection;
use weft_graph_format::address::{ProviderInstance, ResourceInstance};
use weft_graph_format::graph::{Action, Applied, OperationId, PlannedObject, Ref};
use weft_graph_format::origin::Origin;

use super::leave::Going;
use super::{Drafting, shard};
use crate::agenda::planned::{Change, OldObject};
use crate::prior::Prior;
use crate::whole::order::DeleteKind;

/// An object that is created or updated.
struct Target<'a> {
    address: &'a ResourceInstance,
    instance: &'a ProviderInstance,
    /// The number of the operation.
    result: OperationId,
    config: weft_graph_format::formula::Formula,
    planned: PlannedObject,
    /// Whether the object is replaced create-first only because dependents require that.
    is_forced: bool,
    /// The dependencies of the object, old and new.
    names: Vec<SmolStr>,
    /// The old dependencies of the object.
    depended: Vec<SmolStr>,
    /// The operations that the first operation on the object waits for.
    waits: Option<Origin>,
}

impl Drafting<'_> {
    /// Drafts a create, an update or a replacement, with the provisioners that follow a create.
    pub(super) fn change(
        &mut self,
        address: &ResourceInstance,
        instance: &ProviderInstance,
        result: OperationId,
        change: Change,
    ) {
        let Change { config, waits, checked, planned, depended, old, is_forced } = change;
        let waits = [waits, self.after_configuration(instance), self.after_move(address)];
        let waits = Origin::union(waits.into_iter().flatten());
        let mut names: Vec<_> = planned.record.dependencies.iter().chain(&depended).cloned().collect();
        names.sort();
        names.dedup();
        let all = names.clone();
        let first = waits.clone();
        let waits = Origin::join(waits.as_ref(), checked.as_ref());
        let target = Target { address, instance, result, config, planned, is_forced, names, depended, waits };
        let mut replaced = None;
        match old {
            OldObject::Nothing => drop(self.make(target, None)),
            OldObject::Updated(prior) => drop(self.make(target, Some(&prior))),
            OldObject::Forgotten(prior) => {
                let forget = self.forget_object(address, None, Some(&prior), None);
                self.builder.wait(forget, first);
                let apply = self.make(target, None);
                self.builder.order(forget, apply.id());
            }
            OldObject::DeletedFirst(prior, farewell) => {
                let going = Going::replaced(address, instance, &prior, None, DeleteKind::BeforeCreate);
                let delete = self.delete_object(Going { farewell, ..going });
                let apply = self.make(target, None);
                self.builder.order(delete, apply.id());
            }
            OldObject::DeletedLast(prior, key) => {
                let depose = self.builder.depose(address.clone(), key.clone(), shard(instance));
                self.builder.wait(depose.id(), first);
                let depose = self.applied(instance, depose);
                let apply = self.make(target, None);
                self.builder.order(depose, apply.id());
                if self.deletes_last(address) {
                    let going = Going::replaced(address, instance, &prior, Some(key), DeleteKind::AfterCreate);
                    let delete = self.delete_object(going);
                    self.builder.order(apply.id(), delete);
                    replaced = Some(delete);
                }
            }
        }
        self.provisions_of(address, result, replaced, &all);
    }

    /// Whether the deposed object of a replacement is deleted. With `-target`, it is deleted only if a target covers
    /// its instance, because no target needs the delete of another instance's deposed object. Otherwise the object
    /// stays, and the next plan deletes it.
    fn deletes_last(&self, address: &ResourceInstance) -> bool {
        match self.facts.selection() {
            Selection::Only(_) => self.facts.selection().covers(address),
            Selection::All | Selection::AllBut(_) => true,
        }
    }

    /// Drafts the operations that apply the planned change. `prior` is the object that is updated.
    fn make(&mut self, target: Target<'_>, prior: Option<&Prior>) -> Ref<Applied> {
        let Target { address, instance, result, config, mut planned, is_forced, names, depended, waits } = target;
        let is_update = planned.action == Action::Update;
        let create_first = planned.record.create_before_destroy;
        if is_forced && self.destroys_first.contains(address) {
            planned.record.create_before_destroy = false;
        }
        let shard = shard(instance);
        let opened = self.opened(instance);
        let object = prior.map(|prior| self.facts.object(address, prior));
        let prior = object.map(|object| self.builder.prior_state(address.clone(), None, object, shard.clone()));
        let config = self.builder.desired(address.clone(), config, shard.clone(), waits);
        let plan = self.builder.final_plan(address.clone(), opened, prior, Some(config), planned, shard.clone());
        let apply = self.builder.reserved(result).apply(address.clone(), None, plan, shard);
        self.applied(instance, apply);
        self.ordering.makes(address, result);
        self.ordering.changes(result, &address.module, &names);
        if !create_first || is_update {
            self.ordering.follows(result, &address.module, &depended);
        }
        apply
    }

    /// Drafts the provisioners of a create, in order. `replaced` is the delete of the replaced object if it comes after
    /// the create: the provisioners run before this delete. `names` are the dependencies of the object.
    fn provisions_of(
        &mut self,
        address: &ResourceInstance,
        created: OperationId,
        replaced: Option<OperationId>,
        names: &[SmolStr],
    ) {
        let Some(provisions) = self.provisions.remove(address) else { return };
        let mut earlier = created;
        for provision in provisions {
            let operation = self.provision(address, provision);
            self.builder.order(earlier, operation);
            earlier = operation;
        }
        if let Some(delete) = replaced {
            self.builder.order(earlier, delete);
        }
        self.ordering.makes(address, earlier);
        self.ordering.changes(earlier, &address.module, names);
    }
}
