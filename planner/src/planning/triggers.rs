//! `replace_triggered_by`.

use std::ops::Bound;

use weft_evaluator::glue::Trigger;
use weft_graph_format::address::{AbsResource, InstanceKey, ResourceInstance, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::value::Value;

use super::Planning;

impl Planning {
    /// Whether what a trigger names changes. Everything that it names is planned already, so the answer for a whole
    /// resource is found once.
    ///
    /// What has no part in the plan at all cannot trigger anything, and is an error: an instance that does not exist,
    /// a resource without instances, a data source that was read already.
    pub(crate) fn fires(&self, trigger: &Trigger) -> Result<bool, Diagnostic> {
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
            if let Some(altered) = self.altered.lock().get(&trigger.resource).and_then(|a| a.get(&address)) {
                return Ok(differs(altered));
            }
            let read_later = || self.altered.lock().contains_key(&trigger.resource);
            let there = match trigger.resource.resource.mode {
                ResourceMode::Managed => self.desired.lock().contains(&address) || self.stored(&address).is_some(),
                ResourceMode::Data | ResourceMode::Ephemeral => read_later(),
            };
            return if there { Ok(false) } else { Err(no_change(trigger)) };
        }
        let question = (trigger.resource.clone(), trigger.path.clone());
        let found = self.fired.lock().get(&question).copied();
        let answer = match found {
            Some(answer) => answer,
            None => {
                let fired = self.altered.lock().get(&trigger.resource).map(|a| a.values().any(differs));
                let answer = fired.or_else(|| self.is_in_plan(trigger).then_some(false));
                self.fired.lock().insert(question, answer);
                answer
            }
        };
        answer.ok_or_else(|| no_change(trigger))
    }

    /// Whether a managed resource has instances, wanted or in state.
    fn is_in_plan(&self, trigger: &Trigger) -> bool {
        if trigger.resource.resource.mode != ResourceMode::Managed {
            return false;
        }
        let wanted = self.resources.lock().get(&trigger.resource).is_some_and(|expansion| !expansion.keys.is_empty());
        wanted || self.stored_instances(&trigger.resource).next().is_some()
    }

    /// The instances that state has of a resource.
    pub(super) fn stored_instances(&self, resource: &AbsResource) -> impl Iterator<Item = ResourceInstance> {
        // In state it is `a.b`, or `a.b["x"]`, `a.b[0]` and so on.
        let name = resource.to_string();
        let keyed = format!("{name}[");
        let single = self.snapshot.instances.get_key_value(&name).map(|(address, _)| address);
        let behind = self.snapshot.instances.range((Bound::Included(keyed.clone()), Bound::Unbounded));
        let repeated = behind.map(|(address, _)| address).take_while(move |address| address.starts_with(&keyed));
        single.into_iter().chain(repeated).filter_map(|address| address.parse().ok())
    }
}

/// The message is for people who know OpenTofu: it has no place there either.
fn no_change(trigger: &Trigger) -> Diagnostic {
    let key = match &trigger.key {
        Some(key) => key.clone(),
        None => InstanceKey::None,
    };
    let module = &trigger.resource.module;
    let module = if module.is_root() { "the root module".to_string() } else { module.to_string() };
    Diagnostic::error(
        format!("no change found for {}{key} in {module}", trigger.resource.resource),
        "Only managed resources that have instances, and data sources that are read at apply, can be named in \
         replace_triggered_by.",
    )
}
