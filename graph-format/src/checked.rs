//! Addresses of objects that have conditions, and their text in a state file.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::address::{ConfigResource, InstanceKey, Module, ModuleInstance, ResourceInstance};

/// The address of an object with conditions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckedObject {
    /// An instance of a resource.
    Resource(ResourceInstance),
    /// An output value, a check block or a variable.
    Named {
        /// The module instance that contains the object.
        module: ModuleInstance,
        /// `output.x`, `check.y` or `var.z`.
        name: String,
    },
}

/// The address of an object with conditions, without the keys of modules.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckedConfig {
    /// A resource: all of its instances, or only those with a certain key.
    Resource {
        /// The resource in the configuration.
        resource: ConfigResource,
        /// [`InstanceKey::None`] for all instances.
        key: InstanceKey,
    },
    /// An output value, a check block or a variable.
    Named {
        /// The module that contains the object.
        module: Module,
        /// `output.x`, `check.y` or `var.z`.
        name: String,
    },
}

impl CheckedObject {
    /// Parses an address.
    pub fn parse(address: &str) -> CheckedObject {
        if let Ok(instance) = address.parse() {
            return CheckedObject::Resource(instance);
        }
        let (module, name) = split_module(address);
        let module = module.and_then(|module| module.parse().ok()).unwrap_or_default();
        CheckedObject::Named { module, name: name.to_owned() }
    }

    /// The module instance that contains the object.
    pub fn module(&self) -> &ModuleInstance {
        match self {
            CheckedObject::Resource(instance) => &instance.module,
            CheckedObject::Named { module, .. } => module,
        }
    }

    /// The address without any keys.
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

    /// The address without the keys of modules, but with the object's own key. `None` if the object has no key of its
    /// own.
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
    /// Parses an address without keys of modules.
    pub fn parse(address: &str) -> CheckedConfig {
        let object = CheckedObject::parse(address);
        object.keyed().unwrap_or_else(|| object.config())
    }
}

impl fmt::Display for CheckedConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckedConfig::Resource { resource, key } => write!(out, "{resource}{key}"),
            CheckedConfig::Named { module, name } if module.is_root() => out.write_str(name),
            CheckedConfig::Named { module, name } => write!(out, "{module}.{name}"),
        }
    }
}

/// Splits the address of an output value, check block or variable into its module instance, as text, and the rest:
/// `output.x`, `check.y`, `var.z`.
pub fn split_module(address: &str) -> (Option<&str>, &str) {
    let ends: Vec<usize> = address.match_indices('.').map(|(at, _)| at).collect();
    for at in ends.into_iter().rev() {
        let module = address[..at].parse::<ModuleInstance>();
        if module.is_ok_and(|module| !module.is_root()) {
            return (Some(&address[..at]), &address[at + 1..]);
        }
    }
    (None, address)
}

/// A parsed address, together with its text. The text is stored unchanged.
#[derive(Clone, PartialEq, Eq)]
pub struct CheckedAddress {
    text: Box<str>,
    object: CheckedObject,
}

impl CheckedAddress {
    /// Parses an address, and stores its text.
    pub fn read(text: &str) -> CheckedAddress {
        CheckedAddress { text: text.into(), object: CheckedObject::parse(text) }
    }

    /// The stored text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The object that the address refers to. An address of a resource without keys refers to the only instance of the
    /// resource.
    pub fn object(&self) -> &CheckedObject {
        &self.object
    }

    /// The object in the configuration: the address without the keys of modules, but with the object's own key if there
    /// is one.
    pub fn config(&self) -> CheckedConfig {
        self.object.keyed().unwrap_or_else(|| self.object.config())
    }
}

impl From<CheckedConfig> for CheckedAddress {
    fn from(config: CheckedConfig) -> CheckedAddress {
        CheckedAddress::read(&config.to_string())
    }
}

impl fmt::Display for CheckedAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl fmt::Debug for CheckedAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, out)
    }
}

/// Serialized as its text.
impl Serialize for CheckedAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for CheckedAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CheckedAddress, D::Error> {
        String::deserialize(deserializer).map(|text| CheckedAddress::read(&text))
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
            ("module.m[0].a.b[\"x].y\"]", "module.m.a.b", Some("module.m.a.b[\"x].y\"]")),
            ("module.m[\"q\\\"]\"].output.o", "module.m.output.o", None),
        ] {
            let found = CheckedObject::parse(object);
            assert_eq!(found.config(), CheckedConfig::parse(config), "{object}");
            assert_eq!(found.config().to_string(), config, "{object}");
            assert_eq!(found.keyed(), keyed.map(CheckedConfig::parse), "{object}");
        }
        assert_ne!(CheckedConfig::parse("a.b"), CheckedConfig::parse("a.b[0]"));
    }

    #[test]
    fn the_text_of_an_address_is_kept() {
        for text in ["module.m[\"k\"].check.c", "a.b[0]", "no address at all", ""] {
            let address = CheckedAddress::read(text);
            assert_eq!((address.text(), address.object()), (text, &CheckedObject::parse(text)));
            let stored = postcard::to_stdvec(&address).unwrap();
            assert_eq!(stored, postcard::to_stdvec(text).unwrap());
            assert_eq!(postcard::from_bytes::<CheckedAddress>(&stored).unwrap(), address);
        }
    }
}
