//! Resource types, and the form of their objects in the state.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use weft_expressions::convert::convert;
use weft_expressions::resource_rules::{Located, located, sensitive_paths};
use weft_graph_format::address::{ProviderSource, ResourceInstance, ResourceMode};
use weft_graph_format::codec::{EncodeError, json};
use weft_graph_format::graph::StateRecord;
use weft_graph_format::marks::Marks;
use weft_graph_format::path::Path;
use weft_graph_format::schema::{Attribute, Block, IdentityAttribute, IdentitySchema, ProviderSchema};
use weft_graph_format::stored::{InstanceObject, Opaque, RawJson, sensitive_path};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Transform, Value};

/// A managed or data resource type.
#[derive(Debug)]
pub(crate) struct ResourceType {
    pub(crate) name: SmolStr,
    pub(crate) version: u64,
    pub(crate) block: Block,
    /// The type of its objects.
    pub(crate) ty: Type,
    /// The identity of the objects, if the type has identities.
    identity: Option<Identity>,
    has_sensitive: bool,
    has_write_only: bool,
}

/// The identity of the objects of a type.
#[derive(Debug)]
struct Identity {
    ty: Type,
    /// The attributes of the identity. Each attribute says whether an import works without it.
    attributes: Vec<(SmolStr, IdentityAttribute)>,
}

impl Identity {
    fn new(schema: &IdentitySchema) -> Identity {
        let types = schema.attributes.iter().map(|(name, attribute)| (name.clone(), attribute.ty.clone()));
        let attributes = schema.attributes.iter().map(|(name, attribute)| (name.clone(), attribute.clone()));
        Identity { ty: Type::object(types), attributes: attributes.collect() }
    }
}

/// The resource types of a shard, each prepared once.
#[derive(Debug, Default)]
pub(crate) struct ResourceTypes {
    managed: FxHashMap<ProviderSource, FxHashMap<SmolStr, Arc<ResourceType>>>,
    data: FxHashMap<ProviderSource, FxHashMap<SmolStr, Arc<ResourceType>>>,
}

impl ResourceTypes {
    /// Adds all types of a provider.
    pub(crate) fn add(&mut self, source: &ProviderSource, schema: &ProviderSchema) {
        let managed = self.managed.entry(source.clone()).or_default();
        for (name, found) in &schema.resources {
            let identity = schema.identities.get(name).map(Identity::new);
            let made = ResourceType::new(name, found.version, found.block.clone(), identity);
            managed.insert(name.clone(), Arc::new(made));
        }
        let data = self.data.entry(source.clone()).or_default();
        for (name, found) in &schema.data_sources {
            let made = ResourceType::new(name, found.version, found.block.clone(), None);
            data.insert(name.clone(), Arc::new(made));
        }
    }

    /// The type of a resource instance.
    pub(crate) fn of(&self, source: &ProviderSource, address: &ResourceInstance) -> Option<Arc<ResourceType>> {
        let types = match address.resource.mode {
            ResourceMode::Managed => &self.managed,
            ResourceMode::Data => &self.data,
            ResourceMode::Ephemeral => return None,
        };
        types.get(source)?.get(&address.resource.type_name).cloned()
    }
}

impl ResourceType {
    fn new(name: &SmolStr, version: u64, block: Block, identity: Option<Identity>) -> ResourceType {
        ResourceType {
            name: name.clone(),
            version,
            ty: block.implied_type(),
            identity,
            has_sensitive: any_attribute(&block, &|a| a.sensitive),
            has_write_only: any_attribute(&block, &|a| a.write_only),
            block,
        }
    }

    /// Whether the objects of the type have identities.
    pub(crate) fn has_identity(&self) -> bool {
        self.identity.is_some()
    }

    /// An identity from JSON text. `None` if the type has no identity, or if the text is not a valid identity of the
    /// type.
    pub(crate) fn identity(&self, text: &str) -> Option<Value> {
        json::decode(text.as_bytes(), &self.identity.as_ref()?.ty).ok()
    }

