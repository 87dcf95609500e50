//! Decides what happens to a managed instance, with plain functions over the desired instance, the prior object, and
//! the provider's plan.

use std::borrow::Cow;

use smol_str::SmolStr;
use weft_evaluator::glue::{DesiredInstance, Ignored, Places};
use weft_expressions::resource_rules::{ignore_changes, prior_for_ignoring_all};
use weft_expressions::symbolic::{explain, replace_formulas};
use weft_graph_format::address::{DeposedKey, ResourceInstance};
use weft_graph_format::changes::{ChangeAction, Importing, Reason, ResourceChange};
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::graph::{Action, OperationId, PlannedObject, StateRecord};
use weft_graph_format::marks::Marks;
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;

use crate::agenda::planned::{Change, OldObject, PlannedInstance, PlannedProvision, PlannedStep};
use crate::ask::{Accepted, Proposal, ProposalInput};
use crate::prior::{Prior, marks_for, sensitive_marks, settled_sensitive, with_schema_marks, without_provenance};

/// In the description of a resource type, this text begins the line that says how to look up an object after a create
/// with an unknown outcome.
const LOOKUP_MARKER: &str = "weft: lookup=import \"";

/// Reasons to replace an instance without a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pressure {
    /// The object is tainted.
    pub(crate) tainted: bool,
    /// `-replace` names it.
    pub(crate) requested: bool,
    /// A `replace_triggered_by` reference changes.
    pub(crate) triggered: bool,
}

/// The order of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplaceOrder {
    /// Destroys the old object, then creates the new one.
    DestroyFirst,
    /// Creates the new object, then destroys the old one.
    CreateFirst,
    /// Forgets the old object, then creates the new one.
    ForgetOld,
}

/// The action for a managed instance. `before` and `planned` have their marks. `replace_paths` are the differing paths
/// for which the provider requires a replacement.
pub(crate) fn action(
    before: &Value,
    planned: &Value,
    replace_paths: &[Path],
    pressure: Pressure,
    order: ReplaceOrder,
) -> (ChangeAction, Reason) {
    let replace = match order {
        ReplaceOrder::DestroyFirst => ChangeAction::DeleteThenCreate,
        ReplaceOrder::CreateFirst => ChangeAction::CreateThenDelete,
        ReplaceOrder::ForgetOld => ChangeAction::ForgetThenCreate,
    };
    // As in OpenTofu, a trigger takes precedence over any other reason.
    let because = |reason| if pressure.triggered { Reason::ReplaceByTriggers } else { reason };
    if before.is_null() {
        return (ChangeAction::Only(Action::Create), because(Reason::None));
    }
    if pressure.tainted {
        return (replace, because(Reason::ReplaceBecauseTainted));
    }
    if pressure.requested {
        return (replace, because(Reason::ReplaceByRequest));
    }
    if !replace_paths.is_empty() {
        return (replace, because(Reason::ReplaceBecauseCannotUpdate));
    }
    if pressure.triggered {
        return (replace, Reason::ReplaceByTriggers);
    }
    if planned.same_content(before) {
        return (ChangeAction::Only(Action::NoOp), Reason::None);
    }
    (ChangeAction::Only(Action::Update), Reason::None)
}

/// The desired instance, its prior object, and the validated configuration.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) desired: &'a DesiredInstance,
    pub(crate) prior: Option<&'a Prior>,
    pub(crate) accepted: &'a Accepted,
}

