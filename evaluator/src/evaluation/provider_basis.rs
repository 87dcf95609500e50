//! The inputs of provider instances that can disappear. The state remembers these inputs.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{InstanceKey, ProviderInstance};
use weft_syntax::{Expression, StepKind};

use super::module_node::ModuleNode;
use super::repetition_data::RepetitionData;
use crate::config::ProviderBlock;
use crate::glue::{ProviderBasis, RootVariable};

impl ModuleNode {
    /// Records the inputs of an instance of a provider block. No record is needed for an instance that can disappear
    /// only together with its block.
    pub(super) fn note_basis(
        self: &Arc<Self>,
        block: &ProviderBlock,
        instance: &ProviderInstance,
        repeated: &RepetitionData,
    ) {
        let keyed = instance.key != InstanceKey::None;
        if !self.evaluation.purpose().has_values() || !keyed && self.address.is_root() {
            return;
        }
        let each_value = if keyed { repeated.value.clone() } else { None };
        let basis = ProviderBasis { each_value, variables: self.argument_variables(block) };
        self.evaluation.glue.provider_basis(instance, basis);
    }

    /// The arguments of a block that are root variables or parts of them.
    fn argument_variables(self: &Arc<Self>, block: &ProviderBlock) -> BTreeMap<SmolStr, RootVariable> {
        let arguments = block.body.arguments();
        let found = arguments.attributes.iter().filter_map(|(tree, attribute)| {
            let variable = self.variable_behind(&tree.expression(attribute.expression))?;
            Some((attribute.name.text.clone(), variable))
        });
        found.collect()
    }

    /// The root variable that an expression refers to, directly or through the arguments of module calls. `None` for
    /// any other expression.
    fn variable_behind(self: &Arc<Self>, expression: &Expression) -> Option<RootVariable> {
        let mut node = self;
        let (mut name, mut attributes) = variable(expression)?;
        while let Some(caller) = &node.caller {
            let (argument, _) = caller.call.arguments.get(&name)?;
            let (outer, mut steps) = variable(argument)?;
            steps.append(&mut attributes);
            (name, attributes, node) = (outer, steps, &caller.parent);
        }
        Some(RootVariable { name, attributes })
    }
}

/// The name in `var.name.a.b`, and the attributes after it.
fn variable(expression: &Expression) -> Option<(SmolStr, Vec<SmolStr>)> {
    let traversal = expression.as_traversal().filter(|traversal| traversal.root.text == "var")?;
    let names: Option<Vec<SmolStr>> = traversal
        .steps
        .iter()
        .map(|step| match &step.kind {
            StepKind::Attribute(name) => Some(name.clone()),
            StepKind::Index(_) | StepKind::LegacyIndex(_) => None,
        })
        .collect();
    let mut names = names?.into_iter();
    Some((names.next()?, names.collect()))
}
