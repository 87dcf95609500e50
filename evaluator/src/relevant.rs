//! Finds the attributes of resources that a plan depends on, according to the configuration.
//!
//! Nothing is evaluated. The walk starts at the changes and follows references through variables, locals, outputs and
//! the arguments of resources. In OpenTofu, the list of these attributes is called `relevant_attributes`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{
    AbsResource, InstanceKey, ModuleInstance, ProviderSource, Resource, ResourceInstance, ResourceMode,
};
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::schema::{Block, Nesting, ProviderSchema};
use weft_syntax::NameRole;

use crate::config::{BodySource, CompiledModule, Repetition, ResourceBlock, references_of_blocks};
use crate::reference::{Reference, Referent, references_of};

/// The changes of a plan.
#[derive(Clone, Debug, Default)]
pub struct Changed {
    /// Resources with at least one changed instance.
    pub resources: BTreeSet<AbsResource>,
    /// Outputs, each with the module instance that declares it.
    pub outputs: BTreeSet<(ModuleInstance, SmolStr)>,
}

/// The attributes that contribute to changes. An empty path is the whole object. An instance without a key stands for
/// all instances of a resource with `count` or `for_each`. If the type of a resource has no schema, the arguments of
/// the resource are not searched for references.
pub fn relevant_attributes(
    root: &Arc<CompiledModule>,
    schemas: &BTreeMap<ProviderSource, Arc<ProviderSchema>>,
    changed: &Changed,
) -> BTreeSet<(ResourceInstance, Path)> {
    let mut search = Search { root, schemas, found: BTreeSet::new(), pending: Vec::new(), visited: BTreeSet::new() };
    for resource in &changed.resources {
        search.visit(ConfigurationPart::Resource(resource.clone(), Path::ROOT));
    }
    for (module, output) in &changed.outputs {
        search.visit(ConfigurationPart::Output(module.clone(), output.clone()));
    }
    while let Some(place) = search.pending.pop() {
        search.look(&place);
    }
    search.found
}

/// A part of the configuration that has references.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ConfigurationPart {
    Variable(ModuleInstance, SmolStr),
    Local(ModuleInstance, SmolStr),
    Output(ModuleInstance, SmolStr),
    /// All outputs of a module.
    Outputs(ModuleInstance),
    /// The `count` or `for_each` of a resource.
    Repetition(AbsResource),
    /// The arguments of a resource at a path.
    Resource(AbsResource, Path),
}

struct Search<'a> {
    root: &'a Arc<CompiledModule>,
    schemas: &'a BTreeMap<ProviderSource, Arc<ProviderSchema>>,
    found: BTreeSet<(ResourceInstance, Path)>,
    pending: Vec<ConfigurationPart>,
    visited: BTreeSet<ConfigurationPart>,
}

impl<'a> Search<'a> {
    fn visit(&mut self, place: ConfigurationPart) {
        if self.visited.insert(place.clone()) {
            self.pending.push(place);
        }
    }

    fn module(&self, instance: &ModuleInstance) -> Option<Arc<CompiledModule>> {
        let mut module = self.root;
        for step in instance.0.iter() {
            module = module.children.get(&step.name)?;
        }
        Some(module.clone())
    }

    fn look(&mut self, place: &ConfigurationPart) -> Option<()> {
        match place {
            ConfigurationPart::Variable(instance, name) => {
                let (last, caller) = (instance.0.last()?, instance.parent()?);
                let module = self.module(&caller)?;
                let (argument, _) = module.calls.get(&last.name)?.arguments.get(name)?;
                self.refer(&caller, None, &references_of(argument, &mut Vec::new()));
            }
            ConfigurationPart::Local(instance, name) => {
                let local = self.module(instance)?.locals.get(name)?.clone();
                self.refer(instance, None, &local.references);
            }
            ConfigurationPart::Output(instance, name) => {
                let output = self.module(instance)?.outputs.get(name)?.clone();
                self.refer(instance, None, &references_of(&output.value, &mut Vec::new()));
            }
            ConfigurationPart::Outputs(instance) => {
                for name in self.module(instance)?.outputs.keys() {
                    self.visit(ConfigurationPart::Output(instance.clone(), name.clone()));
                }
            }
            ConfigurationPart::Repetition(resource) => {
                let block = self.module(&resource.module)?.resources.get(&resource.resource)?.clone();
                if let Repetition::Count(repetition) | Repetition::ForEach(repetition) = &block.repetition {
                    self.refer(&resource.module, None, &references_of(repetition, &mut Vec::new()));
                }
            }
            ConfigurationPart::Resource(resource, path) => {
                let module = self.module(&resource.module)?;
                let block = module.resources.get(&resource.resource)?;
                let schema = self.schema(&module, block)?;
                self.refer(&resource.module, Some(resource), &references_at(&block.body, schema, path));
            }
        }
        Some(())
    }

