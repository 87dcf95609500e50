//! Evaluation for inspections: stored objects, and the named values that refer to them.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use weft_graph_format::address::{InstanceKey, ResourceMode};
use weft_graph_format::marks::Marks;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::instances::MOST_INSTANCES;
use super::module_node::{Instances, ModuleNode};
use super::resources::unknown_object;
use crate::config::{Repetition, ResourceBlock};
use crate::glue::Failed;

impl ModuleNode {
    /// The value of a resource from state, in the form that matches its repetition.
    pub(super) async fn stored(self: &Arc<Self>, block: &ResourceBlock) -> Result<Arc<Instances>, Failed> {
        let schema = self.schema_of(block).await?;
        let whole = match block.resource.mode {
            ResourceMode::Ephemeral => Value::unknown(Type::Dynamic).mark(&Marks::EPHEMERAL),
            ResourceMode::Managed | ResourceMode::Data => {
                let source = self.config.provider_source(&block.provider_local_name());
                let resource = self.absolute(&block.resource);
                let objects = self.evaluation.glue.stored(&resource, &source, &schema).await;
                let settled = self.evaluation.purpose().has_whole_state();
                let missing = || match &block.repetition {
                    // If a resource has no objects, an unknown object is enough to answer questions about the type of
                    // the resource.
                    Repetition::Single if !settled => unknown_object(&schema.block),
                    _ => self.evaluation.glue.missing(),
                };
                in_shape_of(&block.repetition, objects, settled, missing)
            }
        };
        Ok(Arc::new(Instances { whole, in_validation: None }))
    }

    /// Evaluates the variables, locals and outputs of this module and its descendants.
    pub(super) async fn named_values(self: &Arc<Self>) -> Result<(), Failed> {
        let mut pending: Vec<BoxFuture<'static, Result<(), Failed>>> = Vec::new();
        pending.extend(self.config.variables.keys().map(|name| self.variable(name).map(|r| r.map(|_| ())).boxed()));
        pending.extend(self.config.locals.keys().map(|name| self.local(name).map(|r| r.map(|_| ())).boxed()));
        pending.extend(self.config.outputs.keys().map(|name| self.output(name).map(|r| r.map(|_| ())).boxed()));
        let calls: Vec<_> = self.config.children.keys().map(|name| self.call(name)).collect();
        let mut failed = false;
        for call in calls {
            match call.await {
                Ok(instances) => pending.extend(instances.nodes.values().map(|child| child.everything())),
                Err(Failed) => failed = true,
            }
        }
        for one in pending {
            failed |= one.await.is_err();
        }
        if failed { Err(Failed) } else { Ok(()) }
    }
}

/// The value of references to a resource, from its stored objects. `unknown` returns the placeholder for a missing
/// object. A resource without stored objects has the placeholder as its value. If `settled` says that the state is
/// complete, this applies only to resources without repetition: the others are empty or null.
fn in_shape_of(
    repetition: &Repetition,
    objects: Vec<(InstanceKey, Value)>,
    settled: bool,
    unknown: impl Fn() -> Value,
) -> Value {
    if objects.is_empty() && !settled {
        return unknown();
    }
    match repetition {
        Repetition::Enabled(_) if objects.is_empty() => Value::null(Type::Dynamic),
        Repetition::Single | Repetition::Enabled(_) => {
            let only = objects.into_iter().find(|(key, _)| *key == InstanceKey::None);
            only.map_or_else(unknown, |(_, value)| value)
        }
        Repetition::Count(_) => {
            let mut items = Vec::new();
            for (key, value) in objects {
                let InstanceKey::Int(index) = key else { continue };
                let index = u64::try_from(index).ok().filter(|index| *index < MOST_INSTANCES);
                let Some(index) = index.and_then(|index| usize::try_from(index).ok()) else { continue };
                if items.len() <= index {
                    items.resize_with(index + 1, &unknown);
                }
                items[index] = value;
            }
            Value::tuple(items)
        }
        Repetition::ForEach(_) => Value::object(objects.into_iter().filter_map(|(key, value)| match key {
            InstanceKey::String(key) => Some((key, value)),
            InstanceKey::None | InstanceKey::Int(_) => None,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_syntax::parse_expression;

    fn repetition(make: fn(weft_syntax::Expression) -> Repetition) -> Repetition {
        make(parse_expression("x", std::sync::Arc::from("1"), weft_graph_format::source::Position::START).0)
    }

    #[test]
    fn stored_objects_take_the_shape_of_the_repetition() {
        let unknown = Value::unknown(Type::Dynamic);
        let anything = || Value::unknown(Type::Dynamic);
        let in_shape_of = |repetition: &Repetition, objects| in_shape_of(repetition, objects, false, anything);
        let one = || Value::string("one");
        assert_eq!(in_shape_of(&Repetition::Single, vec![]), unknown);
        assert_eq!(in_shape_of(&Repetition::Single, vec![(InstanceKey::None, one())]), one());
        // This object was stored when the resource still had `count`.
        assert_eq!(in_shape_of(&Repetition::Single, vec![(InstanceKey::Int(0), one())]), unknown);
        let count = repetition(Repetition::Count);
        let beyond = [-1, 1, i64::MAX].map(|index| (InstanceKey::Int(index), one()));
        let gap = in_shape_of(&count, beyond.to_vec());
        assert_eq!(gap, Value::tuple(vec![unknown, one()]));
        let each = repetition(Repetition::ForEach);
        let object = in_shape_of(&each, vec![(InstanceKey::None, one()), (InstanceKey::String("k".into()), one())]);
        assert_eq!(object, Value::object([("k", one())]));
        assert_eq!(in_shape_of(&count, vec![]), Value::unknown(Type::Dynamic));
        assert_eq!(super::in_shape_of(&count, vec![], true, anything), Value::tuple(vec![]));
        assert_eq!(super::in_shape_of(&each, vec![], true, anything), Value::empty_object());
    }
}
