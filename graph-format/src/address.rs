//! Typed addresses of modules, resources, providers and their instances.
//!
//! Addresses of *configurations* (a resource, module or provider block) have no keys; addresses of *instances* do.
//! Every address prints as in OpenTofu, and is parsed from the same text.

mod function_provider;
mod key;
mod parse;

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::quoting::is_printable;

pub use function_provider::FunctionProvider;
pub use key::InstanceKey;
pub use parse::AddressError;

/// A module as configured: the names of the calls that lead to the module. Empty for the root module.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Module(pub Arc<[SmolStr]>);

/// One call in the chain of calls that leads to a module instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModuleStep {
    /// Name of the call.
    pub name: SmolStr,
    /// The key of the called instance.
    pub key: InstanceKey,
}

/// An instance of a module: the calls that lead to the instance. Empty for the root module.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModuleInstance(pub Arc<[ModuleStep]>);

/// The kind of a resource block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ResourceMode {
    /// A `data` block.
    Data,
    /// A `resource` block.
    Managed,
    /// An `ephemeral` block.
    Ephemeral,
}

/// A resource within its module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Resource {
    /// The kind of the resource block.
    pub mode: ResourceMode,
    /// The type, such as `aws_vpc`.
    pub type_name: SmolStr,
    /// The name, such as `main`.
    pub name: SmolStr,
}

/// A resource as configured: `module.net.aws_vpc.main`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConfigResource {
    /// The module that contains the resource.
    pub module: Module,
    /// The resource within the module.
    pub resource: Resource,
}

/// A resource in a module instance, with all of its instances: `module.net["eu"].aws_vpc.main`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AbsResource {
    /// The module instance that contains the resource.
    pub module: ModuleInstance,
    /// The resource within the module.
    pub resource: Resource,
}

/// One instance of a resource: `module.net["eu"].aws_vpc.main[0]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceInstance {
    /// The module instance that contains the resource.
    pub module: ModuleInstance,
    /// The resource within the module.
    pub resource: Resource,
    /// The key of the instance.
    pub key: InstanceKey,
}

/// The source address of a provider: `registry.opentofu.org/hashicorp/aws`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProviderSource {
    /// The registry host, or `terraform.io` for built-in providers.
    pub host: SmolStr,
    /// The namespace, such as `hashicorp`.
    pub namespace: SmolStr,
    /// The type, such as `aws`.
    pub type_name: SmolStr,
}

/// A provider block as configured: `module.net.provider["registry.opentofu.org/hashicorp/aws"].by_region`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProviderConfig {
    /// The module that contains the block.
    pub module: Module,
    /// The source of the provider.
    pub source: ProviderSource,
    /// The `alias` argument; `None` for the default configuration.
    pub alias: Option<SmolStr>,
}

/// One configured provider: `provider["registry.opentofu.org/hashicorp/aws"].by_region["eu-west-1"]`.
///
/// Cheap to clone, because thousands of objects refer to one provider instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderInstance(Arc<ProviderParts>);

/// The parts of a [`ProviderInstance`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProviderParts {
    /// The module instance that contains the block.
    pub module: ModuleInstance,
    /// The source of the provider.
    pub source: ProviderSource,
    /// The `alias` argument; `None` for the default configuration.
    pub alias: Option<SmolStr>,
    /// The key of the instance, if the block has `for_each`.
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

/// The key of a deposed object: an object that is no longer the current object of its instance. 8 hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeposedKey(pub SmolStr);

/// Length of a deposed key, as OpenTofu demands when it reads a state file.
const DEPOSED_KEY_LENGTH: usize = 8;

impl DeposedKey {
    /// The key; `None` if the text does not have eight characters. OpenTofu checks nothing else when it reads a state.
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

/// The name of an object: its instance and, if it is not the current object, its deposed key. `Display` writes it in
/// the form that lists and log lines use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectName<'a> {
    /// The instance.
    pub address: &'a ResourceInstance,
    /// The key of a deposed object; `None` for the current object.
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

/// An object as a user names it: an instance, and the key of a deposed object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedObject {
    /// The instance.
    pub address: ResourceInstance,
    /// The key of a deposed object. Without it, the name stands for any object of the instance.
    pub deposed: Option<DeposedKey>,
}

impl NamedObject {
    /// Whether the name stands for this object of an instance. `deposed` is the key of a deposed object.
    pub fn matches(&self, address: &ResourceInstance, deposed: Option<&str>) -> bool {
        let wanted = self.deposed.as_ref().map(DeposedKey::as_str);
        *address == self.address && (wanted.is_none() || wanted == deposed)
    }
}

