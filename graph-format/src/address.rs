//! Typed addresses: what things are called.
//!
//! *Configurations* (resource, module, provider) are static; *instances* have keys. Every address prints as in
//! OpenTofu, and is parsed from the same text.

mod function_provider;
mod key;
mod parse;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::quoting::is_printable;

pub use function_provider::FunctionProvider;
pub use key::InstanceKey;
pub use parse::AddressError;

/// A module as configured: the names of the calls that lead to it; empty for the root module.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Module(pub Arc<[SmolStr]>);

/// One call on the way to a module instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModuleStep {
    /// Name of the call.
    pub name: SmolStr,
    /// Which instance of it.
    pub key: InstanceKey,
}

/// An instance of a module; empty for the root module.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModuleInstance(pub Arc<[ModuleStep]>);

/// What kind of resource block it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ResourceMode {
    /// `data`
    Data,
    /// `resource`
    Managed,
    /// `ephemeral`
    Ephemeral,
}

/// A resource within its module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Resource {
    /// Which kind of block.
    pub mode: ResourceMode,
    /// `aws_vpc`
    pub type_name: SmolStr,
    /// `main`
    pub name: SmolStr,
}

/// A resource as configured: `module.net.aws_vpc.main`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConfigResource {
    /// Where.
    pub module: Module,
    /// What.
    pub resource: Resource,
}

/// A resource in a module instance, all of its instances: `module.net["eu"].aws_vpc.main`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AbsResource {
    /// Where.
    pub module: ModuleInstance,
    /// What.
    pub resource: Resource,
}

/// One instance of a resource: `module.net["eu"].aws_vpc.main[0]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceInstance {
    /// Where.
    pub module: ModuleInstance,
    /// What.
    pub resource: Resource,
    /// Which.
    pub key: InstanceKey,
}

/// Where a provider comes from: `registry.opentofu.org/hashicorp/aws`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProviderSource {
    /// The registry host, or `terraform.io` for built-in providers.
    pub host: SmolStr,
    /// `hashicorp`
    pub namespace: SmolStr,
    /// `aws`
    pub type_name: SmolStr,
}

/// A provider block as configured: `module.net.provider["registry.opentofu.org/hashicorp/aws"].by_region`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProviderConfig {
    /// The module whose block it is.
    pub module: Module,
    /// Which provider.
    pub source: ProviderSource,
    /// `alias`; `None` for the default configuration.
    pub alias: Option<SmolStr>,
}

/// One configured provider: `provider["registry.opentofu.org/hashicorp/aws"].by_region["eu-west-1"]`.
///
/// Cheap to clone: thousands of objects belong to one provider, and all of them name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderInstance(Arc<ProviderParts>);

/// The parts of a [`ProviderInstance`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProviderParts {
    /// The module instance whose block it is.
    pub module: ModuleInstance,
    /// Which provider.
    pub source: ProviderSource,
    /// `alias`; `None` for the default configuration.
    pub alias: Option<SmolStr>,
    /// Under `for_each`.
    pub key: InstanceKey,
}

impl Deref for ProviderInstance {
    type Target = ProviderParts;

    fn deref(&self) -> &ProviderParts {
        &self.0
    }
}

impl From<ProviderParts> for ProviderInstance {
    fn from(parts: ProviderParts) -> ProviderInstance {
        ProviderInstance(Arc::new(parts))
    }
}

/// The key of an object that is no longer the current one of its instance: 8 hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeposedKey(pub SmolStr);

/// Length of a deposed key, as OpenTofu demands when it reads a state file.
const DEPOSED_KEY_LENGTH: usize = 8;

impl DeposedKey {
    /// The key, if the text has eight characters (what OpenTofu checks when reading).
    pub fn parse(text: &str) -> Option<DeposedKey> {
        (text.len() == DEPOSED_KEY_LENGTH).then(|| DeposedKey(text.into()))
    }

    /// The key made of four bytes.
    pub fn from_bytes(bytes: [u8; 4]) -> DeposedKey {
        DeposedKey(data_encoding::HEXLOWER.encode(&bytes).into())
    }

    /// The eight characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeposedKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// An object of an instance: the current one, or a deposed one. The text is what lists and lines show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectName<'a> {
    /// The instance.
    pub address: &'a ResourceInstance,
    /// The key of a deposed object; `None` for the current one.
    pub deposed: Option<&'a DeposedKey>,
}

impl<'a> From<&'a ResourceInstance> for ObjectName<'a> {
    fn from(address: &'a ResourceInstance) -> ObjectName<'a> {
        ObjectName { address, deposed: None }
    }
}

impl fmt::Display for ObjectName<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.deposed {
            Some(key) => write!(out, "{} (deposed object {key})", self.address),
            None => write!(out, "{}", self.address),
        }
    }
}

/// The registry that source addresses without a host mean.
pub const DEFAULT_REGISTRY: &str = "registry.opentofu.org";
/// The host of built-in providers.
pub const BUILTIN_HOST: &str = "terraform.io";
/// The namespace of built-in providers.
pub const BUILTIN_NAMESPACE: &str = "builtin";

impl Module {
    /// The root module.
    pub fn root() -> Module {
        Module::default()
    }

    /// The module that the call `name` in this one leads to.
    #[must_use]
    pub fn child(&self, name: &str) -> Module {
        Module(self.0.iter().cloned().chain([SmolStr::new(name)]).collect())
    }

