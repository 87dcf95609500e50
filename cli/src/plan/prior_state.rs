//! The refreshed state on which a plan is based, for commands that show the plan.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;

use weft_graph_format::address::{AbsResource, DeposedKey, ProviderInstance, ProviderSource, ResourceInstance};
use weft_graph_format::bare::BareResource;
use weft_graph_format::changes::{OutputChange, ResourceChange};
use weft_graph_format::codec::{json, type_json};
use weft_graph_format::graph::Action;
use weft_graph_format::schema::{ProviderSchema, Schema};
use weft_graph_format::stored::sensitive_path;
use weft_graph_format::value::Value;
use weft_planner::prior::Prior;
use weft_state::{InstanceObject, InstanceRecord, Opaque, OutputRecord, RawJson, Snapshot, StoredProvider};

use crate::edits::file_of;

/// Objects as a plan has read them.
pub struct ObjectsAsRead<'a> {
    /// The current objects.
    pub current: &'a BTreeMap<ResourceInstance, Prior>,
    /// The deposed objects.
    pub deposed: &'a BTreeMap<(ResourceInstance, DeposedKey), Prior>,
}

/// The prior state as a file of version 4. As in OpenTofu, outputs with a known new value already have that value.
pub fn text(
    snapshot: &Snapshot,
    objects: &ObjectsAsRead<'_>,
    read: &BTreeMap<ResourceInstance, ProviderInstance>,
    schemas: &BTreeMap<ProviderSource, ProviderSchema>,
    (changes, outputs): (&[ResourceChange], &BTreeMap<SmolStr, OutputChange>),
) -> Option<String> {
    let mut state = file_of(snapshot);
    // Plans do not contain the schemas of built-in providers.
    let builtin = weft_providers::Builtin::schema();
    let known_schema = |source: &ProviderSource, address: &ResourceInstance| match schemas.get(source) {
        None if source.is_builtin() => schema_of(&builtin, address),
        known => schema_of(known?, address),
    };
    for (address, prior) in objects.current {
        let text = address.to_string();
        if let Some(provider) = read.get(address) {
            let provider = StoredProvider::from(provider);
            let new = || InstanceRecord::new(address.clone(), provider.clone());
            state.instances.entry(text.clone()).or_insert_with(new).provider = provider.clone();
        }
        let Some(record) = state.instances.get_mut(&text) else { continue };
        if prior.value.is_null() {
            record.current = None;
            if record.is_empty() {
                state.instances.remove(&text);
            }
            continue;
        }
        let schema = record.provider.source().and_then(|source| known_schema(source, address));
        if let Some(object) = schema.and_then(|schema| object(prior, schema)) {
            record.current = Some(object);
        }
    }
    // Planning a missing instance of a bare resource removes the resource, as in OpenTofu.
    let planned: BTreeSet<AbsResource> = changes.iter().map(|change| change.address.all()).collect();
    state.outputs.retain(|name, _| BareResource::of_name(name).is_none_or(|bare| !planned.contains(&bare.resource)));
    for ((address, key), prior) in objects.deposed {
        let text = address.to_string();
        let Some(record) = state.instances.get_mut(&text) else { continue };
        if prior.value.is_null() {
            record.deposed.remove(key);
            if record.is_empty() {
                state.instances.remove(&text);
            }
            continue;
        }
        let known = record.provider.source().and_then(|source| known_schema(source, address));
        if let (Some(stored), Some(object)) =
            (record.deposed.get_mut(key), known.and_then(|schema| object(prior, schema)))
        {
            *stored = object;
        }
    }
    for (name, change) in outputs {
        let deleted = change.action == Action::Delete;
        let (value, sensitive) =
            if deleted { (&change.before, change.sensitive_before) } else { (&change.after, change.sensitive_after) };
        let (value, _) = value.unmark_deep();
        if value.is_null() {
            state.outputs.remove(name.as_str());
        } else if let Some(record) = output(&value, sensitive) {
            state.outputs.insert(name.to_string(), record);
        }
    }
    String::from_utf8(state.to_bytes()).ok()
}

/// An output in the format of the state. `None` if its value is unknown.
fn output(value: &Value, sensitive: bool) -> Option<OutputRecord> {
    if !value.is_wholly_known() {
        return None;
    }
    let ty = value.ty();
    Some(OutputRecord {
        value: RawJson::new(json::encode(value, &ty).ok()?),
        value_type: RawJson::new(type_json::encode(&ty)),
        sensitive,
        deprecated: None,
    })
}

/// An output in the format of the state, with null in place of each unknown part.
pub fn unsettled_output(value: &Value, sensitive: bool) -> Option<OutputRecord> {
    output(&value.unmark_deep().0.unknown_as_null(), sensitive)
}

fn schema_of<'a>(schemas: &'a ProviderSchema, address: &ResourceInstance) -> Option<&'a Schema> {
    Some(schemas.types(address.resource.mode).get(&address.resource.type_name)?)
}

fn object(prior: &Prior, schema: &Schema) -> Option<InstanceObject> {
    let (value, marks) = prior.value.unmark_with_paths();
    let attributes = json::encode(&value, &schema.block.implied_type()).ok()?;
    let sensitive = marks.iter().filter(|(_, marks)| marks.is_sensitive());
    Some(InstanceObject {
        sensitive_paths: sensitive.map(|(path, _)| sensitive_path(path)).collect(),
        private: Opaque(prior.private.clone()),
        dependencies: prior.record.dependencies.iter().map(ToString::to_string).collect(),
        create_before_destroy: prior.record.create_before_destroy,
        skip_destroy: prior.record.skip_destroy,
        tainted: prior.tainted,
        identity: prior.record.identity.clone().map(RawJson::new),
        identity_schema_version: prior.record.identity_schema_version,
        ..InstanceObject::new(prior.record.schema_version, RawJson::new(attributes))
    })
}
