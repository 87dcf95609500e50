//! Operations of a create, an update or a replacement.

use smol_str::SmolStr;
use weft_graph_format::address::{ProviderInstance, ResourceInstance};
use weft_graph_format::graph::{Action, Applied, OperationId, Ref};
use weft_graph_format::origin::Origin;

use super::leave::Going;
use super::{Drafting, shard};
use crate::instance::planned::{Change, OldObject};
use crate::instance::prior::Prior;
use crate::whole::order::DeleteKind;

/// What a create or an update has to do with other objects.
struct Dependencies {
    /// What it depends on, before or after.
    names: Vec<SmolStr>,
    /// What it depended on before.
    before: Vec<SmolStr>,
}

impl Dependencies {
    fn of(change: &Change) -> Dependencies {
        let before = change.prior.as_ref().map(|prior| prior.record.dependencies.clone()).unwrap_or_default();
        let mut names: Vec<_> = change.planned.record.dependencies.iter().chain(&before).cloned().collect();
        names.sort();
        names.dedup();
        Dependencies { names, before }
    }
}

impl Drafting<'_> {
    /// Drafts a create, an update or a replacement, with the provisioners that follow a create.
    pub(super) fn change(
        &mut self,
        address: &ResourceInstance,
        instance: &ProviderInstance,
        result: OperationId,
        mut change: Change,
    ) {
        let old = std::mem::replace(&mut change.old, OldObject::Same);
        let waits = Origin::union(
            [change.waits.clone(), self.after_configuration(instance), self.after_move(address)].into_iter().flatten(),
        );
        let prior = change.prior.clone();
        let dependencies = Dependencies::of(&change);
        let mut replaced = None;
        match (old, prior) {
            (OldObject::Forgotten, prior) => {
                let forget = self.forget_object(address, None, prior.as_ref(), None);
                self.builder.wait(forget, waits.clone());
                let apply = self.planned_object(address, instance, result, change, waits);
                self.builder.order(forget, apply.id());
            }
            (OldObject::DeletedFirst(farewell), Some(prior)) => {
                let going = Going::replaced(address, instance, &prior, None, DeleteKind::BeforeCreate);
                let delete = self.delete_object(Going { farewell, ..going });
                let apply = self.planned_object(address, instance, result, change, waits);
                self.builder.order(delete, apply.id());
            }
            (OldObject::DeletedLast(key), Some(prior)) => {
                let depose = self.builder.depose(address.clone(), key.clone(), shard(instance));
                self.builder.wait(depose.id(), waits.clone());
                let depose = self.applied(instance, depose);
                let apply = self.planned_object(address, instance, result, change, waits);
                self.builder.order(depose, apply.id());
                let delete =
                    self.delete_object(Going::replaced(address, instance, &prior, Some(key), DeleteKind::AfterCreate));
                self.builder.order(apply.id(), delete);
                replaced = Some(delete);
            }
            (OldObject::Same, _) | (OldObject::DeletedFirst(_) | OldObject::DeletedLast(_), None) => {
                self.planned_object(address, instance, result, change, waits);
            }
        }
        self.provisions_of(address, result, replaced, &dependencies);
    }

    /// The operations that make an object what is planned.
    fn planned_object(
        &mut self,
        address: &ResourceInstance,
        instance: &ProviderInstance,
        result: OperationId,
        change: Change,
        waits: Option<Origin>,
    ) -> Ref<Applied> {
        let dependencies = Dependencies::of(&change);
        let Change { config, mut planned, prior, is_forced, .. } = change;
        let is_update = planned.action == Action::Update;
        let create_first = planned.record.create_before_destroy;
        if is_forced && self.destroys_first.contains(address) {
            planned.record.create_before_destroy = false;
        }
        let shard = shard(instance);
        let opened = self.opened(instance);
        let object = prior.filter(|_| is_update).map(|prior: Prior| self.facts.object(address, &prior));
        let prior = object.map(|object| self.builder.prior_state(address.clone(), None, object, shard.clone()));
        let config = self.builder.desired(address.clone(), config, shard.clone(), waits);
        let plan = self.builder.final_plan(address.clone(), opened, prior, Some(config), planned, shard.clone());
        let apply = self.builder.reserved(result).apply(address.clone(), None, plan, shard);
        self.applied(instance, apply);
        self.ordering.changes(result, &address.module, &dependencies.names);
        if !create_first || is_update {
            self.ordering.follows(result, &address.module, &dependencies.before);
        }
        apply
    }

    /// What runs after a create, one after the other, and before the delete of the object that it replaces.
    fn provisions_of(
        &mut self,
        address: &ResourceInstance,
        created: OperationId,
        replaced: Option<OperationId>,
        dependencies: &Dependencies,
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
        self.ordering.changes(earlier, &address.module, &dependencies.names);
    }
}
