//! The targets of `replace_triggered_by`.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::InstanceKey;
use weft_graph_format::path::{Path, ValueStep};
use weft_syntax::{ExprKind, Expression, Key, StepKind};

use crate::config::ResourceBlock;
use crate::evaluation::ModuleNode;
use crate::evaluation::problems::resources as problems;
use crate::evaluation::repetition_data::RepetitionData;
use crate::glue::{Failed, Trigger};
use crate::reference::Referent;

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
                // Undeclared names are reported when references are checked.
                None if self.evaluation.purpose().checks_references() => {}
                None => {
                    return self.fail(problems::invalid_trigger(expression.range()));
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
        // `a.b[each.key].c` is a relative traversal from an index into a traversal.
        let mut tail = Vec::new();
        let mut computed_key = None;
        let mut here = expression.clone();
        let traversal = loop {
            if let Some(traversal) = here.as_traversal() {
                break traversal;
            }
            let next = match here.kind() {
                ExprKind::RelativeTraversal { source, steps } => {
                    tail.splice(0..0, steps.iter().cloned());
                    here.child(*source)
                }
                ExprKind::Index { collection, key, .. } => {
                    computed_key = Some(here.child(*key));
                    here.child(*collection)
                }
                _ => return Ok(None),
            };
            here = next;
        };
        let Ok(reference) = crate::reference::resolve(&expression.tree, &traversal) else { return Ok(None) };
        let Referent::Resource(resource) = &reference.subject else { return Ok(None) };
        if !self.config.resources.contains_key(resource) {
            return Ok(None);
        }
        let mut rest: Vec<_> = traversal.steps[reference.steps..].to_vec();
        let key = match computed_key {
            Some(expression) => {
                let value = self.evaluate(&expression, repeated).await?;
                let number = value.as_number().and_then(|n| n.to_u64()).and_then(InstanceKey::counted);
                match (value.as_str(), number) {
                    (Some(text), _) => Some(InstanceKey::String(SmolStr::new(text))),
                    (None, Some(number)) => Some(number),
                    (None, None) => return Ok(None),
                }
            }
            None => match rest.first().map(|s| s.kind.clone()) {
                Some(StepKind::Index(Key::String(text))) => {
                    rest.remove(0);
                    Some(InstanceKey::String(text))
                }
                Some(StepKind::Index(Key::Number(digits)) | StepKind::LegacyIndex(digits)) => {
                    rest.remove(0);
                    InstanceKey::written(digits.as_str())
                }
                _ => None,
            },
        };
        rest.extend(tail);
        let path = Path(
            rest.iter()
                .map(|step| match &step.kind {
                    StepKind::Attribute(name) => ValueStep::Attribute(name.clone()),
                    StepKind::Index(Key::String(text)) => ValueStep::Key(text.clone()),
                    StepKind::Index(Key::Number(digits)) | StepKind::LegacyIndex(digits) => {
                        ValueStep::Index(digits.parse().unwrap_or(u64::MAX))
                    }
                })
                .collect(),
        );
        Ok(Some(Trigger { resource: self.absolute(resource), key, path }))
    }
}
