//! Operations of a create or an update.

use weft_evaluator::glue::DesiredInstance;
use weft_expressions::symbolic::{explain, replace_formulas};
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::{Action, OperationId, PlannedObject, StateRecord};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;

use super::proposal::Proposal;
use super::provisioning::Created;
use super::{Planning, without_provenance};
use crate::prior::Prior;

/// The line of a type's description that says how its objects are looked up after a create in doubt.
const LOOKUP_MARKER: &str = "weft: lookup=import \"";

/// What drafting a change needs to know.
pub(crate) struct Target<'a> {
    pub(crate) desired: &'a DesiredInstance,
    pub(crate) record: StateRecord,
    /// The configuration with formulas, as it is to be computed at apply.
    pub(crate) full: Value,
    pub(crate) prior: Option<&'a Prior>,
}

impl Planning {
    /// What the first operation of an instance waits for.
    pub(crate) fn waits(&self, target: &Target<'_>) -> Option<Origin> {
        let desired = target.desired;
        let parts = [
            desired.waits.clone(),
            desired.config.deep_origin(),
            self.provider_origin(&desired.provider),
            self.move_origin(&desired.address),
        ];
        Origin::union(parts.into_iter().flatten())
    }

    pub(crate) fn draft_create(
        &self,
        target: &Target<'_>,
        proposal: &Proposal,
        after: &Value,
        earlier: Option<OperationId>,
    ) -> OperationId {
        self.draft_change(target, proposal, after, Action::Create, earlier)
    }

    pub(crate) fn draft_update(&self, target: &Target<'_>, proposal: &Proposal, after: &Value) -> OperationId {
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
        let provisioned =
            action == Action::Create && desired.block.provisioners.iter().any(|provisioner| !provisioner.on_destroy);
        let config_known = !target.full.deep().formula && target.full.is_wholly_known();
        let config = self.builder.desired(address.clone(), target.full.to_formula(), shard.clone(), waits);
        let (_, marks) = after.unmark_with_paths();
        let planned = PlannedObject {
            action,
            value: without_provenance(&proposal.planned),
            private: proposal.private.clone(),
            legacy: proposal.legacy,
            provisioned,
            config_known,
            record: target.record.clone(),
            sensitive: marks.into_iter().filter(|(_, m)| m.is_sensitive()).map(|(p, _)| p).collect(),
            lookup: (action == Action::Create).then(|| lookup(&desired.schema)).flatten(),
        };
        let plan =
            self.builder.final_plan(address.clone(), opened.provider, prior, Some(config), planned, shard.clone());
        let apply = self.builder.apply(address.clone(), None, plan, shard);
        if target.record.create_before_destroy && desired.block.lifecycle.create_before_destroy != Some(true) {
            self.forced.lock().insert(address.clone(), plan.id());
        }
        if let Some(earlier) = earlier {
            self.builder.order(earlier, apply.id());
        }
        let operation = self.applied(&desired.provider, apply);
        let mut ordering = self.ordering.lock();
        let before = target.prior.map(|p| p.record.dependencies.as_slice()).unwrap_or_default();
        let mut names: Vec<_> = target.record.dependencies.iter().chain(before).cloned().collect();
        names.sort();
        names.dedup();
        ordering.changes(operation, &address.module, &names);
        if !target.record.create_before_destroy || action == Action::Update {
            ordering.follows(operation, &address.module, before);
        }
        drop(ordering);
        if provisioned {
            let created = Created { operation, replaced: None, names };
            self.created.lock().insert(desired.address.clone(), created);
        }
        operation
    }
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
