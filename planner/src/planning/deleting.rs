//! Objects that go: deleted, or forgotten and left alone.

use weft_graph_format::address::{DeposedKey, ProviderInstance, ResourceInstance};
use weft_graph_format::changes::{ChangeAction, Reason, ResourceChange};
use weft_graph_format::graph::{Action, OperationId, PlannedObject, StateRecord};
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;
use weft_providers::Provider;
use weft_providers::call::PlanRequest;

use super::records::PendingRecord;
use super::{Delete, DeleteKind, Planning, Problems, without_provenance};
use crate::diagnostics::{call_failed, placed};
use crate::prior::Prior;

impl Planning {
    /// Asks the provider about a delete where it wants to be asked, notes the change and drafts it.
    #[allow(clippy::too_many_arguments)]
    pub(crate) async fn plan_delete(
        &self,
        address: &ResourceInstance,
        deposed: Option<DeposedKey>,
        instance: &ProviderInstance,
        provider: &Provider,
        schema: &Schema,
        prior: &Prior,
        reason: Reason,
    ) -> Result<Option<OperationId>, Problems> {
        let text = address.to_string();
        if prior.value.is_null() {
            // Gone already: only state has to learn of it.
            match deposed {
                None => self.records.lock().push(PendingRecord::new(address.clone(), None, instance.clone())),
                Some(key) => {
                    self.move_first(address, None, instance);
                    let operation = self.builder.forget(address.clone(), Some(key)).id();
                    self.builder.wait(operation, self.move_origin(address));
                }
            }
            self.claim(text, true);
            return Ok(None);
        }
        if let Some(why) = self.is_left_alone(address, Some(&prior.record)) {
            let told = reason != Reason::None && why == Reason::DeleteBecauseNoResourceConfig;
            let reason = if told { reason } else { why };
            return Ok(Some(self.plan_forget(address, deposed, instance, schema, prior, reason)));
        }
        if deposed.is_none() {
            self.heed_protection(address, "destroyed");
        }
        let null = Value::null(schema.block.implied_type());
        let mut private = prior.private.clone();
        let plan_destroy = provider.schema().await.map_err(|e| vec![call_failed(&e, None, &text)])?.plan_destroy;
        if plan_destroy {
            let request = PlanRequest {
                address: address.clone(),
                type_name: address.resource.type_name.clone(),
                prior_state: prior.value.unmark_deep().0,
                proposed_new_state: null.clone(),
                config: null.clone(),
                prior_private: private.clone(),
                provider_meta: self.meta(address, &instance.source),
                prior_identity: None,
            };
            let reply = provider.plan_resource_change(request).await.map_err(|e| vec![call_failed(&e, None, &text)])?;
            self.accept(placed(&reply.diagnostics, None, &text))?;
            private = reply.value.planned_private;
        }
        self.changes.lock().push(ResourceChange {
            address: address.clone(),
            previous_address: self.shown_previous(address),
            deposed: deposed.clone(),
            provider: instance.clone(),
            action: ChangeAction::Only(Action::Delete),
            reason,
            before: without_provenance(&prior.value),
            after: null,
            replace_paths: Vec::new(),
            importing: None,
            before_record: Some(prior.record.clone()),
            schema_version: schema.version,
        });
        self.note_pending(address);
        self.move_first(address, deposed.is_none().then_some(prior), instance);
        let operation = self.draft_delete(address, deposed, instance, Some(prior), DeleteKind::Final, &private);
        self.claim(text, true);
        Ok(operation)
    }

