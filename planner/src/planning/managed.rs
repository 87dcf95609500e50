//! Managed resource instances: from what is desired and what is there to an action and its operations.

use weft_evaluator::glue::{DesiredInstance, Trigger};
use weft_expressions::resource_rules::{
    attribute_at, ignore_changes, plan_problems, prior_for_ignoring_all, proposed_new, replace_paths,
    without_write_only,
};
use weft_expressions::symbolic::{explain, replace_formulas};
use weft_graph_format::address::{DeposedKey, ProviderInstance, ResourceInstance};
use weft_graph_format::changes::{ChangeAction, Reason, ResourceChange};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::{Action, OperationId, PlannedObject, PriorObject, StateRecord};
use weft_graph_format::marks::Marks;
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;
use weft_providers::Provider;
use weft_providers::call::{PlanRequest, PlannedChange};

use super::{Delete, DeleteKind, Planning};
use crate::decide::{self, Pressure};
use crate::diagnostics::{call_failed, placed};
use crate::prior::{Prior, read_prior, sensitive_in};

/// The line of a type's description that says how its objects are looked up after a create in doubt.
const LOOKUP_MARKER: &str = "weft: lookup=import \"";

/// A change of state alone, drafted when the plan turns out to be worth applying.
pub(crate) struct PendingRecord {
    address: ResourceInstance,
    object: Option<PriorObject>,
    provider: ProviderInstance,
}

impl PendingRecord {
    /// State is to have this object, or none, under the address.
    pub(crate) fn new(address: ResourceInstance, object: Option<PriorObject>, provider: ProviderInstance) -> Self {
        PendingRecord { address, object, provider }
    }
}

/// What a provider planned, held against the rules.
struct Proposal {
    planned: Value,
    private: Vec<u8>,
    replace: Vec<Path>,
    legacy: bool,
}

type Problems = Vec<Diagnostic>;

impl Planning {
    /// Decides what happens to a desired instance and drafts it. Gives the value that others see.
    pub(crate) async fn plan_managed(&self, desired: DesiredInstance) -> Result<Value, Problems> {
        let text = desired.address.to_string();
        let schema = desired.schema.clone();
        let body = &desired.block.body;
        let in_use = self.providers.open(&desired.provider).await?;
        self.report_all(in_use.warnings.clone());
        let provider = &in_use.provider;
        let prior = self.prior_of(&desired, provider).await?;

        let (config, config_marks) = desired.config.unmark_with_paths();
        let plain = without_provenance(&config);
        let said = provider
            .validate_resource_config(&desired.address.resource.type_name, &plain)
            .await
            .map_err(|e| vec![call_failed(&e, Some(body), &text)])?;
        self.accept(placed(&said, Some(body), &text))?;

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
        let proposal = self.propose(provider, &desired, &before_bare, &ignored(&plain), private.clone()).await?;
        let marks = marks_for(&proposal.planned, &config_marks, &schema);
        let after = proposal.planned.mark_paths(&marks);
        let pressure = Pressure {
            tainted,
            requested: self.replace.contains(&desired.address),
            triggered: !before.is_null() && desired.triggers.iter().any(|t| self.fires(t)),
        };
        let create_first = lifecycle.create_before_destroy.unwrap_or(false)
            || prior.as_ref().is_some_and(|p| p.record.create_before_destroy)
                && lifecycle.create_before_destroy.is_none();
        let (action, reason) = decide::action(&before, &after, &proposal.replace, pressure, create_first);
        if action.is_replace() {
            self.heed_protection(&desired.address, "replaced");
        }
        let full =
            if ignoring && !action.is_replace() { ignored(&desired.config.unmark_deep().0) } else { config.clone() };
        let record = StateRecord {
            schema_version: schema.version,
            dependencies: desired.dependencies.to_vec(),
            create_before_destroy: create_first,
            skip_destroy: lifecycle.destroy == Some(false),
            identity: None,
            identity_schema_version: 0,
        };
        let target = Target { desired: &desired, record, full, prior: prior.as_ref() };
        let replace_paths = if action.is_replace() { proposal.replace.clone() } else { Vec::new() };
        let (proposal, after) = if action.is_replace() {
            let null = Value::null(plain.ty());
            let again = self.propose(provider, &desired, &null, &plain, Vec::new()).await?;
            let marks = marks_for(&again.planned, &config_marks, &schema);
            let after = again.planned.mark_paths(&marks);
            (again, after)
        } else {
            (proposal, after)
        };
        drop(in_use);
        self.changes.lock().push(ResourceChange {
            address: desired.address.clone(),
            previous_address: None,
            deposed: None,
            provider: desired.provider.clone(),
            action,
            reason,
            before: without_provenance(&before),
            after: without_provenance(&after),
            replace_paths,
            before_record: prior.as_ref().map(|p| p.record.clone()),
            schema_version: schema.version,
        });
        if !action.is_no_op() {
            self.pending.lock().insert(desired.address.all(), ());
            let altered = (before.clone(), after.clone());
            self.altered.lock().entry(desired.address.all()).or_default().insert(desired.address.clone(), altered);
        }
        self.plan_deposed(&desired).await?;
        let operation = match action {
            ChangeAction::Only(Action::NoOp) => {
                self.note_record(&target, &before);
                self.claim(text, false);
                return Ok(with_schema_marks(&before, &schema));
            }
            ChangeAction::Only(Action::Create) => self.draft_create(&target, &proposal, &after, None),
            ChangeAction::Only(Action::Update) => self.draft_update(&target, &proposal, &after),
            ChangeAction::DeleteThenCreate | ChangeAction::ForgetThenCreate => {
                let delete = self.draft_delete(
                    &desired.address,
                    None,
                    &desired.provider,
                    prior.as_ref(),
                    DeleteKind::BeforeCreate,
                    &Vec::new(),
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
                    &Vec::new(),
                );
                if let Some(delete) = delete {
                    self.builder.order(create, delete);
                }
                create
            }
            ChangeAction::Only(_) => return Ok(before),
        };
        self.claim(text, true);
        Ok(planned_result(&after, operation, proposal.legacy))
    }

