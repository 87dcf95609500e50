//! The shared data of planning: the inputs, and the results so far.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use weft_evaluator::glue::DesiredInstance;
use weft_graph_format::address::{DeposedKey, ProviderInstance, ResourceInstance};
use weft_graph_format::changes::{ChangeAction, Reason, ResourceChange};
use weft_graph_format::graph::{Action, PriorObject};
use weft_graph_format::plan_file::{CheckResult, CheckStatus};

use crate::agenda::planned::Record;
use crate::agenda::{Agenda, ReadResults};
use crate::ask::Ask;
use crate::evaluated::Evaluated;
use crate::facts::Facts;
use crate::prior::Prior;
use crate::report::Report;
use crate::rules::Drift;
use crate::whole::protection::{RemovalVerdict, protection, verdict};

/// Plans instances during evaluation. Evaluation is concurrent, so locks protect the results. Each lock is held for a
/// single step, and two locks are never held at the same time.
pub(crate) struct Planner {
    pub(crate) facts: Facts,
    pub(crate) ask: Ask,
    pub(crate) report: Arc<Report>,
    evaluated: Mutex<Evaluated>,
    found: Mutex<ReadResults>,
    agenda: Mutex<Agenda>,
}

impl Planner {
    /// Creates the data of a plan that has not begun.
    pub(crate) fn new(facts: Facts, ask: Ask, report: Arc<Report>) -> Planner {
        let (evaluated, found, agenda) = Default::default();
        Planner { facts, ask, report, evaluated, found, agenda }
    }

    /// The results of evaluation so far.
    pub(crate) fn evaluated(&self) -> MutexGuard<'_, Evaluated> {
        self.evaluated.lock()
    }

    /// The objects that were read so far.
    pub(crate) fn found(&self) -> MutexGuard<'_, ReadResults> {
        self.found.lock()
    }

    /// The plan so far.
    pub(crate) fn agenda(&self) -> MutexGuard<'_, Agenda> {
        self.agenda.lock()
    }

    /// The reason to forget an object instead of deleting it, or `None` if the object is deleted.
    pub(crate) fn left_alone(
        &self,
        address: &ResourceInstance,
        deposed: Option<&DeposedKey>,
        prior: Option<&Prior>,
    ) -> Option<Reason> {
        let wanted = deposed.is_none() && self.evaluated().desired.contains(address);
        self.facts.left_alone(address, prior.map(|prior| &prior.record), wanted)
    }

    /// Refuses a change that removes an object, if the object is protected.
    pub(crate) fn heed_protection(&self, address: &ResourceInstance, what: &str) {
        let found = protection(&self.evaluated(), &self.facts, address);
        match verdict(found.as_ref(), address, what) {
            RemovalVerdict::Allowed => {}
            RemovalVerdict::Unfit(problems) => self.report.add(problems),
            RemovalVerdict::Refused(problem) => self.report.refuse(address, *problem),
        }
    }

    /// Records an update of the state for an instance that does not change otherwise.
    pub(crate) fn note_record(&self, address: &ResourceInstance, object: Option<PriorObject>, of: &ProviderInstance) {
        let record = Record { address: address.clone(), object, provider: of.clone() };
        self.agenda().records.push(record);
    }

    /// If the state has the object of `address` at another address, plans its move to `address`, before any other step.
    /// If this function is called again for the same address, the object of the first call is used.
    pub(crate) fn move_first(&self, address: &ResourceInstance, prior: Option<&Prior>, provider: &ProviderInstance) {
        if self.facts.previous(address).is_none() {
            return;
        }
        let object = prior.filter(|prior| !prior.value.is_null()).map(|prior| self.facts.object(address, prior));
        self.agenda().moves.entry(address.clone()).or_insert_with(|| (object, provider.clone()));
    }

    /// Records the drift of an object.
    pub(crate) fn note_drift(
        &self,
        address: &ResourceInstance,
        provider: &ProviderInstance,
        prior: &Prior,
        schema_version: u64,
    ) {
        let previous = self.facts.previous(address);
        let shown = self.facts.rules.drift;
        self.found().drift.extend(drift(shown, address, previous, provider, prior, schema_version));
    }

    /// Records the results of an object's conditions.
    pub(crate) fn note_check(&self, result: CheckResult) {
        if matches!(result.status, CheckStatus::Fail | CheckStatus::Error) {
            self.ask.providers.hush(result.address.text());
        }
        self.evaluated().checks.insert((result.kind, result.address.text().to_owned()), result);
    }

    /// Whether an instance has no object: the state has none, or the provider did not find the object.
    pub(crate) fn is_missing(&self, address: &ResourceInstance) -> bool {
        let found = self.found().refreshed.get(address).map(|prior| prior.value.is_null());
        found.unwrap_or_else(|| self.facts.holds_nothing(address))
    }

    /// Whether the plan has found that an object does not exist.
    pub(crate) fn is_gone(&self, address: &ResourceInstance) -> bool {
        self.found().refreshed.get(address).is_some_and(|prior| prior.value.is_null())
    }

    /// Whether a data source or an ephemeral object waits for a resource that is about to change:
    ///
    /// - Usually, for resources to which the block refers directly, and for resources that it needs because of its own
    ///   `depends_on`, or of the `depends_on` of a module call around it. A block with conditions waits for all its
    ///   dependencies.
    /// - If the plan reads before it deletes: only for the resources to which the block refers directly, and for those
    ///   in its own `depends_on`. A block that a provider configuration needs waits for nothing.
    pub(crate) fn waits_for_others(&self, desired: &DesiredInstance) -> bool {
        let agenda = self.agenda();
        if self.facts.rules.reads_first {
            // A destroy needs the configurations of its providers, so it reads at once what they depend on.
            let configures = self.facts.configuring.contains(&desired.address.config());
            return !configures && agenda.effects.is_any_in_plan(&desired.direct);
        }
        // Conditions apply to the final state, so all dependencies of the block must be settled.
        agenda.effects.is_any_pending(&desired.direct)
            || agenda.effects.is_any_changing(&desired.awaited)
            || desired.block.has_conditions && agenda.effects.is_any_changing(&desired.dependencies)
    }
}

