//! What happens to a managed instance: plain functions over what is desired, the object that is there, and what its
//! provider proposes.

use weft_evaluator::glue::{DesiredInstance, Ignored};
use weft_expressions::resource_rules::{ignore_changes, prior_for_ignoring_all};
use weft_expressions::symbolic::{explain, replace_formulas};
use weft_graph_format::address::{DeposedKey, ResourceInstance};
use weft_graph_format::changes::{ChangeAction, Importing, Reason, ResourceChange};
use weft_graph_format::formula::Formula;
use weft_graph_format::graph::{Action, OperationId, PlannedObject, StateRecord};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;

use super::ask::{Accepted, Proposal, ProposalInput};
use super::planned::{Change, OldObject, PlannedInstance, PlannedProvision, Step};
use super::prior::{Prior, marks_for, sensitive_marks, with_schema_marks, without_provenance};

/// The line of a type's description that says how its objects are looked up after a create in doubt.
const LOOKUP_MARKER: &str = "weft: lookup=import \"";

/// Why an instance is to be replaced although it could stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pressure {
    /// The object is tainted.
    pub(crate) tainted: bool,
    /// The user asked for it.
    pub(crate) requested: bool,
    /// Something that `replace_triggered_by` names changes.
    pub(crate) triggered: bool,
}

/// What a replacement does with the old object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplaceOrder {
    /// It is destroyed, then the new one is created.
    DestroyFirst,
    /// The new one is created, then it is destroyed.
    CreateFirst,
    /// It is left alone.
    ForgetOld,
}

/// What happens to a managed instance: `before` and `planned` with their marks, and the paths at which the provider
/// demands a replacement and something differs.
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
    if before.is_null() {
        return (
            ChangeAction::Only(Action::Create),
            if pressure.triggered { Reason::ReplaceByTriggers } else { Reason::None },
        );
    }
    if pressure.tainted {
        return (replace, Reason::ReplaceBecauseTainted);
    }
    if pressure.requested {
        return (replace, Reason::ReplaceByRequest);
    }
    if !replace_paths.is_empty() {
        return (replace, Reason::ReplaceBecauseCannotUpdate);
    }
    if pressure.triggered {
        return (replace, Reason::ReplaceByTriggers);
    }
    if planned.same_content(before) {
        return (ChangeAction::Only(Action::NoOp), Reason::None);
    }
    (ChangeAction::Only(Action::Update), Reason::None)
}

/// What is desired, what is there, and what the provider takes.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) desired: &'a DesiredInstance,
    pub(crate) prior: Option<&'a Prior>,
    pub(crate) accepted: &'a Accepted,
}

impl Case<'_> {
    /// The object as it is; null when there is none.
    fn before(&self) -> Value {
        self.prior.map_or_else(|| Value::null(self.accepted.plain.ty()), |prior| prior.value.clone())
    }

    /// The object is to be replaced whatever it is.
    pub(crate) fn is_tainted(&self) -> bool {
        self.prior.is_some_and(|prior| prior.tainted && !prior.value.is_null())
    }

    /// The configuration with what `ignore_changes` names as the object has it.
    fn with_ignored(&self, config: &Value) -> Value {
        let before = || self.before().unmark_deep().0;
        match &self.desired.block.ignored {
            Ignored::Nothing => config.clone(),
            Ignored::Paths(paths) => ignore_changes(config, &before(), Some(paths)),
            Ignored::All => {
                ignore_changes(config, &prior_for_ignoring_all(&self.desired.schema.block, &before()), None)
            }
        }
    }

    /// What the provider is asked to plan from: the object before, the configuration, and its own data.
    ///
    /// A tainted object is replaced whatever it is, so the plan is that of a create from the start.
    pub(crate) fn proposal_input(&self) -> ProposalInput {
        if self.is_tainted() {
            return self.create_input();
        }
        let private = self.prior.map(|prior| prior.private.clone()).unwrap_or_default();
        let before = self.before().unmark_deep().0;
        ProposalInput { before, config: self.with_ignored(&self.accepted.plain), private }
    }

    /// The same for an object that takes the place of another.
    pub(crate) fn create_input(&self) -> ProposalInput {
        let before = Value::null(self.accepted.plain.ty());
        ProposalInput { before, config: self.accepted.plain.clone(), private: Vec::new() }
    }

    /// What is planned, with the marks that it is to have.
    fn marked(&self, planned: &Value) -> Value {
        planned.mark_paths(&marks_for(planned, &self.accepted.marks, &self.desired.schema))
    }
}