impl fmt::Display for NamedObject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        ObjectName { address: &self.address, deposed: self.deposed.as_ref() }.fmt(out)
    }
}

/// Parses `ADDRESS`, `ADDRESS DEPOSED-KEY`, or a name as [`ObjectName`] shows it: `ADDRESS (deposed object KEY)`.
impl FromStr for NamedObject {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<NamedObject, AddressError> {
        let error = match text.parse() {
            Ok(address) => return Ok(NamedObject { address, deposed: None }),
            Err(error) => error,
        };
        let shown = text.strip_suffix(')').and_then(|text| text.rsplit_once(" (deposed object "));
        let Some((address, key)) = shown.or_else(|| text.rsplit_once(' ')) else { return Err(error) };
        let deposed = DeposedKey::parse(key).ok_or(error)?;
        Ok(NamedObject { address: address.parse()?, deposed: Some(deposed) })
    }
}

/// The registry of source addresses without a host.
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

    /// The module that the call `name` in this module leads to.
    #[must_use]
    pub fn child(&self, name: &str) -> Module {
        Module(self.0.iter().cloned().chain([SmolStr::new(name)]).collect())
    }

    /// The module that calls this module; `None` for the root module.
    pub fn parent(&self) -> Option<Module> {
        self.0.split_last().map(|(_, front)| Module(front.into()))
    }

    /// Whether this is the root module.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

impl ModuleInstance {
    /// The root module.
    pub fn root() -> ModuleInstance {
        ModuleInstance::default()
    }

    /// The instance that the call `name[key]` in this module instance leads to.
    #[must_use]
    pub fn child(&self, name: &str, key: InstanceKey) -> ModuleInstance {
        ModuleInstance(self.0.iter().cloned().chain([ModuleStep { name: SmolStr::new(name), key }]).collect())
    }

    /// The module instance that calls this instance; `None` for the root module.
    pub fn parent(&self) -> Option<ModuleInstance> {
        self.0.split_last().map(|(_, front)| ModuleInstance(front.into()))
    }

    /// The module in the configuration: the address without keys.
    pub fn config(&self) -> Module {
        Module(self.0.iter().map(|step| step.name.clone()).collect())
    }

    /// Whether this is the root module.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the address contains a negative key.
    pub fn has_negative_key(&self) -> bool {
        self.0.iter().any(|step| step.key.is_negative())
    }
}

impl ResourceInstance {
    /// The sort key for lists: outer modules come before inner ones.
    #[must_use]
    pub fn in_lists(&self) -> (usize, &ResourceInstance) {
        (self.module.0.len(), self)
    }

    /// The resource in the configuration: the address without keys.
    pub fn config(&self) -> ConfigResource {
        ConfigResource { module: self.module.config(), resource: self.resource.clone() }
    }

    /// Whether the address contains a negative key.
    pub fn has_negative_key(&self) -> bool {
        self.key.is_negative() || self.module.has_negative_key()
    }

    /// All instances of the resource in the same module instance.
    pub fn all(&self) -> AbsResource {
        AbsResource { module: self.module.clone(), resource: self.resource.clone() }
    }
}

impl AbsResource {
    /// The instance of the resource with this key.
    pub fn instance(&self, key: InstanceKey) -> ResourceInstance {
        ResourceInstance { module: self.module.clone(), resource: self.resource.clone(), key }
    }

    /// The resource in the configuration: the address without keys.
    pub fn config(&self) -> ConfigResource {
        ConfigResource { module: self.module.config(), resource: self.resource.clone() }
    }
}

impl ProviderSource {
    /// The provider of this name in the default registry, in the namespace `hashicorp`.
    pub fn default_for(type_name: &str) -> ProviderSource {
        ProviderSource { host: DEFAULT_REGISTRY.into(), namespace: "hashicorp".into(), type_name: type_name.into() }
    }

    /// The built-in provider of this name.
    pub fn builtin(type_name: &str) -> ProviderSource {
        ProviderSource { host: BUILTIN_HOST.into(), namespace: BUILTIN_NAMESPACE.into(), type_name: type_name.into() }
    }

    /// Whether the provider is part of Weft itself.
    pub fn is_builtin(&self) -> bool {
        self.host == BUILTIN_HOST && self.namespace == BUILTIN_NAMESPACE
    }

    /// The address as messages show it: without the host if the host is the default registry.
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

/// A quoted string with escapes, as in addresses and in source text.
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