    /// The module that calls this one; `None` for the root module.
    pub fn parent(&self) -> Option<Module> {
        self.0.split_last().map(|(_, front)| Module(front.into()))
    }

    /// Whether it is the root module.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

impl ModuleInstance {
    /// The root module.
    pub fn root() -> ModuleInstance {
        ModuleInstance::default()
    }

    /// The instance that `name[key]` in this one leads to.
    #[must_use]
    pub fn child(&self, name: &str, key: InstanceKey) -> ModuleInstance {
        ModuleInstance(self.0.iter().cloned().chain([ModuleStep { name: SmolStr::new(name), key }]).collect())
    }

    /// The module instance that calls this one; `None` for the root module.
    pub fn parent(&self) -> Option<ModuleInstance> {
        self.0.split_last().map(|(_, front)| ModuleInstance(front.into()))
    }

    /// The module in the configuration: the address without keys.
    pub fn config(&self) -> Module {
        Module(self.0.iter().map(|step| step.name.clone()).collect())
    }

    /// Whether it is the root module.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a key in it is negative.
    pub fn has_negative_key(&self) -> bool {
        self.0.iter().any(|step| step.key.is_negative())
    }
}

impl ResourceInstance {
    /// A key for sorting lists: outer modules come before inner ones.
    #[must_use]
    pub fn in_lists(&self) -> (usize, &ResourceInstance) {
        (self.module.0.len(), self)
    }

    /// The resource in the configuration: the address without keys.
    pub fn config(&self) -> ConfigResource {
        ConfigResource { module: self.module.config(), resource: self.resource.clone() }
    }

    /// Whether a key in it is negative.
    pub fn has_negative_key(&self) -> bool {
        self.key.is_negative() || self.module.has_negative_key()
    }

    /// All instances of the resource in the same module instance.
    pub fn all(&self) -> AbsResource {
        AbsResource { module: self.module.clone(), resource: self.resource.clone() }
    }
}

impl AbsResource {
    /// One instance of it.
    pub fn instance(&self, key: InstanceKey) -> ResourceInstance {
        ResourceInstance { module: self.module.clone(), resource: self.resource.clone(), key }
    }

    /// The resource in the configuration: the address without keys.
    pub fn config(&self) -> ConfigResource {
        ConfigResource { module: self.module.config(), resource: self.resource.clone() }
    }
}

impl ProviderSource {
    /// A provider of this name in the default registry's usual namespace.
    pub fn default_for(type_name: &str) -> ProviderSource {
        ProviderSource { host: DEFAULT_REGISTRY.into(), namespace: "hashicorp".into(), type_name: type_name.into() }
    }

    /// The built-in provider of this name.
    pub fn builtin(type_name: &str) -> ProviderSource {
        ProviderSource { host: BUILTIN_HOST.into(), namespace: BUILTIN_NAMESPACE.into(), type_name: type_name.into() }
    }

    /// Whether it is part of Weft itself.
    pub fn is_builtin(&self) -> bool {
        self.host == BUILTIN_HOST && self.namespace == BUILTIN_NAMESPACE
    }

    /// As short as messages have it: the default registry's host is left out.
    pub fn for_display(&self) -> String {
        if self.host == DEFAULT_REGISTRY { format!("{}/{}", self.namespace, self.type_name) } else { self.to_string() }
    }
}

impl ProviderInstance {
    /// The provider configuration: the address without keys.
    pub fn config(&self) -> ProviderConfig {
        ProviderConfig { module: self.module.config(), source: self.source.clone(), alias: self.alias.clone() }
    }
}

/// A string in the form of an address or of source text: quoted, with escapes.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '$' | '%' if rest.peek() == Some(&'{') => {
                out.push(c);
                out.push(c);
            }
            c if !is_printable(c) => {
                use fmt::Write;
                // Writing to a string cannot fail.
                let _ = match u32::from(c) {
                    code @ 0..0x1_0000 => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            write!(f, "{}module.{name}", if i == 0 { "" } else { "." })?;
        }
        Ok(())
    }
}

impl fmt::Display for ModuleInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            write!(f, "{}module.{}{}", if i == 0 { "" } else { "." }, step.name, step.key)?;
        }
        Ok(())
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.mode {
            ResourceMode::Managed => "",
            ResourceMode::Data => "data.",
            ResourceMode::Ephemeral => "ephemeral.",
        };
        write!(f, "{prefix}{}.{}", self.type_name, self.name)
    }
}

impl fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}{}", self.module, self.resource)
    }
}

impl fmt::Display for AbsResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}{}", self.module, self.resource)
    }
}

impl fmt::Display for ResourceInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}{}{}", self.module, self.resource, self.key)
    }
}

impl fmt::Display for ProviderSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.host, self.namespace, self.type_name)
    }
}

impl fmt::Display for ProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}provider[\"{}\"]", self.module, self.source)?;
        self.alias.as_ref().map_or(Ok(()), |a| write!(f, ".{a}"))
    }
}

impl fmt::Display for ProviderInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}provider[\"{}\"]", self.module, self.source)?;
        if let Some(alias) = &self.alias {
            write!(f, ".{alias}")?;
        }
        write!(f, "{}", self.key)
    }
}
