//! The provider of a function, as formulas refer to it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use smol_str::SmolStr;

use super::{AddressError, ProviderInstance, ProviderSource};

/// The provider of a function. Cheap to clone. Serialized as text: the address of a provider instance, or a provider
/// source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FunctionProvider {
    /// The function runs in a process without a configuration.
    Unconfigured(Arc<ProviderSource>),
    /// The function runs in this configured instance.
    Configured(ProviderInstance),
}

impl FunctionProvider {
    /// The source of the provider.
    pub fn source(&self) -> &ProviderSource {
        match self {
            FunctionProvider::Unconfigured(source) => source,
            FunctionProvider::Configured(instance) => &instance.source,
        }
    }

    /// The instance of a configured provider.
    pub fn instance(&self) -> Option<&ProviderInstance> {
        match self {
            FunctionProvider::Unconfigured(_) => None,
            FunctionProvider::Configured(instance) => Some(instance),
        }
    }
}

impl From<ProviderSource> for FunctionProvider {
    fn from(source: ProviderSource) -> FunctionProvider {
        FunctionProvider::Unconfigured(Arc::new(source))
    }
}

impl From<ProviderInstance> for FunctionProvider {
    fn from(instance: ProviderInstance) -> FunctionProvider {
        FunctionProvider::Configured(instance)
    }
}

impl fmt::Display for FunctionProvider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FunctionProvider::Unconfigured(source) => source.fmt(out),
            FunctionProvider::Configured(instance) => instance.fmt(out),
        }
    }
}

impl FromStr for FunctionProvider {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<FunctionProvider, AddressError> {
        // The number of slashes does not distinguish an instance from a source: the text of an instance contains a
        // source.
        match text.parse() {
            Ok(instance) => Ok(FunctionProvider::Configured(instance)),
            Err(_) => text.parse().map(ProviderSource::into),
        }
    }
}

impl Serialize for FunctionProvider {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.to_string())
    }
}

impl<'de> Deserialize<'de> for FunctionProvider {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<FunctionProvider, D::Error> {
        SmolStr::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_of_functions_is_stored_as_text() {
        for (text, is_instance) in [
            ("registry.opentofu.org/hashicorp/aws", false),
            ("provider[\"registry.opentofu.org/hashicorp/aws\"]", true),
            ("module.m[\"k/1\"].provider[\"h/n/t\"].x[\"a\"]", true),
        ] {
            let provider: FunctionProvider = text.parse().unwrap();
            assert_eq!((provider.to_string().as_str(), provider.instance().is_some()), (text, is_instance));
            let bytes = postcard::to_stdvec(&provider).unwrap();
            assert_eq!(bytes, postcard::to_stdvec(text).unwrap());
            assert_eq!(postcard::from_bytes::<FunctionProvider>(&bytes).unwrap(), provider);
        }
        assert!(postcard::from_bytes::<FunctionProvider>(&postcard::to_stdvec("a/b/c/d").unwrap()).is_err());
    }
}