    /// The identity with which a planned object can be imported. Its values are the object's attributes of the same
    /// names. `None` if an attribute that an import needs is null or unknown, or if no attribute has a value.
    pub(crate) fn planned_identity(&self, planned: &Value) -> Option<Value> {
        let (identity, fields) = (self.identity.as_ref()?, planned.as_fields()?);
        let mut parts = Vec::with_capacity(identity.attributes.len());
        for (name, attribute) in &identity.attributes {
            let known = fields.get(name).filter(|value| !value.is_null() && value.is_wholly_known());
            match known.and_then(|value| convert(value, &attribute.ty).ok()) {
                Some(value) => parts.push((name.clone(), value)),
                None if attribute.optional_for_import => parts.push((name.clone(), Value::null(attribute.ty.clone()))),
                None => return None,
            }
        }
        parts.iter().any(|(_, value)| !value.is_null()).then(|| Value::object(parts))
    }

    /// The null object.
    pub(crate) fn null(&self) -> Value {
        Value::null(self.ty.clone())
    }

    /// The sensitive paths of an object, ascending: the `given` paths, and the paths of sensitive attributes in the
    /// schema. If a given path leads to a part that no longer exists, the smallest part around it is sensitive. A given
    /// path is left out if it leads into null, or if its part no longer exists and the schema marks the attribute as
    /// sensitive.
    pub(crate) fn sensitive_paths<'p>(&self, object: &Value, given: impl Iterator<Item = &'p Path>) -> Vec<Path> {
        let mut found: BTreeSet<Path> = given
            .filter_map(|path| match located(object, path, &self.block) {
                Located::There(path) | Located::Lost(path) => Some(path),
                Located::Nowhere => None,
            })
            .collect();
        if self.has_sensitive {
            found.extend(sensitive_paths(object, &self.block));
        }
        found.into_iter().collect()
    }

    /// Replaces write-only attributes by null. A provider must not return values of such attributes.
    pub(crate) fn without_write_only(&self, object: &Value) -> Value {
        if !self.has_write_only {
            return object.clone();
        }
        object.transform(&mut |path, part| {
            let hidden =
                weft_expressions::resource_rules::attribute_at(&self.block, path).is_some_and(|a| a.write_only);
            match hidden {
                true => Transform::Replace(Value::null(part.ty())),
                false => Transform::Descend,
            }
        })
    }

    /// The object in the form of the state. `object` is wholly known and without marks.
    pub(crate) fn stored(
        &self,
        object: &Value,
        sensitive: Vec<Path>,
        private: Vec<u8>,
        record: &StateRecord,
        tainted: bool,
        identity: Option<&Value>,
    ) -> Result<InstanceObject, EncodeError> {
        let attributes = json::encode(&self.without_write_only(object), &self.ty)?;
        let given = match (identity, &self.identity) {
            (Some(value), Some(identity)) if !value.is_null() && value.is_wholly_known() => {
                Some(json::encode(&value.unmark_deep().0, &identity.ty)?)
            }
            _ => record.identity.clone(),
        };
        Ok(InstanceObject {
            sensitive_paths: sensitive.iter().map(sensitive_path).collect(),
            private: Opaque(private),
            dependencies: record.dependencies.iter().map(SmolStr::to_string).collect(),
            create_before_destroy: record.create_before_destroy,
            skip_destroy: record.skip_destroy,
            tainted,
            identity: given.map(RawJson::new),
            identity_schema_version: record.identity_schema_version,
            ..InstanceObject::new(record.schema_version.max(self.version), RawJson::new(attributes))
        })
    }

    /// The identity in the state, as a value.
    pub(crate) fn identity_of(&self, record: &StateRecord) -> Option<Value> {
        self.identity(record.identity.as_ref()?)
    }
}

/// Marks the value at its sensitive paths.
pub(crate) fn marked(object: &Value, sensitive: &[Path]) -> Value {
    if sensitive.is_empty() {
        return object.clone();
    }
    let marks: Vec<(Path, Marks)> = sensitive.iter().map(|path| (path.clone(), Marks::SENSITIVE)).collect();
    object.mark_paths(&marks)
}

