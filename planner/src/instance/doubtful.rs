//! Instances in doubt: the outcome of their last operation is unknown.
//!
//! A plan that could change or import such an object fails at this object, and nothing that depends on the object is
//! planned. Any other plan, and a plan whose selection leaves the object out, keeps the object as it is, with a
//! warning.

use weft_evaluator::glue::DesiredInstance;
use weft_evaluator::selection::Selection;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::value::Value;
use weft_state::Doubt;

use crate::facts::Facts;
use crate::planner::Planner;
use crate::problems::{self, Problems};
use crate::whole::selecting::nothing;

/// The effect of a doubt on the plan of its instance.
enum Effect {
    /// The plan could change or import the object, so planning the object fails.
    Stops,
    /// The plan keeps the object as it is in the state.
    Keeps,
}

impl Planner {
    /// The value of a desired instance that is in doubt and that this plan keeps as it is. `None` if nothing is in
    /// doubt.
    ///
    /// # Errors
    /// Returns an error if the plan could change or import the object.
    pub(crate) fn heed_doubt(&self, desired: &DesiredInstance) -> Result<Option<Value>, Problems> {
        let (address, facts) = (&desired.address, &self.facts);
        let Some(doubts) = facts.doubts.get(address) else { return Ok(None) };
        if let Effect::Stops = effect(facts, address, desired.import.is_some()) {
            return Err(self.stop(address, doubts));
        }
        let stored = facts.stored_value(address, &desired.schema).map_err(|problem| vec![problem])?;
        Ok(Some(stored.unwrap_or_else(|| match facts.rules.empties_state {
            true => nothing(&desired.schema),
            false => Value::unknown(desired.schema.block.implied_type()),
        })))
    }

    /// Whether an unwanted instance is in doubt, so that this plan keeps it as it is.
    ///
    /// # Errors
    /// Returns an error if the plan could change or import the object.
    pub(crate) fn heed_doubt_of_orphan(&self, address: &ResourceInstance) -> Result<bool, Problems> {
        let Some(doubts) = self.facts.doubts.get(address) else { return Ok(false) };
        match effect(&self.facts, address, false) {
            Effect::Stops => Err(self.stop(address, doubts)),
            Effect::Keeps => Ok(true),
        }
    }

    fn stop(&self, address: &ResourceInstance, doubts: &[Doubt]) -> Problems {
        let mut found = self.found();
        found.in_doubt.extend(doubts.iter().map(|doubt| doubt.key.clone()));
        let way_on = way_on(&self.facts);
        doubts.iter().map(|doubt| problems::in_doubt(doubt, way_on.then_some(address))).collect()
    }

    /// Reports the doubts that stopped no instance. They are errors in two kinds of plans, and warnings in all others:
    ///
    /// - A full plan, which would otherwise claim that nothing else is left to do.
    /// - A destroy plan that covers the object. If such a plan evaluates only providers, it does not reach the object
    ///   of a create in doubt, so nothing has stopped it yet.
    pub(crate) fn name_other_doubts(&self) {
        let facts = &self.facts;
        let full = *facts.selection() == Selection::All && facts.rules.makes_objects;
        let stopped = std::mem::take(&mut self.found().in_doubt);
        for doubt in facts.state.snapshot().doubts.values().filter(|doubt| !stopped.contains(&doubt.key)) {
            let addresses = facts.doubts.addresses(doubt);
            let goes = facts.rules.empties_state
                && (addresses.is_empty() || addresses.iter().any(|address| facts.covers_to_go(address)));
            match full || goes {
                true => {
                    let address = addresses.last().copied().filter(|_| way_on(facts));
                    self.report.add(vec![problems::in_doubt(doubt, address)]);
                }
                false => self.report.remark(problems::kept_in_doubt(doubt)),
            }
        }
    }
}

/// Whether another plan with `-exclude` is possible.
fn way_on(facts: &Facts) -> bool {
    let plans = facts.rules.makes_objects || facts.rules.empties_state;
    plans && !matches!(facts.selection(), Selection::Only(_))
}

/// The effect of a doubt about an instance that evaluation reaches, or that is in the state. `imports` says whether the
/// plan imports its object.
fn effect(facts: &Facts, address: &ResourceInstance, imports: bool) -> Effect {
    let rules = &facts.rules;
    let stops = rules.makes_objects || if rules.empties_state { facts.covers_to_go(address) } else { imports };
    if stops { Effect::Stops } else { Effect::Keeps }
}

#[cfg(test)]
mod tests {
    use weft_evaluator::selection::SelectedAddress;

    use super::*;
    use crate::{PlanKind, PlanOptions};

    #[test]
    fn a_doubt_stops_plans_that_touch_its_object() {
        let but = |name: &str| Selection::AllBut(vec![SelectedAddress::parse(name).expect("an address")]);
        for (kind, selection, imports, stops) in [
            (PlanKind::Normal, Selection::All, false, true),
            (PlanKind::Normal, but("a.c"), false, true),
            (PlanKind::RefreshOnly, Selection::All, false, false),
            (PlanKind::RefreshOnly, Selection::All, true, true),
            (PlanKind::Destroy, Selection::All, false, true),
            (PlanKind::Destroy, but("a.c"), false, true),
            (PlanKind::Destroy, but("a.b"), false, false),
        ] {
            let options = PlanOptions { selection: selection.clone(), ..PlanOptions::of_kind(kind) };
            // A create in doubt: the state does not have the object.
            let facts = Facts::for_tests("", &[("a.c", &[])], options);
            let address = "a.b".parse().expect("an address");
            let found = matches!(effect(&facts, &address, imports), Effect::Stops);
            assert_eq!(found, stops, "{kind:?} {selection:?} {imports}");
        }
    }
}