    /// In a plan to destroy, a desired instance is deleted, and others see what it was.
    pub(crate) async fn destroy_managed(&self, desired: DesiredInstance) -> Result<Value, Problems> {
        let in_use = self.providers.open(&desired.provider).await?;
        self.report_all(in_use.warnings.clone());
        let prior = self.prior_of(&desired, &in_use.provider).await?;
        let unknown = || Value::unknown(desired.schema.block.implied_type());
        let Some(prior) = prior.filter(|p| !p.value.is_null()) else {
            // Configurations of providers may still speak of it; nothing else is carried out.
            return Ok(unknown());
        };
        self.plan_deposed(&desired).await?;
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
        let seen = with_schema_marks(&prior.value, &desired.schema);
        Ok(match operation {
            Some(operation) => seen.add_origin(Some(&Origin::before_delete(operation))),
            None => seen,
        })
    }

    /// Deletes what is left of earlier replacements.
    async fn plan_deposed(&self, desired: &DesiredInstance) -> Result<(), Problems> {
        let Some(stored) = self.stored(&desired.address) else { return Ok(()) };
        let deposed: Vec<_> = stored.record.deposed.clone().into_iter().collect();
        for (key, object) in deposed {
            let in_use = self.providers.open(&desired.provider).await?;
            let (prior, said) =
                read_prior(&desired.address, &object, &desired.schema, &in_use.provider, self.options.refresh).await?;
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

    /// The present object, looked at; none when state has none.
    async fn prior_of(&self, desired: &DesiredInstance, provider: &Provider) -> Result<Option<Prior>, Problems> {
        let Some(object) = self.stored(&desired.address).and_then(|s| s.record.current.clone()) else {
            return Ok(None);
        };
        let (prior, said) =
            read_prior(&desired.address, &object, &desired.schema, provider, self.options.refresh).await?;
        self.report_all(said);
        self.note_drift(&desired.address, &desired.provider, &prior, desired.schema.version);
        self.refreshed.lock().insert(desired.address.clone(), prior.clone());
        Ok(Some(prior))
    }

    pub(crate) fn note_drift(
        &self,
        address: &ResourceInstance,
        provider: &ProviderInstance,
        prior: &Prior,
        schema_version: u64,
    ) {
        if prior.stored.same_unmarked(&prior.value) {
            return;
        }
        let gone = prior.value.is_null();
        self.drift.lock().push(ResourceChange {
            address: address.clone(),
            previous_address: None,
            deposed: None,
            provider: provider.clone(),
            action: ChangeAction::Only(if gone { Action::Delete } else { Action::Update }),
            reason: Reason::None,
            before: prior.stored.clone(),
            after: prior.value.clone(),
            replace_paths: Vec::new(),
            before_record: Some(prior.record.clone()),
            schema_version,
        });
    }

    /// Asks the provider what would come of the configuration and holds its answer against the rules.
    async fn propose(
        &self,
        provider: &Provider,
        desired: &DesiredInstance,
        before: &Value,
        config: &Value,
        private: Vec<u8>,
    ) -> Result<Proposal, Problems> {
        let text = desired.address.to_string();
        let body = &desired.block.body;
        let schema = &desired.schema.block;
        let before = without_write_only(schema, before);
        let proposed = proposed_new(schema, &before, config);
        let request = PlanRequest {
            type_name: desired.address.resource.type_name.clone(),
            prior_state: before.clone(),
            proposed_new_state: proposed,
            config: config.clone(),
            prior_private: private,
            provider_meta: None,
            prior_identity: None,
        };
        let reply =
            provider.plan_resource_change(request).await.map_err(|e| vec![call_failed(&e, Some(body), &text)])?;
        self.accept(placed(&reply.diagnostics, Some(body), &text))?;
        let PlannedChange { planned_state, requires_replace, planned_private, legacy_type_system, .. } = reply.value;
        let violations = plan_problems(schema, &before, config, &planned_state);
        if !violations.is_empty() && !legacy_type_system {
            return Err(violations
                .iter()
                .map(|v| {
                    Diagnostic::error(
                        "Provider produced invalid plan",
                        format!(
                            "The provider planned an invalid value for {text}: {v}. This is a defect of the provider."
                        ),
                    )
                    .about(text.as_str())
                    .at(desired.block.range.clone())
                })
                .collect());
        }
        for violation in violations {
            tracing::warn!(%text, "the provider planned a value that does not follow the rules: {violation}");
        }
        let paths = replace_paths(&before, &planned_state, &requires_replace);
        if let Some(problem) = paths.problems.first() {
            return Err(vec![
                Diagnostic::error(
                    "Provider produced invalid plan",
                    format!(
                        "The provider planned an invalid value for {text}: {problem}. This is a defect of the provider."
                    ),
                )
                .about(text.as_str()),
            ]);
        }
        let mut replace = paths.paths;
        // A write-only attribute is null on both sides, so the provider's word is all there is.
        let write_only = |path: &&Path| attribute_at(schema, path).is_some_and(|a| a.write_only);
        if !before.is_null() {
            replace.extend(requires_replace.iter().filter(write_only).cloned());
            replace.sort();
            replace.dedup();
        }
        Ok(Proposal { planned: planned_state, private: planned_private, replace, legacy: legacy_type_system })
    }

    /// Reports what is not an error, and fails with all when something is.
    pub(crate) fn accept(&self, said: Problems) -> Result<(), Problems> {
        if has_errors(&said) {
            return Err(said);
        }
        self.report_all(said);
        Ok(())
    }

    /// Whether what a trigger names changes. Everything that it names is planned already, so the answer for a whole
    /// resource is found once.
    fn fires(&self, trigger: &Trigger) -> bool {
        let differs = |(before, after): &(Value, Value)| {
            if trigger.path.0.is_empty() {
                return true;
            }
            match (before.at_path(&trigger.path), after.at_path(&trigger.path)) {
                (Ok(b), Ok(a)) => !a.is_wholly_known() || !a.same_unmarked(&b),
                (Err(_), Err(_)) => false,
                _ => true,
            }
        };
        if let Some(key) = &trigger.key {
            let address = trigger.resource.instance(key.clone());
            return self.altered.lock().get(&trigger.resource).and_then(|a| a.get(&address)).is_some_and(differs);
        }
        let question = (trigger.resource.clone(), trigger.path.clone());
        if let Some(answer) = self.fired.lock().get(&question) {
            return *answer;
        }
        let answer = self.altered.lock().get(&trigger.resource).is_some_and(|a| a.values().any(differs));
        self.fired.lock().insert(question, answer);
        answer
    }

    /// What the first operation of an instance waits for.
    fn waits(&self, target: &Target<'_>) -> Option<Origin> {
        let desired = target.desired;
        let parts = [desired.waits.clone(), desired.config.deep_origin(), self.provider_origin(&desired.provider)];
        Origin::union(parts.into_iter().flatten())
    }

    fn draft_create(
        &self,
        target: &Target<'_>,
        proposal: &Proposal,
        after: &Value,
        earlier: Option<OperationId>,
    ) -> OperationId {
        self.draft_change(target, proposal, after, Action::Create, earlier)
    }

    fn draft_update(&self, target: &Target<'_>, proposal: &Proposal, after: &Value) -> OperationId {
        self.draft_change(target, proposal, after, Action::Update, None)
    }

    fn draft_change(
        &self,
        target: &Target<'_>,
        proposal: &Proposal,
        after: &Value,
        action: Action,
        earlier: Option<OperationId>,
    ) -> OperationId {
        let desired = target.desired;
        let address = desired.address.clone();
        let shard = Self::shard(&desired.provider);
        let waits = self.waits(target);
        let opened = self.opened(&desired.provider);
        let prior = (action == Action::Update)
            .then(|| {
                target
                    .prior
                    .map(|p| self.builder.prior_state(address.clone(), None, self.object(&address, p), shard.clone()))
            })
            .flatten();
        let is_final = !target.full.deep().formula && target.full.is_wholly_known();
        let config = self.builder.desired(address.clone(), target.full.to_formula(), shard.clone(), waits);
        let (_, marks) = after.unmark_with_paths();
        let planned = PlannedObject {
            action,
            value: without_provenance(&proposal.planned),
            private: proposal.private.clone(),
            legacy: proposal.legacy,
            is_final,
            record: target.record.clone(),
            sensitive: marks.into_iter().filter(|(_, m)| m.is_sensitive()).map(|(p, _)| p).collect(),
            lookup: (action == Action::Create).then(|| lookup(&desired.schema)).flatten(),
        };
        let plan =
            self.builder.final_plan(address.clone(), opened.provider, prior, Some(config), planned, shard.clone());
        let apply = self.builder.apply(address.clone(), None, plan, shard);
        if let Some(earlier) = earlier {
            self.builder.order(earlier, apply.id());
        }
        let operation = self.applied(&desired.provider, apply);
        let mut ordering = self.ordering.lock();
        let before = target.prior.map(|p| p.record.dependencies.as_slice()).unwrap_or_default();
        let mut names: Vec<_> = target.record.dependencies.iter().chain(before).cloned().collect();
        names.sort();
        names.dedup();
        for name in names {
            ordering.changed_dependents.entry(name).or_default().push(operation);
        }
        operation
    }

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
            if deposed.is_none() {
                self.records.lock().push(PendingRecord {
                    address: address.clone(),
                    object: None,
                    provider: instance.clone(),
                });
            }
            self.claim(text, true);
            return Ok(None);
        }
        if deposed.is_none() {
            self.heed_protection(address, "destroyed");
        }
        let null = Value::null(schema.block.implied_type());
        let mut private = prior.private.clone();
        let plan_destroy = provider.schema().await.map_err(|e| vec![call_failed(&e, None, &text)])?.plan_destroy;
        if plan_destroy {
            let request = PlanRequest {
                type_name: address.resource.type_name.clone(),
                prior_state: prior.value.unmark_deep().0,
                proposed_new_state: null.clone(),
                config: null.clone(),
                prior_private: private.clone(),
                provider_meta: None,
                prior_identity: None,
            };
            let reply = provider.plan_resource_change(request).await.map_err(|e| vec![call_failed(&e, None, &text)])?;
            self.accept(placed(&reply.diagnostics, None, &text))?;
            private = reply.value.planned_private;
        }
        self.changes.lock().push(ResourceChange {
            address: address.clone(),
            previous_address: None,
            deposed: deposed.clone(),
            provider: instance.clone(),
            action: ChangeAction::Only(Action::Delete),
            reason,
            before: without_provenance(&prior.value),
            after: null,
            replace_paths: Vec::new(),
            before_record: Some(prior.record.clone()),
            schema_version: schema.version,
        });
        self.pending.lock().insert(address.all(), ());
        let operation = self.draft_delete(address, deposed, instance, Some(prior), DeleteKind::Final, &private);
        self.claim(text, true);
        Ok(operation)
    }