    /// Why an object that nobody wants any more is not deleted but left alone; none when it is deleted. A `removed`
    /// block decides before anything else.
    pub(crate) fn is_left_alone(&self, address: &ResourceInstance, record: Option<&StateRecord>) -> Option<Reason> {
        if let Some(removed) = self.removed_block(address) {
            let reason = match record.is_some_and(|record| record.skip_destroy) {
                true => Reason::ForgotBecauseLifecycleDestroyInState,
                false => Reason::DeleteBecauseNoResourceConfig,
            };
            return (removed.destroy != Some(true)).then_some(reason);
        }
        let block = self.blocks.get(&address.config());
        // Looking at an instance that is wanted has brought what the state says of it up to date.
        let current = self.options.destroy && self.options.refresh && self.desired.lock().contains(address);
        match block.and_then(|block| block.lifecycle.destroy) {
            Some(false) => Some(Reason::ForgotBecauseLifecycleDestroyInConfig),
            _ if current => None,
            _ => record.is_some_and(|r| r.skip_destroy).then_some(Reason::ForgotBecauseLifecycleDestroyInState),
        }
    }

    /// Takes an object out of state and leaves it alone.
    pub(crate) fn plan_forget(
        &self,
        address: &ResourceInstance,
        deposed: Option<DeposedKey>,
        instance: &ProviderInstance,
        schema: &Schema,
        prior: &Prior,
        reason: Reason,
    ) -> OperationId {
        self.move_first(address, deposed.is_none().then_some(prior), instance);
        let operation = self.draft_forget(address, deposed.clone(), Some(prior));
        self.changes.lock().push(ResourceChange {
            address: address.clone(),
            previous_address: self.shown_previous(address),
            deposed,
            provider: instance.clone(),
            action: ChangeAction::Only(Action::Forget),
            reason,
            before: without_provenance(&prior.value),
            after: Value::null(schema.block.implied_type()),
            replace_paths: Vec::new(),
            importing: None,
            before_record: Some(prior.record.clone()),
            schema_version: schema.version,
        });
        self.note_pending(address);
        self.claim(address.to_string(), true);
        operation
    }

    /// Drafts a forget.
    pub(crate) fn draft_forget(
        &self,
        address: &ResourceInstance,
        deposed: Option<DeposedKey>,
        prior: Option<&Prior>,
    ) -> OperationId {
        let operation = self.builder.forget(address.clone(), deposed).id();
        self.builder.wait(operation, self.move_origin(address));
        if let Some(prior) = prior {
            self.ordering.lock().goes(operation, &address.module, &prior.record.dependencies);
        }
        operation
    }

    /// Drafts a delete. Empty private data stands for that of the prior object.
    pub(crate) fn draft_delete(
        &self,
        address: &ResourceInstance,
        deposed: Option<DeposedKey>,
        instance: &ProviderInstance,
        prior: Option<&Prior>,
        kind: DeleteKind,
        private: &[u8],
    ) -> Option<OperationId> {
        let prior = prior?;
        let shard = Self::shard(instance);
        let opened = self.opened(instance);
        let object = self.object(address, prior);
        let private = if private.is_empty() { prior.private.clone() } else { private.to_vec() };
        let mut record = prior.record.clone();
        if kind == DeleteKind::BeforeCreate {
            // The identity that is planned is that of the object to come.
            record.identity = None;
        }
        let planned = PlannedObject {
            action: Action::Delete,
            value: Value::null(prior.value.ty()),
            private,
            legacy: false,
            provisioned: false,
            config_known: true,
            record,
            sensitive: Vec::new(),
            lookup: None,
        };
        let state = self.builder.prior_state(address.clone(), deposed.clone(), object, shard.clone());
        let plan = self.builder.final_plan(address.clone(), opened.provider, Some(state), None, planned, shard.clone());
        let farewell = if deposed.is_none() { self.draft_farewell(address, prior) } else { None };
        let apply = self.builder.apply(address.clone(), deposed, plan, shard);
        self.builder.wait(apply.id(), self.provider_origin(instance));
        self.builder.wait(apply.id(), self.move_origin(address));
        let operation = self.applied(instance, apply);
        let first = match farewell {
            Some((first, last)) => {
                self.builder.wait(first, self.move_origin(address));
                self.builder.order(last, operation);
                first
            }
            None => operation,
        };
        let mut ordering = self.ordering.lock();
        let create_first = prior.record.create_before_destroy;
        ordering.delete(address.all(), Delete { first, last: operation, kind, create_first });
        ordering.goes(operation, &address.module, &prior.record.dependencies);
        Some(operation)
    }
}