/// Replaces unknown parts by null, and returns their paths.
pub(crate) fn settle_unknowns(value: &Value) -> (Value, Vec<Path>) {
    let mut found = Vec::new();
    if value.is_wholly_known() {
        return (value.clone(), found);
    }
    let settled = value.transform(&mut |path, part| match part.open().1 {
        Kind::Unknown(unknown) => {
            found.push(path.clone());
            Transform::Replace(Value::null(unknown.ty.clone()))
        }
        _ => Transform::Descend,
    });
    (settled, found)
}

fn any_attribute(block: &Block, test: &dyn Fn(&Attribute) -> bool) -> bool {
    fn of(attribute: &Attribute, test: &dyn Fn(&Attribute) -> bool) -> bool {
        test(attribute)
            || attribute.nested.as_ref().is_some_and(|nested| nested.attributes.values().any(|a| of(a, test)))
    }
    block.attributes.values().any(|a| of(a, test)) || block.blocks.values().any(|b| any_attribute(&b.block, test))
}

#[cfg(test)]
mod tests {
    use weft_graph_format::path::ValueStep;
    use weft_graph_format::schema::{NestedAttributes, Nesting};

    use super::*;

    fn resource_type() -> ResourceType {
        let secret = Attribute { sensitive: true, ..Attribute::new(Type::String) };
        let nested = NestedAttributes { attributes: [("key".into(), secret.clone())].into(), nesting: Nesting::List };
        let users = Attribute { ty: nested.implied_type(), nested: Some(Box::new(nested)), ..secret.clone() };
        let block = Block {
            attributes: [
                ("name".into(), Attribute::new(Type::String)),
                ("password".into(), secret),
                ("users".into(), Attribute { sensitive: false, ..users }),
                ("once".into(), Attribute { write_only: true, ..Attribute::new(Type::String) }),
            ]
            .into(),
            ..Block::default()
        };
        ResourceType::new(&"t".into(), 3, block, None)
    }

    fn object() -> Value {
        let user = Value::object([("key", Value::string("k"))]);
        Value::object([
            ("name", Value::string("n")),
            ("password", Value::string("p")),
            ("users", Value::list(user.ty(), vec![user])),
            ("once", Value::string("never stored")),
        ])
    }

    #[test]
    fn sensitive_paths_of_plan_and_schema_are_joined() {
        let name = Path::ROOT.attribute("name");
        let second_user = Path::ROOT.attribute("users").with(ValueStep::Index(1)).attribute("key");
        let found = resource_type().sensitive_paths(&object(), [&name, &second_user].into_iter());
        let texts: Vec<String> = found.iter().map(Path::to_string).collect();
        assert_eq!(texts, [".name", ".password", ".users[0].key"]);
        let absent = Path::ROOT.attribute("absent");
        let lost = resource_type().sensitive_paths(&object(), [&absent].into_iter());
        assert_eq!(lost[0], Path::ROOT);
        let marked = marked(&object(), &found);
        assert_eq!(marked.unmark_with_paths().1.len(), 3);
    }

    #[test]
    fn write_only_attributes_are_never_stored() {
        let ty = resource_type();
        let stored = ty.stored(&object(), Vec::new(), vec![1], &StateRecord::default(), false, None).unwrap();
        let wanted = r#"{"name":"n","once":null,"password":"p","users":[{"key":"k"}]}"#;
        assert_eq!((stored.attributes.as_str(), stored.schema_version), (wanted, 3));
    }

    #[test]
    fn unknown_parts_become_null() {
        let value = Value::object([("a", Value::unknown(Type::String)), ("b", Value::int(1))]);
        let (settled, found) = settle_unknowns(&value);
        assert!(settled.is_wholly_known());
        assert_eq!(found, [Path::ROOT.attribute("a")]);
    }
}