    fn schema(&self, module: &CompiledModule, block: &ResourceBlock) -> Option<&'a Block> {
        let provider = self.schemas.get(&module.provider_source(&block.provider_local_name()))?;
        let Resource { mode, type_name, .. } = &block.resource;
        Some(match mode {
            ResourceMode::Managed => &provider.resources.get(type_name)?.block,
            ResourceMode::Data => &provider.data_sources.get(type_name)?.block,
            ResourceMode::Ephemeral => &provider.ephemeral.get(type_name)?.block,
        })
    }

    /// Visits a reference in a module instance, and in the arguments of a resource if one is given.
    fn refer(&mut self, module: &ModuleInstance, within: Option<&AbsResource>, references: &[Reference]) {
        for reference in references {
            let place = match &reference.subject {
                Referent::Variable(name) => ConfigurationPart::Variable(module.clone(), name.clone()),
                Referent::Local(name) => ConfigurationPart::Local(module.clone(), name.clone()),
                Referent::Module(name, output) => {
                    let callee = module.child(name, reference.key.clone().unwrap_or_default());
                    match output {
                        Some(output) => ConfigurationPart::Output(callee, output.clone()),
                        None => ConfigurationPart::Outputs(callee),
                    }
                }
                Referent::EachKey | Referent::EachValue | Referent::CountIndex => match within {
                    Some(resource) => ConfigurationPart::Repetition(resource.clone()),
                    None => continue,
                },
                Referent::Resource(resource) => {
                    let resource = AbsResource { module: module.clone(), resource: resource.clone() };
                    let first = reference.attribute.iter().map(|name| ValueStep::Attribute(name.clone()));
                    let path = Path(first.chain(reference.rest.iter().map(|(step, _)| step.clone())).collect());
                    let key = reference.key.clone().unwrap_or(InstanceKey::None);
                    self.found.insert((resource.instance(key), path.clone()));
                    ConfigurationPart::Resource(resource, path)
                }
                Referent::SelfObject | Referent::Path(_) | Referent::Terraform(..) | Referent::ProviderFunction(..) => {
                    continue;
                }
            };
            self.visit(place);
        }
    }
}

/// The references that determine the value at a path:
///
/// - A path to an argument, or into the value of an argument: the references in the whole expression of the argument.
/// - The empty path: all references of the body.
/// - A path that ends at a block: all references of the block. If the block may occur several times, all references of
///   the body around it.
/// - A path into a block that may occur several times: none of this block.
///
/// A `dynamic` block that generates a block on the path counts as a whole.
fn references_at(body: &BodySource, schema: &Block, path: &Path) -> Vec<Reference> {
    let mut bodies = vec![body.clone()];
    let (mut found, mut schema) = (Vec::new(), schema);
    let mut steps = path.0.iter().peekable();
    while let Some(step) = steps.next() {
        let (ValueStep::Attribute(name) | ValueStep::Key(name)) = step else { return found };
        if schema.attributes.contains_key(name) {
            for body in &bodies {
                let content = body.content(&|other| if other == name { NameRole::Argument } else { NameRole::Hidden });
                // The content of a body in the native syntax has all its arguments.
                for (tree, attribute) in content.attributes.iter().filter(|(_, own)| own.name.text == *name) {
                    found.extend(references_of(&tree.expression(attribute.expression), &mut Vec::new()));
                }
            }
            return found;
        }
        let Some(nested) = schema.blocks.get(name) else { return found };
        if !matches!(nested.nesting, Nesting::Single | Nesting::Group) {
            if steps.peek().is_some() {
                return found;
            }
            break;
        }
        let role = |other: &str| match other {
            "dynamic" => NameRole::Block(&["type"]),
            _ if other == name => NameRole::Block(&[]),
            _ => NameRole::Hidden,
        };
        let mut inner = Vec::new();
        for body in &bodies {
            for (tree, block) in body.content(&role).blocks {
                if block.block_type.text == *name {
                    inner.push(BodySource::inner(&tree, block.body, tree.range(block.header_span)));
                } else if block.labels.first().is_some_and(|label| label.text == *name) {
                    found.extend(references_of_blocks([(tree, block)]));
                }
            }
        }
        (bodies, schema) = (inner, &nested.block);
    }
    for body in &bodies {
        found.extend(crate::config::references_of_body(body, &mut Vec::new()));
    }
    found
}
