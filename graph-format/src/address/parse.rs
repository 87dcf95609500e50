//! Parsing of addresses.

use std::str::FromStr;

use smol_str::SmolStr;
use thiserror::Error;

use super::{
    AbsResource, ConfigResource, DEFAULT_REGISTRY, InstanceKey, Module, ModuleInstance, ModuleStep, ProviderConfig,
    ProviderInstance, ProviderParts, ProviderSource, Resource, ResourceInstance, ResourceMode,
};

/// Why a text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddressError {
    /// A part of the address is missing or invalid.
    #[error("{expected} expected at {rest:?} in the address {text:?}")]
    Expected {
        /// The expected part.
        expected: &'static str,
        /// The text from the position at which the part was expected.
        rest: String,
        /// The whole text.
        text: String,
    },
    /// Text follows the end of the address.
    #[error("unexpected {rest:?} after the end of the address {text:?}")]
    Trailing {
        /// The superfluous text.
        rest: String,
        /// The whole text.
        text: String,
    },
}

/// The length of the name at the beginning of a text; 0 if there is none.
fn name_length(text: &str) -> usize {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(text.len())
}

impl Resource {
    /// Whether a configuration can contain a resource with this type and name, so that its address can be parsed. In a
    /// state, the type and the name can be any text.
    pub fn is_valid(&self) -> bool {
        let name = |text: &str| !text.is_empty() && name_length(text) == text.len();
        // These words begin an address, so they are not types.
        let begins = ["module", "data", "ephemeral", "resource"].contains(&self.type_name.as_str());
        name(&self.type_name) && name(&self.name) && (self.mode != ResourceMode::Managed || !begins)
    }
}

struct AddressReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> AddressReader<'a> {
    fn new(text: &'a str) -> AddressReader<'a> {
        AddressReader { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn error(&self, expected: &'static str) -> AddressError {
        AddressError::Expected { expected, rest: self.rest().to_string(), text: self.text.to_string() }
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    fn name(&mut self) -> Result<SmolStr, AddressError> {
        let rest = self.rest();
        let len = name_length(rest);
        if len == 0 {
            return Err(self.error("a name"));
        }
        self.at += len;
        Ok(SmolStr::new(&rest[..len]))
    }

    fn quoted(&mut self) -> Result<SmolStr, AddressError> {
        if !self.eat("\"") {
            return Err(self.error("a quoted string"));
        }
        let mut out = String::new();
        loop {
            let mut chars = self.rest().chars();
            let Some(c) = chars.next() else { return Err(self.error("a closing quote")) };
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(out.into()),
                '$' | '%' if self.rest().starts_with(c) && self.rest()[1..].starts_with('{') => {
                    self.at += 1;
                    out.push(c);
                }
                '\\' => {
                    let Some(escape) = chars.next() else { return Err(self.error("an escape")) };
                    self.at += escape.len_utf8();
                    match escape {
                        'n' => out.push('\n'),
                        'r' => out.push('\r'),
                        't' => out.push('\t'),
                        '"' | '\\' => out.push(escape),
                        'u' | 'U' => {
                            let digits = if escape == 'u' { 4 } else { 8 };
                            let code = self
                                .rest()
                                .get(..digits)
                                .and_then(|hex| u32::from_str_radix(hex, 16).ok())
                                .and_then(char::from_u32);
                            let Some(code) = code else { return Err(self.error("hexadecimal digits")) };
                            self.at += digits;
                            out.push(code);
                        }
                        _ => return Err(self.error("a known escape")),
                    }
                }
                c => out.push(c),
            }
        }
    }

    fn key(&mut self) -> Result<InstanceKey, AddressError> {
        if !self.eat("[") {
            return Ok(InstanceKey::None);
        }
        let key = if self.rest().starts_with('"') {
            InstanceKey::String(self.quoted()?)
        } else {
            let rest = self.rest();
            let sign = usize::from(rest.starts_with('-'));
            let digits = rest[sign..].find(|c: char| !c.is_ascii_digit());
            let len = digits.map_or(rest.len(), |digits| sign + digits);
            let Ok(number) = rest[..len].parse::<i64>() else { return Err(self.error("a key")) };
            self.at += len;
            InstanceKey::Int(number)
        };
        if !self.eat("]") {
            return Err(self.error("]"));
        }
        Ok(key)
    }

    /// Parses `module.a["k"].module.b`. If something follows, also reads the dot after this address.
    fn modules(&mut self) -> Result<ModuleInstance, AddressError> {
        let mut steps = Vec::new();
        while self.eat("module.") {
            let name = self.name()?;
            let key = self.key()?;
            steps.push(ModuleStep { name, key });
            if !self.eat(".") {
                break;
            }
        }
        Ok(ModuleInstance(steps.into()))
    }

    fn resource(&mut self) -> Result<Resource, AddressError> {
        let mode = if self.eat("data.") {
            ResourceMode::Data
        } else if self.eat("ephemeral.") {
            ResourceMode::Ephemeral
        } else {
            self.eat("resource.");
            ResourceMode::Managed
        };
        let type_name = self.name()?;
        if !self.eat(".") {
            return Err(self.error("a dot and the resource's name"));
        }
        Ok(Resource { mode, type_name, name: self.name()? })
    }

    fn provider(&mut self) -> Result<(ModuleInstance, ProviderSource, Option<SmolStr>, InstanceKey), AddressError> {
        let module = self.modules()?;
        if !self.eat("provider[") {
            return Err(self.error("provider["));
        }
        let source = self.quoted()?.parse()?;
        if !self.eat("]") {
            return Err(self.error("]"));
        }
        let alias = if self.eat(".") { Some(self.name()?) } else { None };
        let key = self.key()?;
        Ok((module, source, alias, key))
    }

    fn end<T>(self, value: T) -> Result<T, AddressError> {
        if self.rest().is_empty() {
            return Ok(value);
        }
        Err(AddressError::Trailing { rest: self.rest().to_string(), text: self.text.to_string() })
    }
}

fn without_keys(text: &str, module: ModuleInstance) -> Result<Module, AddressError> {
    if module.0.iter().all(|step| step.key == InstanceKey::None) {
        return Ok(module.config());
    }
    Err(AddressError::Expected {
        expected: "an address without instance keys",
        rest: module.to_string(),
        text: text.to_string(),
    })
}

impl FromStr for ModuleInstance {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let mut reader = AddressReader::new(text);
        let module = reader.modules()?;
        if text.ends_with('.') {
            return Err(reader.error("a name"));
        }
        reader.end(module)
    }
}

impl FromStr for Module {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        without_keys(text, text.parse()?)
    }
}