    /// Drafts a delete. Empty private data stands for that of the prior object.
    fn draft_delete(
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
        let planned = PlannedObject {
            action: Action::Delete,
            value: Value::null(prior.value.ty()),
            private,
            legacy: false,
            is_final: true,
            record: prior.record.clone(),
            sensitive: Vec::new(),
            lookup: None,
        };
        let state = self.builder.prior_state(address.clone(), deposed.clone(), object, shard.clone());
        let plan = self.builder.final_plan(address.clone(), opened.provider, Some(state), None, planned, shard.clone());
        let apply = self.builder.apply(address.clone(), deposed, plan, shard);
        self.builder.wait(apply.id(), self.provider_origin(instance));
        let operation = self.applied(instance, apply);
        let mut ordering = self.ordering.lock();
        ordering.deletes.entry(address.config()).or_default().push(Delete { operation, kind });
        for name in &prior.record.dependencies {
            ordering.deleted_dependents.entry(name.clone()).or_default().push(operation);
        }
        Some(operation)
    }

    fn object(&self, address: &ResourceInstance, prior: &Prior) -> PriorObject {
        PriorObject {
            value: without_provenance(&prior.value),
            private: prior.private.clone(),
            tainted: prior.tainted,
            revision: self.stored(address).map_or(0, |s| s.revision.0),
            record: prior.record.clone(),
        }
    }

