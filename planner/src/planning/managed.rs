//! Managed resource instances: from what is desired and what is there to an action and its operations.

use weft_evaluator::glue::DesiredInstance;
use weft_expressions::resource_rules::{ignore_changes, prior_for_ignoring_all};
use weft_graph_format::address::{DeposedKey, ProviderInstance, ResourceInstance};
use weft_graph_format::changes::{ChangeAction, Reason, ResourceChange};
use weft_graph_format::codec::json;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::{Action, StateRecord};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::value::Value;
use weft_providers::Provider;
use weft_providers::call::MoveRequest;
use weft_state::{InstanceObject, Opaque, RawJson};

use super::changing::{Target, planned_result};
use super::proposal::Accepted;
use super::{DeleteKind, Planning, Problems, without_provenance};
use crate::decide::{self, Pressure, ReplaceOrder};
use crate::diagnostics::{call_failed, in_block, placed};
use crate::prior::{Prior, marks_for, raw_state, read_prior, sensitive_marks, with_schema_marks};
use crate::providers::InUse;

impl Planning {
    /// Plans, destroys or looks at a desired instance, as the kind of the plan has it.
    ///
    /// What that needs is put on the heap when there is a provider for it: thousands may wait for one, each with little.
    pub(crate) async fn look_after(&self, desired: DesiredInstance) -> Result<Value, Problems> {
        let in_use = self.providers.open(&desired.provider).await?;
        self.report_all(in_use.warnings.clone());
        match (self.options.destroy, self.options.refresh_only) {
            (true, _) => Box::pin(self.destroy_managed(desired, in_use)).await,
            (false, true) => Box::pin(self.refresh_managed(desired, in_use)).await,
            (false, false) => Box::pin(self.plan_managed(desired, in_use)).await,
        }
    }