/// The drift of an object, if the plan shows it. An object that moved to another type always differs from the state.
/// Its differences do not count as drift.
fn drift(
    shown: Drift,
    address: &ResourceInstance,
    previous: Option<&ResourceInstance>,
    provider: &ProviderInstance,
    prior: &Prior,
    schema_version: u64,
) -> Option<ResourceChange> {
    let other_type = previous.is_some_and(|previous| previous.resource.type_name != address.resource.type_name);
    let same = other_type || prior.stored.same_unmarked(&prior.value) && !prior.gained_marks;
    let action = match shown {
        Drift::Differences | Drift::DifferencesAndMoves if !same && prior.value.is_null() => Action::Delete,
        Drift::Differences | Drift::DifferencesAndMoves if !same => Action::Update,
        Drift::DifferencesAndMoves if previous.is_some() => Action::NoOp,
        _ => return None,
    };
    Some(ResourceChange {
        address: address.clone(),
        previous_address: previous.cloned().map(Box::new),
        deposed: None,
        provider: provider.clone(),
        action: ChangeAction::Only(action),
        reason: Reason::None,
        before: prior.stored.clone(),
        after: prior.value.clone(),
        replace_paths: Vec::new(),
        importing: None,
        before_record: Some(Box::new(prior.record.clone())),
        schema_version,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_graph_format::marks::Marks;
    use weft_graph_format::value::Value;

    #[test]
    fn marks_alone_are_not_drift() {
        let provider: ProviderInstance = "provider[\"registry.opentofu.org/a/b\"]".parse().unwrap();
        let object = |n: i64| Value::object([("n", Value::int(n))]);
        let null = || Value::null(object(1).ty());
        let (address, same_type, other_type) = ("a.x[0]", Some("a.y"), Some("b.x"));
        for (stored, value, previous, want) in [
            (object(1), object(1), None, None),
            (object(1), object(1).mark(&Marks::SENSITIVE), None, None),
            (object(1), object(2), None, Some(Action::Update)),
            (object(1), object(2), same_type, Some(Action::Update)),
            (object(1), object(2), other_type, None),
            (object(1), null(), None, Some(Action::Delete)),
        ] {
            let prior = Prior { stored, value, ..Prior::gone() };
            let previous: Option<ResourceInstance> = previous.map(|text| text.parse().unwrap());
            let found = |shown| {
                let found = drift(shown, &address.parse().unwrap(), previous.as_ref(), &provider, &prior, 1);
                found.map(|change| change.action)
            };
            assert_eq!(found(Drift::Nothing), None);
            let want = want.map(ChangeAction::Only);
            assert_eq!(found(Drift::Differences), want, "{prior:?} {previous:?}");
            let moved = previous.is_some().then_some(ChangeAction::Only(Action::NoOp));
            assert_eq!(found(Drift::DifferencesAndMoves), want.or(moved), "{prior:?} {previous:?}");
        }
    }
}
