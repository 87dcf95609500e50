//! `removed` blocks: what happens to objects without a resource block.

use weft_graph_format::address::{ConfigResource, InstanceKey, Module, Resource, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use super::compiling::Compiling;
use super::content::{BlockRule, ContentRules, FoundBlock};
use super::literal::{optional, required};
use super::problems;
use super::provisioner::{Provisioner, provisioner};
use super::relative_address::{RelativeAddress, has_step_behind_resource, read_address};

const REMOVED: ContentRules = ContentRules {
    attributes: &[required("from")],
    blocks: &[BlockRule { name: "lifecycle", labels: &[] }, BlockRule { name: "provisioner", labels: &["type"] }],
    open: false,
};

const LIFECYCLE: ContentRules = ContentRules { attributes: &[optional("destroy")], blocks: &[], open: false };

/// A `removed` block.
#[derive(Clone, Debug)]
pub struct RemovedBlock {
    /// The module of the objects, as a path from the root module. All its instances match.
    pub module: Module,
    /// The resource in the module; `None` for the whole module.
    pub resource: Option<Resource>,
    /// Whether objects are destroyed. `None` if the block does not set this, which means that objects are forgotten.
    pub destroy: Option<bool>,
    /// The directory of the module with the block.
    pub dir: String,
    /// Destroy-time provisioners.
    pub provisioners: Vec<Provisioner>,
    /// The header of the block.
    pub range: SourceRange,
}

impl RemovedBlock {
    /// Whether the block applies to a resource.
    pub fn covers(&self, config: &ConfigResource) -> bool {
        match &self.resource {
            Some(resource) => *resource == config.resource && self.module == config.module,
            None => config.module.0.starts_with(&self.module.0),
        }
    }

    /// The address as text.
    pub fn address(&self) -> String {
        match &self.resource {
            Some(resource) => ConfigResource { module: self.module.clone(), resource: resource.clone() }.to_string(),
            None => self.module.to_string(),
        }
    }
}

/// Reads a `removed` block.
pub(super) fn removed(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let errors = compiling.errors();
    let content = compiling.content(block, &REMOVED);
    let mut lifecycle = None;
    let mut provisioners = Vec::new();
    for inner in &content.blocks {
        if inner.block_type == "lifecycle" {
            if lifecycle.is_some() {
                compiling.report(problems::removed::second_lifecycle(&inner.range));
                continue;
            }
            let read = compiling.content(inner, &LIFECYCLE);
            lifecycle = Some(compiling.literal_bool(read.get("destroy")));
            continue;
        }
        let Some(found) = provisioner(compiling, inner) else { continue };
        if found.on_destroy {
            provisioners.push(found);
        } else {
            compiling.report(problems::removed::creation_provisioner(&inner.range));
        }
    }
    let Some(expression) = content.get("from") else { return };
    let address = match read_address(expression) {
        Some(Ok(found)) => found,
        Some(Err(problem)) => {
            let whole = has_step_behind_resource(expression);
            let problem = if whole { problems::removed::resource_with_keys(expression.range()) } else { problem };
            return compiling.report(problem);
        }
        None => return compiling.report(problems::references::not_static(expression.range())),
    };
    if let Some(problem) = unsuitable(&address) {
        return compiling.report(problem);
    }
    let module = address.module_from(&compiling.module.path);
    let found = RemovedBlock {
        module,
        resource: address.resource.map(|(resource, _)| resource),
        destroy: lifecycle.flatten(),
        dir: compiling.module.dir.clone(),
        provisioners,
        range: block.range.clone(),
    };
    if found.resource.is_none() {
        for _ in &found.provisioners {
            compiling.report(problems::removed::provisioner_of_module(&found.address(), &found.range));
        }
    }
    if compiling.errors() == errors {
        let warning = match found.destroy {
            None => Some(problems::removed::without_lifecycle(&found.address(), &found.range)),
            Some(false) if !found.provisioners.is_empty() => {
                Some(problems::removed::unused_provisioners(&found.address(), &found.range))
            }
            Some(_) => None,
        };
        warning.into_iter().for_each(|warning| compiling.report(warning));
    }
    compiling.module.statements.removed.push(found);
}

/// The problem of an address that has keys, or whose objects cannot be destroyed.
fn unsuitable(address: &RelativeAddress) -> Option<Diagnostic> {
    let at = || address.range.clone();
    if address.has_module_keys() {
        return Some(problems::removed::module_with_keys(at()));
    }
    let (resource, key) = address.resource.as_ref()?;
    match resource.mode {
        ResourceMode::Data => Some(problems::removed::data_source(at())),
        ResourceMode::Ephemeral => Some(problems::removed::ephemeral_resource(at())),
        ResourceMode::Managed => (*key != InstanceKey::None).then(|| problems::removed::resource_with_keys(at())),
    }
}
