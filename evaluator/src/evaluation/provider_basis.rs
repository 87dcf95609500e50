//! The inputs of provider instances that can disappear. The state remembers these inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{InstanceKey, ModuleInstance, ProviderInstance};
use weft_syntax::{ExprKind, Expression, StepKind, TemplatePart};

use super::module_node::ModuleNode;
use super::repetition_data::RepetitionData;
use crate::config::ProviderBlock;
use crate::glue::{ArgumentBasis, ProviderBasis, RootPart, RootTemplate, RootVariable};
use crate::reference::{Reference, Referent, references_of};

/// The maximum number of expressions that a template is made of. A local can use another local several times, so short
/// configurations can have very long templates.
const MOST_EXPRESSIONS: usize = 256;

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
        let basis = ProviderBasis { each_value, arguments: self.argument_bases(block) };
        self.evaluation.glue.provider_basis(instance, basis);
    }

    /// The arguments of a block that read root variables.
    fn argument_bases(self: &Arc<Self>, block: &ProviderBlock) -> BTreeMap<SmolStr, ArgumentBasis> {
        let arguments = block.body.arguments();
        let found = arguments.attributes.iter().filter_map(|(tree, attribute)| {
            let expression = tree.expression(attribute.expression);
            let (mut reads, mut budget) = (Reads::default(), MOST_EXPRESSIONS);
            reads.follow(self, &references_of(&expression, &mut Vec::new()));
            let template = self.parts(&expression, &mut budget).map(RootTemplate);
            let basis = ArgumentBasis { variables: reads.variables, template };
            (!basis.variables.is_empty()).then(|| (attribute.name.text.clone(), basis))
        });
        found.collect()
    }

    /// The value of an expression as the parts of a template over root variables. `None` for any other expression.
    fn parts(self: &Arc<Self>, expression: &Expression, budget: &mut usize) -> Option<Vec<RootPart>> {
        *budget = budget.checked_sub(1)?;
        let expression = expression.without_parentheses();
        match expression.kind() {
            ExprKind::TemplateWrap { inner } => self.parts(&expression.child(*inner), budget),
            ExprKind::Template(template) => {
                let mut found = Vec::new();
                for part in &template.parts {
                    match part {
                        TemplatePart::Literal { text, .. } => found.push(RootPart::Text(text.clone())),
                        TemplatePart::Interpolation { expression: inner, .. } => {
                            found.extend(self.parts(&expression.child(*inner), budget)?);
                        }
                        _ => return None,
                    }
                }
                Some(found)
            }
            ExprKind::Call(call) if call.name == "sensitive" && !call.expand_final => match call.arguments.as_slice() {
                [argument] => without_text(self.parts(&expression.child(*argument), budget)?),
                _ => None,
            },
            _ => self.referred(&expression, budget),
        }
    }

    /// The parts of a reference to a variable or a local.
    fn referred(self: &Arc<Self>, expression: &Expression, budget: &mut usize) -> Option<Vec<RootPart>> {
        let (root, name, mut attributes) = named(expression)?;
        let mut parts = match (root.as_str(), &self.caller) {
            ("var", None) => return Some(vec![RootPart::Variable(RootVariable { name, attributes })]),
            ("var", Some(caller)) => {
                let (argument, _) = caller.call.arguments.get(&name)?;
                let parts = caller.parent.parts(argument, budget)?;
                match self.config.variables.get(&name)?.marks().is_empty() {
                    true => parts,
                    false => without_text(parts)?,
                }
            }
            ("local", _) => self.parts(&self.config.locals.get(&name)?.value, budget)?,
            _ => return None,
        };
        match (attributes.is_empty(), parts.as_mut_slice()) {
            (true, _) => Some(parts),
            (false, [RootPart::Variable(variable)]) => {
                variable.attributes.append(&mut attributes);
                Some(parts)
            }
            _ => None,
        }
    }
}

/// The parts of a value that is secret as a whole. `None` if a part is text of the configuration, because this text
/// would be secret, too.
fn without_text(parts: Vec<RootPart>) -> Option<Vec<RootPart>> {
    parts.iter().all(|part| matches!(part, RootPart::Variable(_))).then_some(parts)
}

/// The first two names of a reference such as `var.name.a.b`, and the attributes after them.
fn named(expression: &Expression) -> Option<(SmolStr, SmolStr, Vec<SmolStr>)> {
    let traversal = expression.as_traversal()?;
    let names: Option<Vec<SmolStr>> = traversal
        .steps
        .iter()
        .map(|step| match &step.kind {
            StepKind::Attribute(name) => Some(name.clone()),
            StepKind::Index(_) | StepKind::LegacyIndex(_) => None,
        })
        .collect();
    let mut names = names?.into_iter();
    Some((traversal.root.text.clone(), names.next()?, names.collect()))
}

/// A search for the root variables behind references.
#[derive(Default)]
struct Reads {
    variables: BTreeSet<SmolStr>,
    /// The variables and locals that were visited.
    seen: BTreeSet<(ModuleInstance, Referent)>,
}

impl Reads {
    fn follow(&mut self, node: &Arc<ModuleNode>, references: &[Reference]) {
        let mut pending: Vec<(Arc<ModuleNode>, Referent)> =
            references.iter().map(|reference| (node.clone(), reference.subject.clone())).collect();
        while let Some((node, subject)) = pending.pop() {
            if !self.seen.insert((node.address.clone(), subject.clone())) {
                continue;
            }
            let mut add = |node: &Arc<ModuleNode>, references: &[Reference]| {
                pending.extend(references.iter().map(|reference| (node.clone(), reference.subject.clone())));
            };
            match (subject, &node.caller) {
                (Referent::Variable(name), None) => {
                    self.variables.insert(name);
                }
                (Referent::Variable(name), Some(caller)) => {
                    if let Some((argument, _)) = caller.call.arguments.get(&name) {
                        add(&caller.parent, &references_of(argument, &mut Vec::new()));
                    }
                }
                (Referent::Local(name), _) => {
                    if let Some(local) = node.config.locals.get(&name) {
                        add(&node, &local.references);
                    }
                }
                _ => {}
            }
        }
    }
}
