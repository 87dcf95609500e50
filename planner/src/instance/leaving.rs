//! Objects that go: deleted, or forgotten and left alone.

use weft_evaluator::glue::DesiredInstance;
use weft_graph_format::address::{DeposedKey, ProviderInstance, ResourceInstance};
use weft_graph_format::changes::{ChangeAction, Reason, ResourceChange};
use weft_graph_format::graph::{Action, OperationId};
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;
use weft_providers::Provider;

use super::Problems;
use super::planned::{Leaving, PlannedInstance, Step};
use super::prior::{Prior, without_provenance};
use crate::planner::Planner;

/// An object that is not wanted any more.
#[derive(Clone, Copy)]
pub(crate) struct Unwanted<'a> {
    pub(crate) address: &'a ResourceInstance,
    /// Which object, when it is not the current one.
    pub(crate) deposed: Option<&'a DeposedKey>,
    /// The provider that it belongs to.
    pub(crate) instance: &'a ProviderInstance,
    pub(crate) provider: &'a Provider,
    pub(crate) schema: &'a Schema,
    /// The object as it was found.
    pub(crate) prior: &'a Prior,
    /// Why it is not wanted.
    pub(crate) reason: Reason,
}

/// How an object goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It is gone already: only state has to learn of it.
    Gone,
    /// It is left alone, for this reason.
    Forgotten(Reason),
    Deleted,
}

/// How an object goes: `left_alone` is why it is not deleted, `reason` why it is not wanted.
fn way(prior: &Prior, left_alone: Option<Reason>, reason: Reason) -> Way {
    match left_alone {
        _ if prior.value.is_null() => Way::Gone,
        // What is said of the object in any case counts more than that its block is gone.
        Some(Reason::DeleteBecauseNoResourceConfig) if reason != Reason::None => Way::Forgotten(reason),
        Some(why) => Way::Forgotten(why),
        None => Way::Deleted,
    }
}

/// The plan for an object that goes.
fn planned(
    of: Unwanted<'_>,
    way: Way,
    previous_address: Option<ResourceInstance>,
    leaving: Leaving,
) -> PlannedInstance {
    let (action, reason) = match way {
        Way::Forgotten(reason) => (Action::Forget, reason),
        Way::Gone | Way::Deleted => (Action::Delete, of.reason),
    };
    let change = ResourceChange {
        address: of.address.clone(),
        previous_address: previous_address.map(Box::new),
        deposed: of.deposed.cloned(),
        provider: of.instance.clone(),
        action: ChangeAction::Only(action),
        reason,
        before: without_provenance(&of.prior.value),
        after: Value::null(of.schema.block.implied_type()),
        replace_paths: Vec::new(),
        importing: None,
        before_record: Some(Box::new(of.prior.record.clone())),
        schema_version: of.schema.version,
    };
    let leaving = Box::new(leaving);
    let step = if action == Action::Forget { Step::Forget(leaving) } else { Step::Delete(leaving) };
    PlannedInstance { change, step: Some(step) }
}

impl Planner {
    /// Plans what happens to an object that goes: the provider is asked about a delete where it wants to be asked. Gives
    /// the operation that takes it away; `None` where it is gone already.
    pub(crate) async fn plan_leaving(&self, of: Unwanted<'_>) -> Result<Option<OperationId>, Problems> {
        let current = of.deposed.is_none().then_some(of.prior);
        let way = match of.prior.value.is_null() {
            true => Way::Gone,
            false => way(of.prior, self.left_alone(of.address, Some(of.prior)), of.reason),
        };
        let mut leaving = Leaving {
            deposed: of.deposed.cloned(),
            prior: of.prior.clone(),
            private: of.prior.private.clone(),
            farewell: Vec::new(),
        };
        match way {
            Way::Gone => {
                self.note_vanished(of);
                return Ok(None);
            }
            Way::Forgotten(_) => {}
            Way::Deleted => {
                if current.is_some() {
                    self.heed_protection(of.address, "destroyed");
                }
                leaving.private =
                    self.ask.private_for_delete(of.address, of.instance, of.provider, of.schema, of.prior).await?;
                leaving.farewell = current.map(|prior| self.farewell(of.address, prior)).unwrap_or_default();
            }
        }
        self.move_first(of.address, current, of.instance);
        let previous = self.facts.shown_previous(of.address);
        let planned = planned(of, way, previous, leaving);
        let mut agenda = self.agenda();
        agenda.effects.happens_to(of.address);
        Ok(agenda.take(planned))
    }

    /// Notes that an object is gone already.
    fn note_vanished(&self, of: Unwanted<'_>) {
        match of.deposed {
            None => self.note_record(of.address, None, of.instance),
            Some(key) => {
                self.move_first(of.address, None, of.instance);
                self.agenda().vanished.push((of.address.clone(), key.clone()));
            }
        }
        self.agenda().claims.add(of.address, true);
    }

    /// Plans to delete what is left of earlier replacements of the object `current`.
    pub(crate) async fn plan_deposed(
        &self,
        desired: &DesiredInstance,
        current: Option<&Prior>,
    ) -> Result<(), Problems> {
        let Some(stored) = self.facts.state.get(&desired.address) else { return Ok(()) };
        let deposed = &stored.instance.record.deposed;
        if !deposed.is_empty() {
            self.move_first(&desired.address, current, &desired.provider);
        }
        for (key, object) in deposed {
            let in_use = self.ask.providers.open(&desired.provider).await?;
            let through = (&desired.provider, &in_use.provider);
            let prior = self.ask.read(&desired.address, object, &desired.schema, through, self.ask.refresh).await?;
            let key = DeposedKey(key.as_str().into());
            self.plan_leaving(Unwanted {
                address: &desired.address,
                deposed: Some(&key),
                instance: &desired.provider,
                provider: &in_use.provider,
                schema: &desired.schema,
                prior: &prior,
                reason: Reason::None,
            })
            .await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways() {
        let there = Prior { value: Value::empty_object(), ..Prior::gone() };
        let (block_gone, in_config) =
            (Reason::DeleteBecauseNoResourceConfig, Reason::ForgotBecauseLifecycleDestroyInConfig);
        for (prior, left_alone, reason, want) in [
            (&there, None, Reason::DeleteBecauseCountIndex, Way::Deleted),
            (&there, Some(in_config), Reason::DeleteBecauseCountIndex, Way::Forgotten(in_config)),
            (&there, Some(block_gone), Reason::None, Way::Forgotten(block_gone)),
            (
                &there,
                Some(block_gone),
                Reason::DeleteBecauseNoMoveTarget,
                Way::Forgotten(Reason::DeleteBecauseNoMoveTarget),
            ),
            (&Prior::gone(), Some(in_config), Reason::None, Way::Gone),
            (&Prior::gone(), None, Reason::None, Way::Gone),
        ] {
            assert_eq!(way(prior, left_alone, reason), want, "{left_alone:?} {reason:?}");
        }
    }
}