/// What happens, and why.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub(crate) action: ChangeAction,
    pub(crate) reason: Reason,
    /// Its replacements come before the destruction of the old object.
    create_first: bool,
    /// The provider is asked again, for the object that takes the place.
    pub(crate) asks_again: bool,
    /// What makes a replacement necessary.
    replace_paths: Vec<Path>,
}

/// Decides by the first answer of the provider. `left_alone` says that an old object is not deleted.
pub(crate) fn decide(case: Case<'_>, proposal: &Proposal, pressure: Pressure, left_alone: bool) -> Decision {
    let rules = &case.desired.block;
    // What depends on it and is replaced that way demands it, whatever the block itself says.
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

/// What is known of an instance beside the answers of its provider.
pub(crate) struct Surroundings {
    /// The address under which state has the object, where it is another one.
    pub(crate) previous_address: Option<ResourceInstance>,
    /// The object is taken over.
    pub(crate) importing: Option<Importing>,
    /// The key under which the old object is set aside, if it comes to that.
    pub(crate) deposed_key: DeposedKey,
    /// What runs before the old object is deleted.
    pub(crate) farewell: Vec<PlannedProvision>,
}

/// The plan for an instance, and what others see of it.
pub(crate) struct Outcome {
    /// As the reviewer reads it.
    pub(crate) change: ResourceChange,
    step: Option<Step>,
    /// The object before and after, with marks.
    pub(crate) before: Value,
    pub(crate) after: Value,
    /// What state is to keep beside it.
    pub(crate) record: StateRecord,
    /// The provider follows the older rules.
    legacy: bool,
}

/// What others see of an instance.
pub(crate) struct Seen {
    before: Value,
    after: Value,
    legacy: bool,
}

impl Outcome {
    /// Whether the object is created, as a new one or in the place of another.
    pub(crate) fn creates(&self) -> bool {
        let action = self.change.action;
        action.is_replace() || action == ChangeAction::Only(Action::Create)
    }

    /// The plan alone, and what others see.
    pub(crate) fn split(self) -> (PlannedInstance, Seen) {
        let Outcome { change, step, before, after, legacy, .. } = self;
        (PlannedInstance { change, step }, Seen { before, after, legacy })
    }
}

impl Seen {
    /// The value, by the operation whose result it is; `None` when nothing happens.
    pub(crate) fn see(&self, result: Option<OperationId>, schema: &Schema) -> Value {
        match result {
            Some(operation) => planned_result(&self.after, operation, self.legacy),
            None => with_schema_marks(&self.before, schema),
        }
    }
}

/// The plan for an instance, by the last answer of the provider.
pub(crate) fn plan(case: Case<'_>, decision: Decision, proposal: Proposal, around: Surroundings) -> Outcome {
    let Case { desired, prior, accepted } = case;
    let Decision { action, reason, create_first, asks_again, replace_paths } = decision;
    let before = case.before();
    // One of two equal objects is enough to keep.
    let after = if action.is_no_op() { before.clone() } else { case.marked(&proposal.planned) };
    // The second plan of a replacement is shown as it came: whoever shows it hides what the schema calls sensitive.
    let shown = match asks_again {
        true => proposal.planned.mark_paths(&sensitive_marks(&accepted.marks)),
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
        before: without_provenance(&before),
        after: without_provenance(&shown),
        replace_paths,
        importing: around.importing.clone().map(Box::new),
        before_record: prior.map(|p| Box::new(p.record.clone())),
        schema_version: desired.schema.version,
    };
    let legacy = proposal.legacy;
    let step = (!action.is_no_op()).then(|| step(case, action, proposal, &after, &record, around));
    Outcome { change, step, before, after, record, legacy }
}

fn step(
    case: Case<'_>,
    action: ChangeAction,
    proposal: Proposal,
    after: &Value,
    record: &StateRecord,
    around: Surroundings,
) -> Step {
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
        sensitive: marks.into_iter().filter(|(_, m)| m.is_sensitive()).map(|(p, _)| p).collect(),
        lookup: if is_update { None } else { lookup(&desired.schema) },
    };
    let waits = [desired.waits.clone(), desired.config.deep_origin()];
    Step::Change(Box::new(Change {
        config: full.to_formula(),
        waits: Origin::union(waits.into_iter().flatten()),
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

#[cfg(test)]
mod tests;