impl Case<'_> {
    /// The prior object for decisions, or null if there is none.
    fn before(&self) -> Value {
        self.prior.map_or_else(|| Value::null(self.accepted.plain.ty()), |prior| prior.located().clone())
    }

    /// Whether the object must be replaced.
    pub(crate) fn is_tainted(&self) -> bool {
        self.prior.is_some_and(|prior| prior.tainted && !prior.value.is_null())
    }

    /// The configuration, with the prior values for `ignore_changes`.
    fn with_ignored(&self, config: &Value) -> Value {
        match &self.desired.block.ignored {
            Ignored::Nothing => config.clone(),
            _ => self.ignoring(config, &self.before().unmark_deep().0),
        }
    }

    fn ignoring(&self, config: &Value, before: &Value) -> Value {
        match &self.desired.block.ignored {
            Ignored::Nothing => config.clone(),
            Ignored::Paths(paths) => ignore_changes(config, before, Some(paths)),
            Ignored::All => ignore_changes(config, &prior_for_ignoring_all(&self.desired.schema.block, before), None),
        }
    }

    /// The inputs of the provider's plan.
    ///
    /// A tainted object is always replaced, so its plan is that of a create.
    pub(crate) fn proposal_input(&self) -> ProposalInput {
        if self.is_tainted() {
            return self.create_input();
        }
        let private = self.prior.map(|prior| prior.private.clone()).unwrap_or_default();
        let before = self.before().unmark_deep().0;
        ProposalInput { before, config: self.with_ignored(&self.accepted.plain), private }
    }

    /// The inputs for a plan that creates a replacement.
    pub(crate) fn create_input(&self) -> ProposalInput {
        let before = Value::null(self.accepted.plain.ty());
        ProposalInput { before, config: self.accepted.plain.clone(), private: Vec::new() }
    }

    /// The marks of the configuration. An ignored part has the marks of the prior object.
    fn marks(&self) -> Cow<'_, [(Path, Marks)]> {
        let prior = self.prior.filter(|_| !self.is_tainted());
        if matches!(self.desired.block.ignored, Ignored::Nothing) || prior.is_none_or(|prior| prior.value.is_null()) {
            return Cow::Borrowed(&self.accepted.marks);
        }
        let config = self.accepted.plain.mark_paths(&self.accepted.marks);
        Cow::Owned(self.ignoring(&config, &self.before()).unmark_with_paths().1)
    }

    /// The planned value, with marks.
    fn marked(&self, planned: &Value) -> Value {
        planned.mark_paths(&marks_for(planned, &self.marks(), &self.desired.schema))
    }
}

/// The decision for an instance, and the reason.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub(crate) action: ChangeAction,
    pub(crate) reason: Reason,
    /// Whether a replacement creates the new object first.
    create_first: bool,
    /// Whether the provider must plan again, for the new object of a replacement.
    pub(crate) asks_again: bool,
    /// The paths that require the replacement.
    replace_paths: Vec<Path>,
}

/// Decides from the first plan of the provider. `left_alone` means that the old object is forgotten instead of deleted.
pub(crate) fn decide(case: Case<'_>, proposal: &Proposal, pressure: Pressure, left_alone: bool) -> Decision {
    let rules = &case.desired.block;
    // If a dependent is replaced create-first, this instance must be too, whatever its block says.
    let create_first = case.desired.create_first || rules.create_first;
    let order = match (left_alone, create_first) {
        (true, _) => ReplaceOrder::ForgetOld,
        (false, true) => ReplaceOrder::CreateFirst,
        (false, false) => ReplaceOrder::DestroyFirst,
    };
    let after = case.marked(&proposal.planned);
    let (mut action, reason) = action(&case.before(), &after, &proposal.replace, pressure, order);
    if action.is_no_op() && case.prior.is_some_and(|prior| prior.lacks_marks) {
        action = ChangeAction::Only(Action::Update);
    }
    let asks_again = action.is_replace() && !pressure.tainted;
    let replace_paths = if asks_again { proposal.replace.clone() } else { Vec::new() };
    Decision { action, reason, create_first, asks_again, replace_paths }
}