    /// Notes what state has to learn of an instance that nothing else happens to.
    fn note_record(&self, target: &Target<'_>, before: &Value) {
        let Some(prior) = target.prior else { return };
        let same = prior.stored.same_content(before) && prior.record == target.record;
        if same {
            return;
        }
        let address = target.desired.address.clone();
        let mut object = self.object(&address, prior);
        object.record = StateRecord {
            identity: prior.record.identity.clone(),
            identity_schema_version: prior.record.identity_schema_version,
            ..target.record.clone()
        };
        self.records.lock().push(PendingRecord {
            address,
            object: Some(object),
            provider: target.desired.provider.clone(),
        });
    }

    /// Drafts the changes of state alone.
    pub(crate) fn draft_records(&self) {
        let mut records = std::mem::take(&mut *self.records.lock());
        records.sort_by(|a, b| a.address.cmp(&b.address));
        for record in records {
            self.claim(record.address.to_string(), true);
            self.builder.record(record.address, record.object, record.provider);
        }
    }
}

/// What drafting a change needs to know.
struct Target<'a> {
    desired: &'a DesiredInstance,
    record: StateRecord,
    /// The configuration with formulas, as it is to be computed at apply.
    full: Value,
    prior: Option<&'a Prior>,
}

/// The value without formulas and origins at any level.
pub(crate) fn without_provenance(value: &Value) -> Value {
    let deep = value.deep();
    if !deep.formula && !deep.origin {
        return value.clone();
    }
    value.bare()
}

/// The marks of a planned value: where the configuration has them, and where the schema demands them.
fn marks_for(planned: &Value, config: &[(Path, Marks)], schema: &Schema) -> Vec<(Path, Marks)> {
    sensitive_in(planned, config, &schema.block)
}

pub(crate) fn with_schema_marks(value: &Value, schema: &Schema) -> Value {
    value.mark_paths(&sensitive_in(value, &[], &schema.block))
}

/// What others see of an instance that something happens to: what is not known has formulas, all of it an origin.
pub(crate) fn planned_result(after: &Value, operation: OperationId, legacy: bool) -> Value {
    let result = Formula::result(operation, Path::ROOT, after.ty());
    let value = if legacy { replace_formulas(after, &result) } else { explain(after, &result) };
    value.add_origin(Some(&Origin::after(operation)))
}

/// How objects of a type are looked up, when its description says so.
fn lookup(schema: &Schema) -> Option<String> {
    let line = schema.block.description.lines().find_map(|line| line.trim().strip_prefix(LOOKUP_MARKER))?;
    let (id, rest) = line.split_once('"')?;
    rest.contains("consistency=strong").then(|| id.to_string())
}
