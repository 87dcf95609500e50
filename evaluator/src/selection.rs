//! Selections: the parts of a configuration that are planned.

use std::collections::BTreeSet;

use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, InstanceKey, Module, ModuleInstance, Resource, ResourceInstance};

/// The selected part of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// Everything.
    #[default]
    All,
    /// These targets with everything that they depend on.
    Only(Vec<SelectedAddress>),
    /// Everything but these targets and their dependents.
    AllBut(Vec<SelectedAddress>),
}

/// A target: a module, a resource, or an instance of a resource. A target whose last step has no key matches all
/// instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedAddress {
    /// The module.
    pub module: ModuleInstance,
    /// The resource in the module; `None` for the module and its descendants.
    pub resource: Option<(Resource, InstanceKey)>,
}

impl SelectedAddress {
    /// Parses an address from an option. As in OpenTofu, keys cannot be negative.
    pub fn parse(text: &str) -> Option<SelectedAddress> {
        if let Ok(found) = text.parse::<ResourceInstance>() {
            let negative = found.has_negative_key();
            let found = SelectedAddress { module: found.module, resource: Some((found.resource, found.key)) };
            return (!negative).then_some(found);
        }
        let module = text.parse::<ModuleInstance>().ok()?;
        if module.is_root() || module.has_negative_key() {
            return None;
        }
        Some(SelectedAddress { module, resource: None })
    }

    /// Whether the target matches an instance. As in OpenTofu, a target can omit only the key of its last step. If a
    /// module before the last step has a key, the target must contain this key.
    pub fn covers(&self, address: &ResourceInstance) -> bool {
        let (own, steps) = (&self.module.0, &address.module.0);
        match &self.resource {
            None => {
                let Some(((last, before), step)) = own.split_last().zip(steps.get(own.len() - 1)) else { return false };
                let fits = last.name == step.name && (last.key == InstanceKey::None || last.key == step.key);
                fits && steps.starts_with(before)
            }
            Some((resource, key)) => {
                own == steps && *resource == address.resource && (*key == InstanceKey::None || *key == address.key)
            }
        }
    }

    /// Whether the target may match an instance of a resource.
    pub fn touches(&self, config: &ConfigResource) -> bool {
        let own = self.module.config();
        match &self.resource {
            Some((resource, _)) => own == config.module && *resource == config.resource,
            None => config.module.0.starts_with(&own.0),
        }
    }

    /// Whether the target matches all instances.
    pub fn is_whole(&self) -> bool {
        let keyed = self.resource.as_ref().is_some_and(|(_, key)| *key != InstanceKey::None);
        !keyed && self.module.0.iter().all(|step| step.key == InstanceKey::None)
    }
}

impl Selection {
    /// Whether the selection covers an instance. Used for instances that the configuration does not desire.
    pub fn covers(&self, address: &ResourceInstance) -> bool {
        match self {
            Selection::All => true,
            Selection::Only(addresses) => addresses.iter().any(|a| a.covers(address)),
            Selection::AllBut(addresses) => !addresses.iter().any(|a| a.covers(address)),
        }
    }

    /// Whether this instance of a planned resource is left out.
    ///
    /// - With targets: if a target names its resource or its module, but no target matches the instance. If no target
    ///   names them, the resource is planned as a dependency, with all its instances.
    /// - With exclusions: if an exclusion matches the instance.
    pub fn leaves_out(&self, address: &ResourceInstance) -> bool {
        match self {
            Selection::All => false,
            Selection::Only(addresses) => {
                addresses.iter().any(|a| a.touches(&address.config())) && !self.covers(address)
            }
            Selection::AllBut(_) => !self.covers(address),
        }
    }
}

/// The selected parts of a configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selected {
    /// Selected resources.
    pub(crate) resources: BTreeSet<ConfigResource>,
    /// Selected outputs of the root module.
    pub(crate) outputs: BTreeSet<SmolStr>,
    /// Outputs of called modules that something in the selection needs.
    pub(crate) module_outputs: BTreeSet<(Module, SmolStr)>,
    /// Variables that are evaluated.
    pub(crate) variables: BTreeSet<(Module, SmolStr)>,
    /// Modules with provider configurations that are needed by stored objects without blocks.
    pub(crate) providers: BTreeSet<Module>,
    /// Resources of which only the protection is evaluated.
    pub(crate) protected: BTreeSet<ConfigResource>,
}

impl Selected {
    /// Whether anything in a module or its descendants is planned.
    pub(crate) fn enters(&self, module: &Module) -> bool {
        let within = |path: &Module| path.0.starts_with(&module.0);
        self.resources.iter().chain(&self.protected).any(|config| within(&config.module))
            || self.variables.iter().any(|(path, _)| within(path))
            || self.providers.iter().any(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selected_address_covers_its_instances() {
        let covers =
            |selected: &str, address: &str| SelectedAddress::parse(selected).unwrap().covers(&address.parse().unwrap());
        assert!(covers("a.b", "a.b[0]") && covers("a.b[0]", "a.b[0]") && !covers("a.b[0]", "a.b[1]"));
        assert!(covers("module.m", "module.m[\"k\"].module.n.a.b") && !covers("module.m", "a.b"));
        assert!(!covers("module.m.a.b", "module.m[0].a.b") && !covers("module.m[1].a.b", "module.m[0].a.b"));
        assert!(covers("module.m[0].module.n", "module.m[0].module.n[1].a.b"));
        assert!(!covers("module.m.module.n", "module.m[0].module.n.a.b"));
        assert!(!covers("module.m.a.b", "module.m.module.n.a.b"));
        for wrong in ["nothing", "a.b[-1]", "module.m[-1]", "module.m[-1].a.b"] {
            assert!(SelectedAddress::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn an_exclusion_leaves_instances_out() {
        let only = Selection::Only(vec![SelectedAddress::parse("a.b[0]").unwrap()]);
        let leaves = |address: &str| only.leaves_out(&address.parse().unwrap());
        assert!(leaves("a.b[1]") && !leaves("a.b[0]") && !leaves("c.d"));
    }
}
