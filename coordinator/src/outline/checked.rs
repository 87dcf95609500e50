//! Addresses of objects that have conditions.

use weft_graph_format::address::{ConfigResource, InstanceKey, Module, ModuleInstance, ResourceInstance};
use weft_graph_format::checks::split_module;

/// The address of an object that has conditions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckedObject {
    /// An instance of a resource.
    Resource(ResourceInstance),
    /// Another object.
    Named {
        /// Its module instance.
        module: ModuleInstance,
        /// `output.x`, `check.y` or `var.z`.
        name: String,
    },
}

/// The address of an object without the keys of modules.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckedConfig {
    /// A resource, or its instances with one key.
    Resource {
        /// The resource as configured.
        resource: ConfigResource,
        /// [`InstanceKey::None`] for all instances.
        key: InstanceKey,
    },
    /// Another object.
    Named {
        /// Its module.
        module: Module,
        /// `output.x`, `check.y` or `var.z`.
        name: String,
    },
}

impl CheckedObject {
    /// The object with this address.
    pub fn parse(address: &str) -> CheckedObject {
        if let Ok(instance) = address.parse() {
            return CheckedObject::Resource(instance);
        }
        let (module, name) = split_module(address);
        let module = module.and_then(|module| module.parse().ok()).unwrap_or_default();
        CheckedObject::Named { module, name: name.to_owned() }
    }

    /// Its module instance.
    pub fn module(&self) -> &ModuleInstance {
        match self {
            CheckedObject::Resource(instance) => &instance.module,
            CheckedObject::Named { module, .. } => module,
        }
    }

    /// Its address without keys.
    pub fn config(&self) -> CheckedConfig {
        match self {
            CheckedObject::Resource(instance) => {
                CheckedConfig::Resource { resource: instance.config(), key: InstanceKey::None }
            }
            CheckedObject::Named { module, name } => {
                CheckedConfig::Named { module: module.config(), name: name.clone() }
            }
        }
    }

    /// Its address without the keys of modules, if it has a key of its own.
    pub fn keyed(&self) -> Option<CheckedConfig> {
        match self {
            CheckedObject::Resource(instance) if instance.key != InstanceKey::None => {
                Some(CheckedConfig::Resource { resource: instance.config(), key: instance.key.clone() })
            }
            CheckedObject::Resource(_) | CheckedObject::Named { .. } => None,
        }
    }
}

impl CheckedConfig {
    /// The object with this address.
    pub fn parse(address: &str) -> CheckedConfig {
        let object = CheckedObject::parse(address);
        object.keyed().unwrap_or_else(|| object.config())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_the_keys_of_modules() {
        for (object, config, keyed) in [
            ("module.m[\"k\"].a.b[0]", "module.m.a.b", Some("module.m.a.b[0]")),
            ("data.a.d", "data.a.d", None),
            ("module.m[\"k\"].check.c", "module.m.check.c", None),
            ("var.v", "var.v", None),
        ] {
            let found = CheckedObject::parse(object);
            assert_eq!(found.config(), CheckedConfig::parse(config), "{object}");
            assert_eq!(found.keyed(), keyed.map(CheckedConfig::parse), "{object}");
        }
        assert_ne!(CheckedConfig::parse("a.b"), CheckedConfig::parse("a.b[0]"));
    }
}
