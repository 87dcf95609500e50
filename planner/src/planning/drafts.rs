//! Operations around provider instances, and the keys of deposed objects.

use weft_graph_format::address::{DeposedKey, ProviderInstance, ResourceInstance};
use weft_graph_format::graph::Shard;
use weft_graph_format::origin::Origin;
use weft_graph_format::value::Value;

use super::{Opened, Planning};

/// Hexadecimal digits of a deposed key.
const DEPOSED_KEY_DIGITS: usize = 8;

impl Planning {
    /// The shard of a provider instance.
    pub(crate) fn shard(instance: &ProviderInstance) -> Shard {
        Shard::Provider(instance.clone())
    }

    /// The `open_provider` of an instance, drafted once.
    pub(crate) fn opened(&self, instance: &ProviderInstance) -> Opened {
        let mut opened = self.opened.lock();
        if let Some(found) = opened.get(instance) {
            return *found;
        }
        let registered = self.providers.registered(instance);
        let (config, origin) = match &registered {
            Some(registered) => (registered.config.clone(), registered.origin.clone()),
            None => (Value::empty_object(), None),
        };
        let provider = self.builder.open_provider(instance.clone(), config.to_formula(), origin);
        let found = Opened { provider };
        opened.insert(instance.clone(), found);
        found
    }

    /// What everything done through a provider waits for.
    pub(crate) fn provider_origin(&self, instance: &ProviderInstance) -> Option<Origin> {
        self.providers.registered(instance).and_then(|r| r.origin.clone())
    }

    /// Each provider is closed after the last operation that needs it.
    pub(crate) fn close_providers(&self) {
        let opened = std::mem::take(&mut *self.opened.lock());
        let mut in_shard = std::mem::take(&mut *self.in_shard.lock());
        for (instance, found) in opened {
            let close = self.builder.close_provider(found.provider, Self::shard(&instance));
            let users = in_shard.remove(&instance).unwrap_or_default();
            self.builder.wait(close, Origin::union(users.into_iter().map(Origin::after)));
        }
    }

    /// The key under which the current object of an instance is set aside: the same for the same plan.
    pub(crate) fn deposed_key(&self, address: &ResourceInstance) -> DeposedKey {
        let text = format!("{address} {} {}", self.options.timestamp, self.snapshot.serial);
        let hash = blake3::hash(text.as_bytes()).to_hex();
        DeposedKey(hash.as_str()[..DEPOSED_KEY_DIGITS].into())
    }
}
