//! Objects that are deleted or forgotten.

use weft_evaluator::glue::DesiredInstance;
use weft_graph_format::address::{DeposedKey, ObjectName, ProviderInstance, ResourceInstance};
use weft_graph_format::changes::{ChangeAction, Reason, ResourceChange};
use weft_graph_format::graph::{Action, OperationId};
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;
use weft_providers::Provider;

use crate::agenda::planned::{Leaving, PlannedInstance, PlannedStep};
use crate::planner::Planner;
use crate::prior::{Prior, without_provenance};
use crate::problems::Problems;

/// An object that is no longer wanted.
#[derive(Clone, Copy)]
pub(crate) struct Unwanted<'a> {
    pub(crate) address: &'a ResourceInstance,
    /// The deposed key, or `None` for the current object.
    pub(crate) deposed: Option<&'a DeposedKey>,
    /// The provider of the object.
    pub(crate) instance: &'a ProviderInstance,
    pub(crate) provider: &'a Provider,
    pub(crate) schema: &'a Schema,
    /// The object as it was read.
    pub(crate) prior: &'a Prior,
    /// The reason why the object is not wanted.
    pub(crate) reason: Reason,
}

/// What happens to an unwanted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The object no longer exists. Only the state changes.
    Gone,
    /// The object is forgotten, for this reason.
    Forgotten(Reason),
    Deleted,
}

/// Chooses what happens to an unwanted object. `left_alone` is the reason to forget the object instead of deleting it.
/// `reason` is the reason why the object is unwanted, and `is_deposed` says whether the object is deposed.
fn way(prior: &Prior, left_alone: Option<Reason>, reason: Reason, is_deposed: bool) -> Way {
    match left_alone {
        _ if prior.value.is_null() => Way::Gone,
        // A deposed object is unwanted even if its resource has a block.
        Some(Reason::DeleteBecauseNoResourceConfig) if is_deposed => Way::Forgotten(reason),
        // A specific reason takes precedence over the missing block.
        Some(Reason::DeleteBecauseNoResourceConfig) if reason != Reason::None => Way::Forgotten(reason),
        Some(why) => Way::Forgotten(why),
        None => Way::Deleted,
    }
}

/// The plan for an unwanted object.
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
    let step = if action == Action::Forget { PlannedStep::Forget(leaving) } else { PlannedStep::Delete(leaving) };
    PlannedInstance { change, step: Some(step) }
}

/// The entry of the plan for a deposed object that no longer exists. As in OpenTofu, nothing happens to the object.
fn shown_as_gone(of: Unwanted<'_>) -> ResourceChange {
    let nothing = Value::null(of.schema.block.implied_type());
    ResourceChange {
        address: of.address.clone(),
        previous_address: None,
        deposed: of.deposed.cloned(),
        provider: of.instance.clone(),
        action: ChangeAction::Only(Action::NoOp),
        reason: Reason::None,
        before: nothing.clone(),
        after: nothing,
        replace_paths: Vec::new(),
        importing: None,
        before_record: None,
        schema_version: of.schema.version,
    }
}

impl Planner {
    /// Plans the delete or the forget of an unwanted object. If the provider plans deletes, it is asked to plan this
    /// delete. Returns the operation, or `None` if the object no longer exists.
    pub(crate) async fn plan_leaving(&self, of: Unwanted<'_>) -> Result<Option<OperationId>, Problems> {
        let current = of.deposed.is_none().then_some(of.prior);
        let way = match of.prior.value.is_null() {
            true => Way::Gone,
            false => {
                let left_alone = self.left_alone(of.address, of.deposed, Some(of.prior));
                way(of.prior, left_alone, of.reason, of.deposed.is_some())
            }
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
                if let Some(prior) = current {
                    leaving.farewell = self.farewell(of.address, prior)?;
                }
            }
        }
        self.move_first(of.address, current, of.instance);
        let previous = self.facts.shown_previous(of.address);
        let planned = planned(of, way, previous, leaving);
        let mut agenda = self.agenda();
        // Readers of the instance see its current object, so the delete of an old object concerns none of them.
        if of.deposed.is_none() {
            agenda.effects.happens_to(of.address);
        }
        Ok(agenda.take(planned))
    }

    /// Records that an object no longer exists.
    pub(crate) fn note_vanished(&self, of: Unwanted<'_>) {
        match of.deposed {
            None => self.note_record(of.address, None, of.instance),
            Some(key) => {
                self.move_first(of.address, None, of.instance);
                let mut agenda = self.agenda();
                agenda.vanished.push((of.address.clone(), key.clone()));
                if self.facts.rules.makes_objects {
                    agenda.changes.push(shown_as_gone(of));
                }
            }
        }
        self.agenda().claims.add(of.address, true);
    }

    /// Plans the deposed objects of an instance, according to the kind of plan. Does nothing if the plan contains the
    /// instance only because selected objects depend on it. `current` is the current object of the instance.
    pub(crate) async fn plan_deposed(
        &self,
        desired: &DesiredInstance,
        current: Option<&Prior>,
    ) -> Result<(), Problems> {
        let Some(stored) = self.facts.state.get(&desired.address).filter(|_| self.facts.may_go(&desired.address))
        else {
            return Ok(());
        };
        let deposed = &stored.instance.record.deposed;
        if !deposed.is_empty() {
            self.move_first(&desired.address, current, &desired.provider);
        }
        for (key, object) in deposed {
            let in_use = self.ask.providers.open(&desired.provider).await?;
            let through = (&desired.provider, &in_use.provider);
            let name = ObjectName { address: &desired.address, deposed: Some(key) };
            let prior = self.ask.read(name, object, &desired.schema, through, self.ask.refresh).await?;
            self.found().deposed.insert((desired.address.clone(), key.clone()), prior.clone());
            let deposed = Unwanted {
                address: &desired.address,
                deposed: Some(key),
                instance: &desired.provider,
                provider: &in_use.provider,
                schema: &desired.schema,
                prior: &prior,
                reason: Reason::None,
            };
            self.kind().plan_orphan(self, deposed).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_leaves_by_the_way_of_its_reason() {
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
            assert_eq!(way(prior, left_alone, reason, false), want, "{left_alone:?} {reason:?}");
        }
        assert_eq!(way(&there, Some(block_gone), Reason::None, true), Way::Forgotten(Reason::None));
        assert_eq!(way(&there, Some(in_config), Reason::None, true), Way::Forgotten(in_config));
    }
}
