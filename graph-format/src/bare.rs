//! Resources that a state lists without instances.

use std::fmt;
use std::str::FromStr;

use crate::address::{AbsResource, AddressError, ProviderConfig};
use crate::stored::{OutputRecord, RawJson};

/// A resource that the state lists without instances, with its provider configuration. OpenTofu lists such a resource
/// after an apply that reached the resource and then failed, and after an import. The next successful apply removes it.
///
/// A bare resource is stored like a root output whose name is the text of the resource and its provider. So journals,
/// stores and copies need no code for it, and earlier versions ignore it: they take it for the memory of a provider
/// instance ([`crate::stored::is_provider_memory`]).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BareResource {
    /// The resource.
    pub resource: AbsResource,
    /// Its provider configuration.
    pub provider: ProviderConfig,
}

impl BareResource {
    /// The record of each bare resource.
    pub fn record() -> OutputRecord {
        OutputRecord {
            value: RawJson::new("null"),
            value_type: RawJson::new("\"dynamic\""),
            sensitive: false,
            deprecated: None,
        }
    }

    /// Parses the name of a stored output. `None` if the output is not a bare resource.
    pub fn of_name(name: &str) -> Option<BareResource> {
        // This test is cheap, and most names fail it.
        name.contains(' ').then(|| name.parse().ok()).flatten()
    }
}

/// The name of the stored output.
impl fmt::Display for BareResource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.resource, self.provider)
    }
}

impl FromStr for BareResource {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<BareResource, AddressError> {
        // The text of a provider configuration has no spaces. The text of a resource may have some, in keys of modules.
        let (resource, provider) = text.rsplit_once(' ').unwrap_or((text, ""));
        Ok(BareResource { resource: resource.parse()?, provider: provider.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::is_provider_memory;

    #[test]
    fn the_name_of_a_bare_resource_is_its_text() {
        for text in [
            "a.b provider[\"a/b/c\"]",
            "data.a.b provider[\"a/b/c\"].x",
            "module.m[\"a b\"].module.n[0].a.b module.m.provider[\"a/b/c\"].x",
        ] {
            let bare = BareResource::of_name(text).unwrap();
            assert_eq!(bare.to_string(), text);
            assert!(is_provider_memory(text), "{text}");
        }
    }

    #[test]
    fn other_outputs_are_not_bare_resources() {
        for name in ["", "o", "provider[\"a/b/c\"].x[\"k l\"]", "module.m[\"a b\"].provider[\"a/b/c\"]", "a.b", "a b"] {
            assert_eq!(BareResource::of_name(name), None, "{name}");
        }
    }
}
