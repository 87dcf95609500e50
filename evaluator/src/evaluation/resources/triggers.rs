//! The targets of `replace_triggered_by`.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::InstanceKey;
use weft_graph_format::origin::Origin;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::value::Value;
use weft_syntax::Expression;

use crate::config::{ResourceBlock, TriggerPart, trigger_parts};
use crate::evaluation::ModuleNode;
use crate::evaluation::repetition_data::RepetitionData;
use crate::glue::{Failed, Trigger};
use crate::problems::invalid_trigger;
use crate::reference::{Referent, resolve, value_step};

impl ModuleNode {
    /// The targets of `replace_triggered_by` for this instance, and their origins. The instance changes only after its
    /// targets, as with `depends_on`.
    pub(super) async fn triggers(
        self: &Arc<Self>,
        block: &ResourceBlock,
        repeated: &RepetitionData,
    ) -> Result<(Vec<Trigger>, Option<Origin>), Failed> {
        let (mut found, mut origins) = (Vec::new(), Vec::new());
        for expression in &block.lifecycle.replace_triggered_by {
            match self.trigger(expression, repeated).await? {
                // A trigger of the block's own resource has no effect.
                Some(trigger) if trigger.resource.resource == block.resource => {}
                Some(trigger) => {
                    // The target must be planned before this instance.
                    let whole = &self.resource(&trigger.resource.resource).await?.whole;
                    origins.extend(match &trigger.key {
                        Some(key) => instance_of(whole, key).and_then(|instance| instance.deep_origin()),
                        None => whole.deep_origin(),
                    });
                    found.push(trigger);
                }
                // Undeclared names and wrong forms are reported when references are checked.
                None if self.evaluation.purpose().checks_references() => {}
                None => {
                    let problem = trigger_parts(expression).err();
                    return self.fail(problem.unwrap_or_else(|| invalid_trigger(expression.range())));
                }
            }
        }
        Ok((found, Origin::union(origins)))
    }

    async fn trigger(
        self: &Arc<Self>,
        expression: &Expression,
        repeated: &RepetitionData,
    ) -> Result<Option<Trigger>, Failed> {
        let Ok((traversal, tail)) = trigger_parts(expression) else { return Ok(None) };
        let Ok(reference) = resolve(&expression.tree, &traversal) else { return Ok(None) };
        let Referent::Resource(resource) = &reference.subject else { return Ok(None) };
        if !self.config.resources.contains_key(resource) {
            return Ok(None);
        }
        let own = traversal.steps[reference.steps..].iter().map(|step| TriggerPart::Step(step.kind.clone()));
        let mut steps = Vec::new();
        for part in own.chain(tail) {
            steps.push(match part {
                TriggerPart::Step(step) => Some(value_step(&step)),
                TriggerPart::Key(key) => step_of(&self.evaluate(&key, repeated).await?),
            });
        }
        let Some(mut steps) = steps.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        let key = match steps.first() {
            Some(ValueStep::Key(text)) => Some(InstanceKey::String(text.clone())),
            Some(ValueStep::Index(index)) => InstanceKey::counted(*index),
            _ => None,
        };
        let path = Path(steps.split_off(usize::from(key.is_some())));
        Ok(Some(Trigger { resource: self.absolute(resource), key, path }))
    }
}

/// An instance in the value of a resource with `count` or `for_each`.
fn instance_of(whole: &Value, key: &InstanceKey) -> Option<Value> {
    whole.step(&match key {
        InstanceKey::None => return None,
        InstanceKey::Int(index) => ValueStep::Index(u64::try_from(*index).ok()?),
        InstanceKey::String(text) => ValueStep::Key(text.clone()),
    })
}

fn step_of(key: &Value) -> Option<ValueStep> {
    match key.as_str() {
        Some(text) => Some(ValueStep::Key(SmolStr::new(text))),
        None => key.as_number()?.to_u64().map(ValueStep::Index),
    }
}