/// Facts about an instance that do not come from its provider.
pub(crate) struct Surroundings {
    /// The stored address, if the object moved.
    pub(crate) previous_address: Option<ResourceInstance>,
    /// The import details, if the object is imported.
    pub(crate) importing: Option<Importing>,
    /// The deposed key for the old object, used by create-first replacements.
    pub(crate) deposed_key: DeposedKey,
    /// The provisioners that run before the old object is deleted.
    pub(crate) farewell: Vec<PlannedProvision>,
}

/// The plan for an instance, and the value that readers see.
pub(crate) struct InstancePlan {
    /// The change for the reviewer.
    pub(crate) change: ResourceChange,
    step: Option<PlannedStep>,
    /// The values before and after, with marks.
    pub(crate) before: Value,
    pub(crate) after: Value,
    /// The record for the state.
    pub(crate) record: StateRecord,
    /// Whether the provider uses the legacy type system.
    legacy: bool,
}

/// The value of an instance for its readers.
pub(crate) struct Seen {
    before: Value,
    after: Value,
    legacy: bool,
}

impl InstancePlan {
    /// Whether a new object is created.
    pub(crate) fn creates(&self) -> bool {
        let action = self.change.action;
        action.is_replace() || action == ChangeAction::Only(Action::Create)
    }

    /// Sets the dependencies that an updated object has until its change is done.
    pub(crate) fn needs_until_changed(&mut self, names: &[SmolStr]) {
        if let Some(PlannedStep::Change(change)) = &mut self.step
            && let OldObject::Updated(prior) = &mut change.old
        {
            prior.record.dependencies = names.to_vec();
        }
    }

    /// Splits the plan from the value for readers.
    pub(crate) fn split(self) -> (PlannedInstance, Seen) {
        let InstancePlan { change, step, before, after, legacy, .. } = self;
        (PlannedInstance { change, step }, Seen { before, after, legacy })
    }
}

impl Seen {
    /// The value for readers. `result` is the operation that changes the object; `None` if no operation changes it.
    pub(crate) fn see(&self, result: Option<OperationId>, schema: &Schema) -> Value {
        match result {
            Some(operation) => planned_result(&self.after, operation, self.legacy),
            None => with_schema_marks(&self.before, schema),
        }
    }
}

/// The plan for an instance, from the last plan of the provider.
pub(crate) fn plan(case: Case<'_>, decision: Decision, proposal: Proposal, around: Surroundings) -> InstancePlan {
    let Case { desired, prior, .. } = case;
    let Decision { action, reason, create_first, asks_again, replace_paths } = decision;
    let before = case.before();
    let shown_before = prior.map_or_else(|| before.clone(), |prior| prior.value.clone());
    // If both objects are equal, they share one copy.
    let after = if action.is_no_op() { before.clone() } else { case.marked(&proposal.planned) };
    // The second plan of a replacement has no marks from the schema. The renderer hides sensitive attributes.
    let shown = match asks_again {
        true => proposal.planned.mark_paths(&sensitive_marks(&case.marks())),
        // An unchanged object keeps its marks.
        false if action.is_no_op() => shown_before.clone(),
        false => after.clone(),
    };
    let kept = prior.filter(|_| !action.is_replace());
    let record = StateRecord {
        schema_version: desired.schema.version,
        dependencies: desired.dependencies.to_vec(),
        create_before_destroy: create_first,
        skip_destroy: desired.block.destroy == Some(false),
        identity: kept.and_then(|p| p.record.identity.clone()),
        identity_schema_version: kept.map_or(0, |p| p.record.identity_schema_version),
    };
    let change = ResourceChange {
        address: desired.address.clone(),
        previous_address: around.previous_address.clone().map(Box::new),
        deposed: None,
        provider: desired.provider.clone(),
        action,
        reason,
        before: without_provenance(&shown_before),
        after: without_provenance(&shown),
        replace_paths,
        importing: around.importing.clone().map(Box::new),
        before_record: prior.map(|p| Box::new(p.record.clone())),
        schema_version: desired.schema.version,
    };
    let legacy = proposal.legacy;
    let step = (!action.is_no_op()).then(|| step(case, action, proposal, &after, &record, around));
    InstancePlan { change, step, before, after, record, legacy }
}

