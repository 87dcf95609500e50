//! What of a configuration is planned when only a part of it is wanted, or a part is not.

use std::collections::BTreeSet;

use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, InstanceKey, Module, ModuleInstance, Resource, ResourceInstance};

/// Which part of a configuration is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// All of it.
    #[default]
    All,
    /// These, and everything that they depend on.
    Only(Vec<SelectedAddress>),
    /// All but these, and but everything that depends on them.
    AllBut(Vec<SelectedAddress>),
}

/// What a selection names: a module, a resource, or an instance of one. Where no key is written, all instances are
/// meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedAddress {
    /// The module.
    pub module: ModuleInstance,
    /// The resource in it; none for everything in the module and below.
    pub resource: Option<(Resource, InstanceKey)>,
}

impl SelectedAddress {
    /// The address that a text names, as an option of a command has it.
    pub fn parse(text: &str) -> Option<SelectedAddress> {
        if let Ok(found) = text.parse::<ResourceInstance>() {
            return Some(SelectedAddress { module: found.module, resource: Some((found.resource, found.key)) });
        }
        let module = text.parse::<ModuleInstance>().ok().filter(|module| !module.is_root())?;
        Some(SelectedAddress { module, resource: None })
    }

    /// Whether an instance is meant.
    pub fn covers(&self, address: &ResourceInstance) -> bool {
        let (own, steps) = (&self.module.0, &address.module.0);
        let fits = |(a, b): (&weft_graph_format::address::ModuleStep, &weft_graph_format::address::ModuleStep)| {
            a.name == b.name && (a.key == InstanceKey::None || a.key == b.key)
        };
        if steps.len() < own.len() || !own.iter().zip(steps.iter()).all(fits) {
            return false;
        }
        match &self.resource {
            None => true,
            Some((resource, key)) => {
                steps.len() == own.len()
                    && *resource == address.resource
                    && (*key == InstanceKey::None || *key == address.key)
            }
        }
    }

    /// Whether any instance of a resource could be meant.
    pub fn touches(&self, config: &ConfigResource) -> bool {
        let own = self.module.config();
        match &self.resource {
            Some((resource, _)) => own == config.module && *resource == config.resource,
            None => config.module.0.starts_with(&own.0),
        }
    }

    /// Whether all instances are meant.
    pub fn is_whole(&self) -> bool {
        let keyed = self.resource.as_ref().is_some_and(|(_, key)| *key != InstanceKey::None);
        !keyed && self.module.0.iter().all(|step| step.key == InstanceKey::None)
    }
}

impl Selection {
    /// Whether an instance that nothing else wants is planned.
    pub fn covers(&self, address: &ResourceInstance) -> bool {
        match self {
            Selection::All => true,
            Selection::Only(addresses) => addresses.iter().any(|a| a.covers(address)),
            Selection::AllBut(addresses) => !addresses.iter().any(|a| a.covers(address)),
        }
    }

    /// Whether an instance of a resource that is planned is left out: others of it are named, or it is.
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

/// What a selection comes to in a configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selected {
    /// Resources that are planned.
    pub(crate) resources: BTreeSet<ConfigResource>,
    /// Outputs of the root module that are.
    pub(crate) outputs: BTreeSet<SmolStr>,
    /// Variables that are looked at.
    pub(crate) variables: BTreeSet<(Module, SmolStr)>,
}

impl Selected {
    /// Whether anything in a module or below is planned.
    pub(crate) fn enters(&self, module: &Module) -> bool {
        let within = |path: &Module| path.0.starts_with(&module.0);
        self.resources.iter().any(|config| within(&config.module))
            || self.variables.iter().any(|(path, _)| within(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let covers =
            |selected: &str, address: &str| SelectedAddress::parse(selected).unwrap().covers(&address.parse().unwrap());
        assert!(covers("a.b", "a.b[0]") && covers("a.b[0]", "a.b[0]") && !covers("a.b[0]", "a.b[1]"));
        assert!(covers("module.m", "module.m[\"k\"].module.n.a.b") && !covers("module.m", "a.b"));
        assert!(covers("module.m.a.b", "module.m[0].a.b") && !covers("module.m[1].a.b", "module.m[0].a.b"));
        assert!(!covers("module.m.a.b", "module.m.module.n.a.b"));
        assert!(SelectedAddress::parse("nothing").is_none());
    }

    #[test]
    fn instances_that_are_left_out() {
        let only = Selection::Only(vec![SelectedAddress::parse("a.b[0]").unwrap()]);
        let leaves = |address: &str| only.leaves_out(&address.parse().unwrap());
        assert!(leaves("a.b[1]") && !leaves("a.b[0]") && !leaves("c.d"));
    }
}