impl FromStr for ResourceInstance {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let mut reader = AddressReader::new(text);
        let module = reader.modules()?;
        let resource = reader.resource()?;
        let key = reader.key()?;
        reader.end(ResourceInstance { module, resource, key })
    }
}

impl FromStr for AbsResource {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let mut reader = AddressReader::new(text);
        let module = reader.modules()?;
        let resource = reader.resource()?;
        reader.end(AbsResource { module, resource })
    }
}

impl FromStr for ConfigResource {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let found: AbsResource = text.parse()?;
        Ok(ConfigResource { module: without_keys(text, found.module)?, resource: found.resource })
    }
}

/// Accepts `host/namespace/type`, `namespace/type` in the default registry, and `type` in the namespace `hashicorp`.
impl FromStr for ProviderSource {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let parts: Vec<&str> = text.split('/').collect();
        let (host, namespace, type_name) = match parts[..] {
            [type_name] => (DEFAULT_REGISTRY, "hashicorp", type_name),
            [namespace, type_name] => (DEFAULT_REGISTRY, namespace, type_name),
            [host, namespace, type_name] => (host, namespace, type_name),
            _ => ("", "", ""),
        };
        if host.is_empty() || namespace.is_empty() || type_name.is_empty() {
            return Err(AddressError::Expected {
                expected: "a provider source such as hashicorp/aws",
                rest: text.to_string(),
                text: text.to_string(),
            });
        }
        Ok(ProviderSource {
            host: host.to_lowercase().into(),
            namespace: namespace.to_lowercase().into(),
            type_name: type_name.to_lowercase().into(),
        })
    }
}

impl FromStr for ProviderInstance {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let mut reader = AddressReader::new(text);
        let (module, source, alias, key) = reader.provider()?;
        reader.end(ProviderParts { module, source, alias, key }.into())
    }
}

impl FromStr for ProviderConfig {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let found: ProviderInstance = text.parse()?;
        if found.key != InstanceKey::None {
            return Err(AddressError::Trailing { rest: found.key.to_string(), text: text.to_string() });
        }
        let (source, alias) = (found.source.clone(), found.alias.clone());
        Ok(ProviderConfig { module: without_keys(text, found.module.clone())?, source, alias })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_keys_are_read() {
        for text in ["a.b[-1]", "module.m[-20].a.b", "a.b[9223372036854775807]"] {
            assert_eq!(text.parse::<ResourceInstance>().unwrap().to_string(), text);
        }
        assert_eq!("a.b[-0]".parse::<ResourceInstance>().unwrap().key, InstanceKey::Int(0));
        for wrong in ["a.b[-]", "a.b[--1]", "a.b[1-]", "a.b[-1", "a.b[- 1]", "a.b[9223372036854775808]"] {
            assert!(wrong.parse::<ResourceInstance>().is_err(), "{wrong}");
        }
    }

    /// The text of an invalid name is not a valid address.
    #[test]
    fn only_valid_names_of_resources_are_read() {
        let names = ["a", "a-b_1", "0a", "", "a b", "ä", "module", "data", "resource", "ephemeral"];
        for mode in [ResourceMode::Managed, ResourceMode::Data, ResourceMode::Ephemeral] {
            for (type_name, name) in names.iter().flat_map(|one| names.iter().map(move |other| (one, other))) {
                let resource = Resource { mode, type_name: (*type_name).into(), name: (*name).into() };
                let read = resource.to_string().parse::<AbsResource>();
                assert_eq!(read.is_ok_and(|found| found.resource == resource), resource.is_valid(), "{resource}");
            }
        }
    }
}
