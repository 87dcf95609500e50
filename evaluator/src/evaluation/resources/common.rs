//! The data that all instances of a resource block share, and its objects during validation.

use std::sync::{Arc, OnceLock};

use weft_expressions::resource_rules::{deprecated_paths, sensitive_paths};
use weft_graph_format::address::{InstanceKey, ProviderInstance};
use weft_graph_format::marks::Marks;
use weft_graph_format::origin::Origin;
use weft_graph_format::schema::{Block, Schema};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::config::{Repetition, ResourceBlock};
use crate::evaluation::instances::assemble;
use crate::glue::{BlockRules, ExpansionKind, NamedObjects};

/// The value of a single object during validation. With `enabled`, the object is unknown as a whole.
pub(super) fn in_validation(schema: &Block, kind: ExpansionKind) -> Value {
    if kind == ExpansionKind::Single { unknown_object(schema) } else { Value::unknown(schema.implied_type()) }
}

/// An unknown value of the schema's object type. If the schema has sensitive or deprecated attributes, returns a known
/// object with unknown attributes instead. The sensitive attributes are marked.
pub(in crate::evaluation) fn unknown_object(schema: &Block) -> Value {
    let ty = schema.implied_type();
    let Type::Object(object) = &ty else { return Value::unknown(ty) };
    let parts = object.attributes.iter().map(|(name, ty)| (name.clone(), Value::unknown(ty.clone())));
    let apart = Value::object(parts);
    let sensitive = sensitive_paths(&apart, schema);
    if sensitive.is_empty() && deprecated_paths(&apart, schema).is_empty() {
        return Value::unknown(ty);
    }
    let marks: Vec<_> = sensitive.into_iter().map(|path| (path, Marks::SENSITIVE)).collect();
    apart.mark_paths(&marks)
}

/// The data that all instances of a block share.
pub(super) struct Common {
    pub(super) block: Arc<ResourceBlock>,
    pub(super) rules: Arc<BlockRules>,
    pub(super) schema: Arc<Schema>,
    pub(super) waits: Option<Origin>,
    pub(super) direct: Vec<NamedObjects>,
    /// The provider of the first instance that has one.
    pub(super) provider: OnceLock<ProviderInstance>,
    /// The kind of repetition, if there is exactly one instance.
    pub(super) only: Option<ExpansionKind>,
    /// Whether the instances are known. Validation also checks blocks whose repetition is invalid.
    pub(super) is_expanded: bool,
}

impl Common {
    /// The data of a block whose instances are unknown.
    pub(super) fn new(block: Arc<ResourceBlock>, schema: Arc<Schema>) -> Common {
        let rules = Arc::new(BlockRules::of(&block));
        let (direct, provider) = Default::default();
        Common { block, rules, schema, waits: None, direct, provider, only: None, is_expanded: false }
    }

    /// Returns the shared copy of a provider if it is the same as the first one.
    pub(super) fn shared(&self, provider: ProviderInstance) -> ProviderInstance {
        let first = self.provider.get_or_init(|| provider.clone());
        if *first == provider { first.clone() } else { provider }
    }

    /// The value of `self` during validation. Like references to the resource, it has no type if the resource is
    /// repeated.
    pub(super) fn own_in_validation(&self) -> Value {
        match self.block.repetition {
            Repetition::Count(_) | Repetition::ForEach(_) => Value::unknown(Type::Dynamic),
            Repetition::Single | Repetition::Enabled(_) => unknown_object(&self.schema.block),
        }
    }

    /// The value of the resource if `object` is its only instance.
    pub(super) fn whole(&self, key: &InstanceKey, object: &Value) -> Option<Value> {
        let instances = vec![(key.clone(), object.clone())];
        let nothing = || Value::null(Type::Dynamic);
        self.only.map(|kind| assemble(kind, instances, || Type::Dynamic, nothing))
    }
}