fn step(
    case: Case<'_>,
    action: ChangeAction,
    proposal: Proposal,
    after: &Value,
    record: &StateRecord,
    around: Surroundings,
) -> PlannedStep {
    let desired = case.desired;
    let full = match action.is_replace() {
        true => case.accepted.config.clone(),
        false => case.with_ignored(&case.accepted.config),
    };
    let is_update = action == ChangeAction::Only(Action::Update);
    let (_, marks) = after.unmark_with_paths();
    let planned = PlannedObject {
        action: if is_update { Action::Update } else { Action::Create },
        value: without_provenance(&proposal.planned),
        private: proposal.private,
        legacy: proposal.legacy,
        provisioned: !is_update && desired.block.is_provisioned,
        config_known: !full.deep().formula && full.is_wholly_known(),
        record: record.clone(),
        sensitive: settled_sensitive(marks, &full),
        lookup: if is_update { None } else { lookup(&desired.schema) },
    };
    let waits = [desired.waits.clone(), desired.config.deep_origin()];
    PlannedStep::Change(Box::new(Change {
        config: placed(full.to_formula(), &desired.block.places),
        waits: Origin::union(waits.into_iter().flatten()),
        checked: desired.checked.clone(),
        planned,
        depended: case.prior.map(|prior| prior.record.dependencies.clone()).unwrap_or_default(),
        old: match (action, case.prior.cloned().map(Box::new)) {
            (ChangeAction::DeleteThenCreate, Some(prior)) => OldObject::DeletedFirst(prior, around.farewell),
            (ChangeAction::CreateThenDelete, Some(prior)) => OldObject::DeletedLast(prior, around.deposed_key),
            (ChangeAction::ForgetThenCreate, Some(prior)) => OldObject::Forgotten(prior),
            (ChangeAction::Only(Action::Update), Some(prior)) => OldObject::Updated(prior),
            (_, None) | (ChangeAction::Only(_), Some(_)) => OldObject::Nothing,
        },
        is_forced: record.create_before_destroy && !desired.block.create_first,
    }))
}

/// The formula of the arguments of one block, with source ranges added to the arguments that are only references, for
/// diagnostics at apply.
pub(super) fn placed(config: Formula, places: &Places) -> Formula {
    let FormulaOp::Object(parts) = config.op() else { return config };
    let part = |(name, part): &(SmolStr, Formula)| {
        let is_reference = matches!(part.op(), FormulaOp::Result(..) | FormulaOp::Convert(..) | FormulaOp::Mark(..));
        if part.range().is_some() || !is_reference {
            return (name.clone(), part.clone());
        }
        let range = places.locate(&Path::ROOT.attribute(name.clone()));
        (name.clone(), Formula::new(part.op().clone(), part.ty().clone(), Some(range)))
    };
    let parts = parts.iter().map(part).collect();
    Formula::new(FormulaOp::Object(parts), config.ty().clone(), config.range().cloned())
}

/// The value of a changing instance: unknown parts have formulas, and every part has the operation as its origin.
pub(crate) fn planned_result(after: &Value, operation: OperationId, legacy: bool) -> Value {
    let result = Formula::result(operation, Path::ROOT, after.ty());
    let value = if legacy { replace_formulas(after, &result) } else { explain(after, &result) };
    value.add_origin(Some(&Origin::after(operation)))
}

/// How to look up the objects of a type, if its description says so.
fn lookup(schema: &Schema) -> Option<String> {
    let line = schema.block.description.lines().find_map(|line| line.trim().strip_prefix(LOOKUP_MARKER))?;
    let (id, rest) = line.split_once('"')?;
    rest.contains("consistency=strong").then(|| id.to_string())
}

#[cfg(test)]
mod tests;
