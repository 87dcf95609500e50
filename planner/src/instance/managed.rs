//! Plans managed resource instances: asks the provider, decides, and adds the plan.

use weft_evaluator::glue::{DesiredInstance, Managed};
use weft_expressions::resource_rules::has_infinity;
use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_graph_format::changes::ChangeAction;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::StateRecord;
use weft_providers::Provider;

use super::decide::{self, Case, InstancePlan, Pressure, Surroundings, decide};
use super::problems;
use crate::diagnostics::in_block;
use crate::planner::Planner;
use crate::prior::{Prior, without_provenance};
use crate::problems::Problems;
use crate::providers::InUse;

impl Planner {
    /// Plans a desired instance. Returns the value that readers see.
    pub(crate) async fn plan_managed(&self, desired: &DesiredInstance, in_use: InUse<'_>) -> Result<Managed, Problems> {
        let (prior, outcome) = match self.decided(desired, in_use).await {
            Ok(decided) => decided,
            Err(mut problems) => {
                // The deletes of deposed objects do not depend on the current object.
                problems.extend(self.plan_deposed(desired, None).await.err().into_iter().flatten());
                return Err(problems);
            }
        };
        let managed = self.take_managed(desired, prior.as_ref(), outcome).await?;
        // The plan shows the refused change, but nothing that reads the instance.
        if self.report.refuses(&desired.address) { Err(Vec::new()) } else { Ok(managed) }
    }

    /// Reads the object and decides what happens to it.
    async fn decided(
        &self,
        desired: &DesiredInstance,
        in_use: InUse<'_>,
    ) -> Result<(Option<Prior>, InstancePlan), Problems> {
        let (facts, provider) = (&self.facts, &in_use.provider);
        let address = &desired.address;
        let prior = self.prior_of(desired, provider).await?;
        let accepted = self.ask.accepted(desired, provider).await?;
        let case = Case { desired, prior: prior.as_ref(), accepted: &accepted };
        let mut proposal = self.ask.propose(provider, desired, case.proposal_input()).await?;
        let pressure = Pressure {
            tainted: case.is_tainted(),
            requested: facts.options.replace.binary_search(address).is_ok(),
            triggered: self.is_triggered(desired).map_err(|problem| vec![problem])?,
        };
        let left_alone = self.left_alone(address, None, prior.as_ref()).is_some();
        let decision = decide(case, &proposal, pressure, left_alone);
        if decision.action.is_replace() {
            self.heed_protection(address, "replaced");
        }
        if decision.asks_again {
            proposal = self.ask.propose(provider, desired, case.create_input()).await?;
        }
        let importing = match &desired.import {
            Some(wish) if facts.holds_nothing(address) => Some(self.ask.importing(desired, wish, provider).await?),
            _ => None,
        };
        drop(in_use);
        let farewell = match (decision.action, &prior) {
            (ChangeAction::DeleteThenCreate, Some(prior)) => self.farewell(address, prior)?,
            _ => Vec::new(),
        };
        let previous_address = facts.previous(address).cloned();
        let around = Surroundings { previous_address, importing, deposed_key: facts.deposed_key(address), farewell };
        let outcome = decide::plan(case, decision, proposal, around);
        Ok((prior, outcome))
    }

    /// Adds the decision to the plan, with the deletes of deposed objects.
    async fn take_managed(
        &self,
        desired: &DesiredInstance,
        prior: Option<&Prior>,
        mut outcome: InstancePlan,
    ) -> Result<Managed, Problems> {
        let address = &desired.address;
        let action = outcome.change.action;
        if !action.is_no_op() && has_infinity(&outcome.after) {
            // A provider that is called with this object may create it, and then nothing could record it.
            self.agenda().changes.push(outcome.change);
            return Err(vec![problems::infinite(address, &desired.block.range)]);
        }
        if !action.is_no_op() {
            let mut agenda = self.agenda();
            agenda.effects.happens_to(address);
            agenda.effects.alters(address, outcome.before.clone(), outcome.after.clone());
        }
        self.note_dependencies(desired, &mut outcome);
        if let Err(problems) = self.plan_deposed(desired, prior).await {
            // The plan still shows the change of the instance.
            self.agenda().changes.push(outcome.change);
            return Err(problems);
        }
        if action.is_no_op() {
            self.note_kept(desired, prior, &outcome.record, outcome.change.importing.is_some());
            self.agenda().claims.add(address, false);
        } else {
            self.write_first(desired, &outcome.record);
            self.move_first(address, prior, &desired.provider);
        }
        let created = outcome.creates() && desired.block.is_provisioned;
        let (planned, readers) = outcome.split();
        let result = self.agenda().take(planned);
        Ok(Managed { value: readers.see(result, &desired.schema), created })
    }

    /// Plans to write the refreshed or imported object to the state before the change of the object. A refreshed object
    /// is written with the options of its block, so the state has these options even if the change fails or never
    /// starts. An object that no longer exists is removed from the state. An imported object has no options yet.
    /// `record` is the new record of the instance.
    fn write_first(&self, desired: &DesiredInstance, record: &StateRecord) {
        let address = &desired.address;
        let found = self.found();
        let Some(prior) = found.refreshed.get(address).cloned() else { return };
        if prior.value.is_null() {
            // The object was deleted outside of Weft. If its create fails or never starts, the state must not have it.
            drop(found);
            self.agenda().moves.entry(address.clone()).or_insert_with(|| (None, desired.provider.clone()));
            return;
        }
        let imported = found.imported.contains_key(address);
        drop(found);
        if !imported {
            let Some(current) = self.facts.state.current(address) else { return };
            let same = current.dependencies.iter().eq(&prior.record.dependencies)
                && current.create_before_destroy == record.create_before_destroy
                && current.skip_destroy == record.skip_destroy
                && prior.stored.same_content(&prior.value);
            if same {
                return;
            }
        }
        let object = self.facts.object(address, &prior);
        self.agenda().moves.entry(address.clone()).or_insert_with(|| (Some(object), desired.provider.clone()));
    }

