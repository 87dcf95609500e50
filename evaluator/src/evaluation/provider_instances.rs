//! The instances of provider blocks, and the choice of an instance.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use smol_str::SmolStr;
use weft_graph_format::address::{InstanceKey, ModuleInstance, ProviderConfig, ProviderInstance, ProviderSource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::origin::Origin;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::problems::providers as problems;

/// The configured instances of a provider block.
pub(crate) struct ProviderInstances {
    /// Whether the instances have keys.
    pub(crate) keyed: bool,
    /// The instances.
    pub(crate) instances: BTreeMap<InstanceKey, ProviderInstance>,
    /// The origin of the keys.
    pub(crate) origin: Option<Origin>,
    /// All instances as a value. The value is cached, because many expressions may need it.
    whole: OnceLock<Value>,
}

impl ProviderInstances {
    pub(super) fn new(
        keyed: bool,
        instances: BTreeMap<InstanceKey, ProviderInstance>,
        origin: Option<Origin>,
    ) -> ProviderInstances {
        ProviderInstances { keyed, instances, origin, whole: OnceLock::new() }
    }

    /// A map of references to all instances by key. Unknown if validation does not know the keys.
    fn map(&self, ty: Type) -> Value {
        let origin = self.origin.as_ref();
        let mut entries = BTreeMap::new();
        for (key, instance) in &self.instances {
            let InstanceKey::String(key) = key else { return Value::unknown(Type::map(ty)) };
            entries.insert(key.clone(), Value::provider(instance.clone()).add_origin(origin));
        }
        Value::map(ty, entries).add_origin(origin)
    }
}

/// The provider block for a name, and the key of the instance if a call has chosen one.
pub(super) struct FoundProvider {
    pub(super) blocks: Arc<ProviderInstances>,
    pub(super) key: Option<InstanceKey>,
    pub(super) origin: Option<Origin>,
    /// The configuration that the name refers to.
    pub(super) named: (ModuleInstance, ProviderSource, Option<SmolStr>),
}

impl FoundProvider {
    /// The configuration that the name refers to.
    pub(super) fn config(&self) -> ProviderConfig {
        let (module, source, alias) = &self.named;
        ProviderConfig { module: module.config(), source: source.clone(), alias: alias.clone() }
    }

    /// The error for a key without an instance.
    pub(super) fn absent(&self, key: &InstanceKey, user: &str, at: &SourceRange) -> Diagnostic {
        problems::absent_instance(user, key, &self.config(), self.blocks.instances.keys(), at)
    }

    /// A reference to the instance, or a map of references if the instances have keys. The value has the origin of the
    /// keys.
    pub(super) fn value(&self) -> Value {
        let ty = Type::provider(self.named.1.clone());
        let origin = self.origin.as_ref();
        let reference = |instance: &ProviderInstance| Value::provider(instance.clone()).add_origin(origin);
        let single = |key: &InstanceKey| {
            let instance = self.blocks.instances.get(key);
            instance.map_or_else(|| Value::unknown(ty.clone()), reference)
        };
        match (&self.key, self.blocks.keyed) {
            (Some(key), _) => single(key),
            (None, false) => single(&InstanceKey::None),
            (None, true) => self.blocks.whole.get_or_init(|| self.blocks.map(ty)).add_origin(origin),
        }
    }
}

/// The chosen provider instance, and the origin of the choice.
pub(crate) struct Chosen {
    pub(crate) instance: ProviderInstance,
    pub(crate) origin: Option<Origin>,
}