    /// Decides what happens to a desired instance and drafts it. Gives the value that others see.
    async fn plan_managed(&self, desired: DesiredInstance, in_use: InUse<'_>) -> Result<Value, Problems> {
        let text = desired.address.to_string();
        let schema = desired.schema.clone();
        let _body = &desired.block.body;
        let provider = &in_use.provider;
        let prior = self.prior_of(&desired, provider).await?;

        let Accepted { config, marks: config_marks, plain } = self.accepted(&desired, provider).await?;

        let before = prior.as_ref().map_or_else(|| Value::null(plain.ty()), |p| p.value.clone());
        let before_bare = before.unmark_deep().0;
        let tainted = prior.as_ref().is_some_and(|p| p.tainted) && !before.is_null();
        let lifecycle = &desired.block.lifecycle;
        let ignored_paths: Vec<Path> = lifecycle.ignore_changes.iter().map(|(p, _)| p.clone()).collect();
        let ignoring = lifecycle.ignore_all || !ignored_paths.is_empty();
        let ignored = |config: &Value| {
            if !ignoring {
                return config.clone();
            }
            if lifecycle.ignore_all {
                return ignore_changes(config, &prior_for_ignoring_all(&schema.block, &before_bare), None);
            }
            ignore_changes(config, &before_bare, Some(&ignored_paths))
        };

        let private = prior.as_ref().map(|p| p.private.clone()).unwrap_or_default();
        // A tainted object is replaced whatever it is, so the plan is that of a create from the start.
        let proposal = match tainted {
            true => self.propose(provider, &desired, &Value::null(plain.ty()), &plain, Vec::new()).await?,
            false => self.propose(provider, &desired, &before_bare, &ignored(&plain), private.clone()).await?,
        };
        let marks = marks_for(&proposal.planned, &config_marks, &schema);
        let after = proposal.planned.mark_paths(&marks);
        let mut triggered = false;
        for trigger in &desired.triggers {
            triggered = self.fires(trigger).map_err(|problem| vec![problem])?;
            if triggered {
                break;
            }
        }
        let pressure = Pressure { tainted, requested: self.replace.contains(&desired.address), triggered };
        // What depends on it and is replaced that way demands it, whatever the block itself says.
        let create_first = desired.create_first || lifecycle.create_before_destroy == Some(true);
        let order = match (create_first, self.is_left_alone(&desired.address, prior.as_ref().map(|p| &p.record))) {
            (_, Some(_)) => ReplaceOrder::ForgetOld,
            (true, None) => ReplaceOrder::CreateFirst,
            (false, None) => ReplaceOrder::DestroyFirst,
        };
        let (action, reason) = match decide::action(&before, &after, &proposal.replace, pressure, order) {
            (action, reason) if action.is_no_op() && prior.as_ref().is_some_and(|p| p.lacks_marks) => {
                (ChangeAction::Only(Action::Update), reason)
            }
            decided => decided,
        };
        if action.is_replace() {
            self.heed_protection(&desired.address, "replaced");
        }
        let full =
            if ignoring && !action.is_replace() { ignored(&desired.config.unmark_deep().0) } else { config.clone() };
        let kept = prior.as_ref().filter(|_| !action.is_replace());
        let record = StateRecord {
            schema_version: schema.version,
            dependencies: desired.dependencies.to_vec(),
            create_before_destroy: create_first,
            skip_destroy: lifecycle.destroy == Some(false),
            identity: kept.and_then(|p| p.record.identity.clone()),
            identity_schema_version: kept.map_or(0, |p| p.record.identity_schema_version),
        };
        let target = Target { desired: &desired, record, full, prior: prior.as_ref() };
        let again = action.is_replace() && !tainted;
        let replace_paths = if again { proposal.replace.clone() } else { Vec::new() };
        let (proposal, after) = if again {
            let null = Value::null(plain.ty());
            let again = self.propose(provider, &desired, &null, &plain, Vec::new()).await?;
            let marks = marks_for(&again.planned, &config_marks, &schema);
            let after = again.planned.mark_paths(&marks);
            (again, after)
        } else {
            (proposal, after)
        };
        let importing = self.importing(&desired, provider).await?;
        drop(in_use);
        // One of two equal objects is enough to keep.
        let after = if action.is_no_op() { before.clone() } else { after };
        // The second plan of a replacement is shown as it came: what the schema calls sensitive is told by whoever shows
        // it.
        let shown = match again {
            true => proposal.planned.mark_paths(&sensitive_marks(&config_marks)),
            false => after.clone(),
        };
        self.changes.lock().push(ResourceChange {
            address: desired.address.clone(),
            previous_address: self.previous(&desired.address).cloned(),
            deposed: None,
            provider: desired.provider.clone(),
            action,
            reason,
            before: without_provenance(&before),
            after: without_provenance(&shown),
            replace_paths,
            importing,
            before_record: prior.as_ref().map(|p| p.record.clone()),
            schema_version: schema.version,
        });
        if !action.is_no_op() {
            self.note_pending(&desired.address);
            let altered = (before.clone(), after.clone());
            self.altered.lock().entry(desired.address.all()).or_default().insert(desired.address.clone(), altered);
        }
        self.note_dependencies(&desired, action);
        self.plan_deposed(&desired, prior.as_ref()).await?;
        if !action.is_no_op() {
            self.move_first(&desired.address, prior.as_ref(), &desired.provider);
        }
        let operation = match action {
            ChangeAction::Only(Action::NoOp) => {
                self.note_record(&target, &before);
                self.claim(text, false);
                return Ok(with_schema_marks(&before, &schema));
            }
            ChangeAction::Only(Action::Create) => self.draft_create(&target, &proposal, &after, None),
            ChangeAction::Only(Action::Update) => self.draft_update(&target, &proposal, &after),
            ChangeAction::ForgetThenCreate => {
                let forget = self.draft_forget(&desired.address, None, prior.as_ref());
                self.builder.wait(forget, self.waits(&target));
                self.draft_create(&target, &proposal, &after, Some(forget))
            }
            ChangeAction::DeleteThenCreate => {
                let delete = self.draft_delete(
                    &desired.address,
                    None,
                    &desired.provider,
                    prior.as_ref(),
                    DeleteKind::BeforeCreate,
                    &[],
                );
                self.draft_create(&target, &proposal, &after, delete)
            }
            ChangeAction::CreateThenDelete => {
                let key = self.deposed_key(&desired.address);
                let shard = Self::shard(&desired.provider);
                let depose = self.builder.depose(desired.address.clone(), key.clone(), shard);
                self.builder.wait(depose.id(), self.waits(&target));
                let depose = self.applied(&desired.provider, depose);
                let create = self.draft_create(&target, &proposal, &after, Some(depose));
                let delete = self.draft_delete(
                    &desired.address,
                    Some(key),
                    &desired.provider,
                    prior.as_ref(),
                    DeleteKind::AfterCreate,
                    &[],
                );
                if let Some(delete) = delete {
                    self.builder.order(create, delete);
                    if let Some(created) = self.created.lock().get_mut(&desired.address) {
                        created.replaced = Some(delete);
                    }
                }
                create
            }
            ChangeAction::Only(_) => return Ok(before),
        };
        self.claim(text, true);
        Ok(planned_result(&after, operation, proposal.legacy))
    }

