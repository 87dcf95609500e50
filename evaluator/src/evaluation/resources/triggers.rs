//! The targets of `replace_triggered_by`.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::InstanceKey;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::value::Value;
use weft_syntax::{ExprKind, Expression, Key, StepKind, Traversal};

use crate::config::{ResourceBlock, trigger_problem};
use crate::evaluation::ModuleNode;
use crate::evaluation::repetition_data::RepetitionData;
use crate::glue::{Failed, Trigger};
use crate::problems::invalid_trigger;
use crate::reference::{Referent, resolve};

impl ModuleNode {
    /// The targets of `replace_triggered_by` for this instance.
    pub(super) async fn triggers(
        self: &Arc<Self>,
        block: &ResourceBlock,
        repeated: &RepetitionData,
    ) -> Result<Vec<Trigger>, Failed> {
        let mut found = Vec::new();
        for expression in &block.lifecycle.replace_triggered_by {
            match self.trigger(expression, repeated).await? {
                // A trigger of the block's own resource has no effect.
                Some(trigger) if trigger.resource.resource == block.resource => {}
                Some(trigger) => {
                    // The target must be planned before this instance.
                    self.resource(&trigger.resource.resource).await?;
                    found.push(trigger);
                }
                // Undeclared names and wrong forms are reported when references are checked.
                None if self.evaluation.purpose().checks_references() => {}
                None => {
                    let problem = trigger_problem(expression);
                    return self.fail(problem.unwrap_or_else(|| invalid_trigger(expression.range())));
                }
            }
        }
        Ok(found)
    }

    async fn trigger(
        self: &Arc<Self>,
        expression: &Expression,
        repeated: &RepetitionData,
    ) -> Result<Option<Trigger>, Failed> {
        if trigger_problem(expression).is_some() {
            return Ok(None);
        }
        let Some((traversal, tail)) = parts(expression) else { return Ok(None) };
        let Ok(reference) = resolve(&expression.tree, &traversal) else { return Ok(None) };
        let Referent::Resource(resource) = &reference.subject else { return Ok(None) };
        if !self.config.resources.contains_key(resource) {
            return Ok(None);
        }
        let own = traversal.steps[reference.steps..].iter().map(|step| Part::Step(step.kind.clone()));
        let mut steps = Vec::new();
        for part in own.chain(tail) {
            steps.push(match part {
                Part::Step(StepKind::Attribute(name)) => Some(ValueStep::Attribute(name)),
                Part::Step(StepKind::Index(Key::String(text))) => Some(ValueStep::Key(text)),
                Part::Step(StepKind::Index(Key::Number(digits)) | StepKind::LegacyIndex(digits)) => {
                    Some(ValueStep::Index(digits.parse().unwrap_or(u64::MAX)))
                }
                Part::Key(key) => step_of(&self.evaluate(&key, repeated).await?),
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

/// A step of an entry.
enum Part {
    /// A literal step.
    Step(StepKind),
    /// An index with `count.index` or `each.key`.
    Key(Expression),
}

/// The traversal that an entry begins with, and the steps behind it: `a.b[each.key].c` is a relative traversal from an
/// index into a traversal. `None` for other expressions.
fn parts(expression: &Expression) -> Option<(Traversal, Vec<Part>)> {
    let mut tail = Vec::new();
    let mut here = expression.clone();
    let traversal = loop {
        if let Some(traversal) = here.as_traversal() {
            break traversal;
        }
        here = match here.kind() {
            ExprKind::RelativeTraversal { source, steps } => {
                tail.extend(steps.iter().rev().map(|step| Part::Step(step.kind.clone())));
                here.child(*source)
            }
            ExprKind::Index { collection, key, .. } => {
                tail.push(Part::Key(here.child(*key)));
                here.child(*collection)
            }
            _ => return None,
        };
    };
    tail.reverse();
    Some((traversal, tail))
}

fn step_of(key: &Value) -> Option<ValueStep> {
    match key.as_str() {
        Some(text) => Some(ValueStep::Key(SmolStr::new(text))),
        None => key.as_number()?.to_u64().map(ValueStep::Index),
    }
}
