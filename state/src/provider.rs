//! The provider instance of a record, with its text in the state.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weft_graph_format::address::{AddressError, InstanceKey, ProviderInstance, ProviderSource};

use crate::recent::Recent;

/// The provider instance of a record. The stored text stays unchanged, even if it is not a valid address.
///
/// Cheap to clone. Records of the same provider share it.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredProvider(Arc<Parts>);

#[derive(PartialEq, Eq)]
struct Parts {
    text: Box<str>,
    /// The length of the text without the instance key.
    without_key: usize,
    read: Result<ProviderInstance, AddressError>,
}

thread_local! {
    static RECENT: RefCell<Recent<StoredProvider>> = const { RefCell::new(Recent::NONE) };
}

impl StoredProvider {
    /// Parses an address: `provider["host/ns/type"]`, optionally with `.alias`, `.alias["key"]` and a module prefix.
    pub fn read(text: &str) -> StoredProvider {
        RECENT.with_borrow_mut(|recent| recent.get(text, || StoredProvider::made(text, text.parse())))
    }

    fn made(text: &str, read: Result<ProviderInstance, AddressError>) -> StoredProvider {
        let key = match &read {
            Ok(instance) if instance.key != InstanceKey::None => instance.key.to_string(),
            _ => String::new(),
        };
        let without_key = text.strip_suffix(&*key).unwrap_or(text).len();
        StoredProvider(Arc::new(Parts { text: text.into(), without_key, read }))
    }

    /// The text in the state.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The text without the instance key: `provider["x"].alias` for `provider["x"].alias["key"]`.
    pub fn configuration(&self) -> &str {
        &self.0.text[..self.0.without_key]
    }

    /// The provider instance.
    ///
    /// # Errors
    /// Returns an error if the text is not a valid address.
    pub fn instance(&self) -> Result<&ProviderInstance, &AddressError> {
        self.0.read.as_ref()
    }

    /// The source of the provider, or `None` if the text is not a valid address.
    pub fn source(&self) -> Option<&ProviderSource> {
        self.instance().ok().map(|instance| &instance.source)
    }
}

impl From<&ProviderInstance> for StoredProvider {
    fn from(instance: &ProviderInstance) -> StoredProvider {
        let text = instance.to_string();
        RECENT.with_borrow_mut(|recent| recent.get(&text, || StoredProvider::made(&text, Ok(instance.clone()))))
    }
}

impl fmt::Display for StoredProvider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.text())
    }
}

impl fmt::Debug for StoredProvider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.text(), out)
    }
}

/// Serialized as its text.
impl Serialize for StoredProvider {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

impl<'de> Deserialize<'de> for StoredProvider {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StoredProvider, D::Error> {
        String::deserialize(deserializer).map(|text| StoredProvider::read(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_provider_is_kept() {
        for (text, configuration, source) in [
            ("provider[\"a/b/c\"]", "provider[\"a/b/c\"]", Some("a/b/c")),
            ("module.m.provider[\"a/b/c\"].x[\"k[\"]", "module.m.provider[\"a/b/c\"].x", Some("a/b/c")),
            ("provider[\"a/b/c\"].x[0]", "provider[\"a/b/c\"].x", Some("a/b/c")),
            ("no provider[0]", "no provider[0]", None),
            ("", "", None),
        ] {
            let provider = StoredProvider::read(text);
            assert_eq!((provider.text(), provider.configuration()), (text, configuration));
            assert_eq!(provider.source().map(ToString::to_string).as_deref(), source);
            assert!(Arc::ptr_eq(&provider.0, &StoredProvider::read(text).0));
        }
    }
}