    /// In a plan to destroy, a desired instance is deleted, and others see what it was.
    async fn destroy_managed(&self, desired: DesiredInstance, in_use: InUse<'_>) -> Result<Value, Problems> {
        let prior = self.prior_of(&desired, &in_use.provider).await?;
        let unknown = || Value::unknown(desired.schema.block.implied_type());
        self.plan_deposed(&desired, prior.as_ref()).await?;
        if prior.as_ref().is_none_or(|prior| prior.tainted || prior.value.is_null()) {
            // Were it not to go it would be made, and what reads of it would wait for that.
            self.altered.lock().entry(desired.address.all()).or_default();
        }
        let Some(prior) = prior else { return Ok(unknown()) };
        let operation = self
            .plan_delete(
                &desired.address,
                None,
                &desired.provider,
                &in_use.provider,
                &desired.schema,
                &prior,
                Reason::None,
            )
            .await?;
        if prior.value.is_null() {
            // Somebody took it away. Configurations of providers may still speak of it; nothing else is carried out.
            return Ok(unknown());
        }
        let seen = with_schema_marks(&prior.value, &desired.schema);
        Ok(match operation {
            Some(operation) => seen.add_origin(Some(&Origin::before_delete(operation))),
            None => seen,
        })
    }

    /// Deletes what is left of earlier replacements of the object `current`.
    async fn plan_deposed(&self, desired: &DesiredInstance, current: Option<&Prior>) -> Result<(), Problems> {
        let Some(stored) = self.stored(&desired.address) else { return Ok(()) };
        let deposed: Vec<_> = stored.record.deposed.clone().into_iter().collect();
        if !deposed.is_empty() {
            self.move_first(&desired.address, current, &desired.provider);
        }
        for (key, object) in deposed {
            let in_use = self.providers.open(&desired.provider).await?;
            let (prior, said) = read_prior(
                &desired.address,
                &object,
                &desired.schema,
                &in_use.provider,
                self.options.refresh,
                self.meta(&desired.address, &desired.provider.source),
                &self.watch,
            )
            .await?;
            self.report_all(said);
            let key = DeposedKey(key.as_str().into());
            self.plan_delete(
                &desired.address,
                Some(key),
                &desired.provider,
                &in_use.provider,
                &desired.schema,
                &prior,
                Reason::None,
            )
            .await?;
        }
        Ok(())
    }

    /// What the state that was planned from says an instance depends on: for one that nothing happens to, what the
    /// configuration says; for any other what the stored object says too, until it is written. Of an object that is being
    /// imported state says nothing.
    fn note_dependencies(&self, desired: &DesiredInstance, action: ChangeAction) {
        let mut refreshed = self.refreshed.lock();
        let Some(found) = refreshed.get_mut(&desired.address) else { return };
        let stored = self.stored(&desired.address).is_some();
        let mut names = if stored || action.is_no_op() { desired.dependencies.to_vec() } else { Vec::new() };
        if !action.is_no_op() {
            names.extend(found.record.dependencies.iter().cloned());
            names.sort();
            names.dedup();
        }
        found.record.dependencies = names;
    }

