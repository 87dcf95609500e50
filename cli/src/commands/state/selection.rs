//! The objects of a state that an address in the arguments selects.

use weft_graph_format::address::{AbsResource, InstanceKey, ModuleInstance, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::tfstate::StateFile;

use crate::addresses::{SELECTED, invalid_address, written_instance, written_module};
use crate::commands::state::problems as state_problems;

/// A module, a resource, or one instance of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateSelector {
    /// A module instance and everything below it. If the last step has no key, all instances of the called module are
    /// selected.
    Module(ModuleInstance),
    /// A resource in one module instance, with all its instances.
    Resource(AbsResource),
    /// One instance with a key. The key is not [`InstanceKey::None`].
    Instance(ResourceInstance),
}

impl StateSelector {
    /// Parses an address in the arguments.
    ///
    /// # Errors
    /// Returns an error if the text is not the address of a module, a resource or a resource instance.
    pub fn parse(text: &str) -> Result<StateSelector, Vec<Diagnostic>> {
        if let Some(module) = written_module(text) {
            return Ok(StateSelector::Module(module));
        }
        let address = written_instance(text).ok_or_else(|| invalid_address(text, None, SELECTED))?;
        Ok(match address.key {
            InstanceKey::None => {
                StateSelector::Resource(AbsResource { module: address.module, resource: address.resource })
            }
            _ => StateSelector::Instance(address),
        })
    }

    /// Whether this selects an instance.
    pub fn matches(&self, address: &ResourceInstance) -> bool {
        match self {
            StateSelector::Module(module) => holds(module, &address.module),
            StateSelector::Resource(wanted) => wanted.module == address.module && wanted.resource == address.resource,
            StateSelector::Instance(wanted) => wanted == address,
        }
    }

    /// The selected instances in a state, in display order.
    pub fn of(&self, file: &StateFile) -> Vec<ResourceInstance> {
        let all = file.instances.values().map(|record| &record.address).filter(|address| address.resource.is_valid());
        let mut found: Vec<ResourceInstance> = all.filter(|address| self.matches(address)).cloned().collect();
        found.sort_by(|a, b| a.in_lists().cmp(&b.in_lists()));
        found
    }

    /// The error if nothing in the state is selected.
    pub fn missing(&self) -> Diagnostic {
        let (kind, what) = match self {
            StateSelector::Module(module) => ("module", format!("module at {module}")),
            StateSelector::Resource(resource) => ("resource", format!("resource {resource}")),
            StateSelector::Instance(instance) => ("resource", format!("resource {instance}")),
        };
        state_problems::unknown_selection(kind, &what)
    }
}

/// Whether a module instance is `outer` or below it. If the last step of `outer` has no key, `outer` means all
/// instances of this call.
pub fn holds(outer: &ModuleInstance, inner: &ModuleInstance) -> bool {
    let last = outer.0.len().saturating_sub(1);
    inner.0.len() >= outer.0.len()
        && inner.0.iter().zip(outer.0.iter()).enumerate().all(|(i, (found, wanted))| {
            let any = i == last && wanted.key == InstanceKey::None;
            found.name == wanted.name && (any || found.key == wanted.key)
        })
}