    /// Whether a `replace_triggered_by` reference changes.
    fn is_triggered(&self, desired: &DesiredInstance) -> Result<bool, Diagnostic> {
        for trigger in &desired.triggers {
            let (resource, managed) = (&trigger.resource, trigger.resource.resource.mode == ResourceMode::Managed);
            let there = managed && {
                let evaluated = self.evaluated();
                match &trigger.key {
                    Some(key) => {
                        let address = resource.instance(key.clone());
                        evaluated.desired.contains(&address) || self.facts.state.get(&address).is_some()
                    }
                    None => {
                        evaluated.resources.get(resource).is_some_and(|expansion| !expansion.keys.is_empty())
                            || self.facts.state.of_resource(resource).next().is_some()
                    }
                }
            };
            if self.agenda().effects.fires(trigger, || there)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Updates the dependencies and the options of the block in the prior state. An unchanged instance gets the
    /// dependencies from the configuration. A changing instance keeps its stored dependencies until it is written. If
    /// it was refreshed, those from the configuration are added to the stored ones. An imported object has no stored
    /// dependencies yet.
    fn note_dependencies(&self, desired: &DesiredInstance, outcome: &mut InstancePlan) {
        let action = outcome.change.action;
        let is_stored = self.facts.state.get(&desired.address).is_some();
        let refreshed = self.ask.refresh && is_stored;
        let mut found = self.found();
        let Some(prior) = found.refreshed.get_mut(&desired.address) else { return };
        let mut names = if refreshed || action.is_no_op() { desired.dependencies.to_vec() } else { Vec::new() };
        if !action.is_no_op() {
            names.extend(prior.record.dependencies.iter().cloned());
            names.sort();
            names.dedup();
        }
        outcome.needs_until_changed(&names);
        prior.record.dependencies = names;
        if is_stored {
            prior.record.create_before_destroy = outcome.record.create_before_destroy;
            prior.record.skip_destroy = outcome.record.skip_destroy;
        }
    }

    /// Records an update of the state for an instance that does not change otherwise. `record` is the new record of the
    /// instance.
    fn note_kept(&self, desired: &DesiredInstance, prior: Option<&Prior>, record: &StateRecord, imported: bool) {
        let (address, Some(prior)) = (&desired.address, prior) else { return };
        let owner = self.facts.state.get(address).and_then(|stored| stored.provider().ok().cloned());
        let moved = self.facts.previous(address).is_some() && !self.agenda().moves.contains_key(address);
        if owner.as_ref() == Some(&desired.provider) && !moved && prior.is_stored_as(record) {
            return;
        }
        let mut object = self.facts.object(address, prior);
        // Nothing changes, so the object needs exactly the marks that the configuration and the schema require.
        // `Prior::located` has these marks. It does not have the marks for lost paths.
        object.value = without_provenance(prior.located());
        object.record = StateRecord {
            identity: prior.record.identity.clone(),
            identity_schema_version: prior.record.identity_schema_version,
            ..record.clone()
        };
        // An imported object without changes is first stored as it was read. Its dependencies are written later.
        if object.record.dependencies.is_empty() && imported {
            object.record.create_before_destroy = false;
            object.record.skip_destroy = false;
        }
        self.note_record(address, Some(object), &desired.provider);
    }

    /// The current object, as it was read. `None` if the state has no current object.
    pub(crate) async fn prior_of(
        &self,
        desired: &DesiredInstance,
        provider: &Provider,
    ) -> Result<Option<Prior>, Problems> {
        let address = &desired.address;
        let Some(stored) = self.facts.state.get(address) else { return self.imported(desired, provider).await };
        let Some(object) = stored.instance.record.current.clone() else {
            return self.imported(desired, provider).await;
        };
        let other_type = |previous: &&ResourceInstance| previous.resource.type_name != address.resource.type_name;
        let object = match self.facts.previous(address).filter(other_type) {
            Some(previous) => {
                let owner = stored.provider().unwrap_or(&desired.provider);
                self.ask.with_new_type(desired, previous, object, owner, provider).await?
            }
            None => object,
        };
        let through = (&desired.provider, provider);
        let read = self.ask.read(address.into(), &object, &desired.schema, through, self.ask.refresh).await;
        let prior = read.map_err(|problems| {
            // A problem of the state alone has no source range.
            let places = &desired.block.places;
            let placed = |p: Diagnostic| if p.address.is_none() { p } else { in_block(p, places) };
            problems.into_iter().map(placed).collect::<Vec<_>>()
        })?;
        self.note_drift(address, &desired.provider, &prior, desired.schema.version);
        self.found().refreshed.insert(address.clone(), prior.clone());
        Ok(Some(prior))
    }

    /// The object that an `import` block names, for an instance without a stored object.
    async fn imported(&self, desired: &DesiredInstance, provider: &Provider) -> Result<Option<Prior>, Problems> {
        let Some(wish) = &desired.import else { return Ok(None) };
        let prior = self.ask.import(desired, wish, provider).await?;
        let mut found = self.found();
        found.refreshed.insert(desired.address.clone(), prior.clone());
        found.imported.insert(desired.address.clone(), desired.provider.clone());
        Ok(Some(prior))
    }
}