    /// The present object, looked at; none when state has none.
    pub(crate) async fn prior_of(
        &self,
        desired: &DesiredInstance,
        provider: &Provider,
    ) -> Result<Option<Prior>, Problems> {
        let Some(object) = self.stored(&desired.address).and_then(|s| s.record.current.clone()) else {
            return match &desired.import {
                Some(wish) => self.import(desired, wish, provider).await.map(Some),
                None => Ok(None),
            };
        };
        let body = &desired.block.body;
        let object = match self.previous(&desired.address) {
            Some(previous) if previous.resource.type_name != desired.address.resource.type_name => {
                self.with_new_type(desired, previous, object, provider).await?
            }
            _ => object,
        };
        let meta = self.meta(&desired.address, &desired.provider.source);
        let (prior, said) =
            read_prior(&desired.address, &object, &desired.schema, provider, self.options.refresh, meta, &self.watch)
                .await
                // What the store alone is to blame for has no place.
                .map_err(|problems| {
                    let placed = |p: Diagnostic| if p.address.is_none() { p } else { in_block(p, body) };
                    problems.into_iter().map(placed).collect::<Vec<_>>()
                })?;
        self.report_all(said);
        self.note_drift(&desired.address, &desired.provider, &prior, desired.schema.version);
        self.refreshed.lock().insert(desired.address.clone(), prior.clone());
        Ok(Some(prior))
    }

    /// Asks the provider to turn a stored object of another type into one of this type.
    async fn with_new_type(
        &self,
        desired: &DesiredInstance,
        previous: &ResourceInstance,
        object: InstanceObject,
        provider: &Provider,
    ) -> Result<InstanceObject, Problems> {
        let text = desired.address.to_string();
        let body = &desired.block.body;
        let source = self.stored(&desired.address).and_then(|s| s.record.provider.parse::<ProviderInstance>().ok());
        let failed = |detail: String| {
            vec![
                Diagnostic::error("Unable to Move Resource State", detail)
                    .about(text.as_str())
                    .at(desired.block.range.clone()),
            ]
        };
        let schema = provider.schema().await.map_err(|e| vec![call_failed(&e, Some(body), &text)])?;
        if !schema.move_resource_state {
            return Err(failed(format!(
                "{previous} cannot become {text}: the provider {} does not move objects between types.",
                desired.provider.source.for_display()
            )));
        }
        let request = MoveRequest {
            source_provider: source.unwrap_or_else(|| desired.provider.clone()).source.to_string(),
            source_type_name: previous.resource.type_name.clone(),
            source_schema_version: object.schema_version,
            source_state: raw_state(&object),
            source_private: object.private.0.clone(),
            source_identity: object
                .identity
                .as_ref()
                .map(|identity| (identity.as_str().as_bytes().to_vec(), object.identity_schema_version)),
            target_type_name: desired.address.resource.type_name.clone(),
        };
        let reply =
            provider.move_resource_state(request).await.map_err(|e| vec![call_failed(&e, Some(body), &text)])?;
        self.accept(placed(&reply.diagnostics, Some(body), &text))?;
        let moved = reply.value;
        if moved.state.is_null() || !moved.state.is_wholly_known() {
            return Err(failed(format!("The provider gave no whole object of the new type for {text}.")));
        }
        let encoded = json::encode(&moved.state.unmark_deep().0, &desired.schema.block.implied_type());
        let attributes = encoded.map_err(|error| failed(format!("What the provider made of {previous}: {error}.")))?;
        Ok(InstanceObject {
            private: Opaque(moved.private),
            dependencies: object.dependencies,
            create_before_destroy: object.create_before_destroy,
            skip_destroy: object.skip_destroy,
            tainted: object.tainted,
            ..InstanceObject::new(desired.schema.version, RawJson::new(attributes))
        })
    }

    pub(crate) fn note_drift(
        &self,
        address: &ResourceInstance,
        provider: &ProviderInstance,
        prior: &Prior,
        schema_version: u64,
    ) {
        let other_type = |previous: &ResourceInstance| previous.resource.type_name != address.resource.type_name;
        // A plan to destroy begins with what looking at the objects found.
        if self.options.destroy
            || prior.stored.same_unmarked(&prior.value)
            || self.previous(address).is_some_and(other_type)
        {
            return;
        }
        let gone = prior.value.is_null();
        self.drift.lock().push(ResourceChange {
            address: address.clone(),
            previous_address: self.previous(address).cloned(),
            deposed: None,
            provider: provider.clone(),
            action: ChangeAction::Only(if gone { Action::Delete } else { Action::Update }),
            reason: Reason::None,
            before: prior.stored.clone(),
            after: prior.value.clone(),
            replace_paths: Vec::new(),
            importing: None,
            before_record: Some(prior.record.clone()),
            schema_version,
        });
    }
}
