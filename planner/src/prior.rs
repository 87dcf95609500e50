//! Objects as state has them: read, brought to the present schema, looked at.

use weft_expressions::resource_rules::sensitive_paths;
use weft_graph_format::address::{InstanceKey, ResourceInstance};
use weft_graph_format::codec::json;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::graph::StateRecord;
use weft_graph_format::marks::Marks;
use weft_graph_format::path::{Path, Step};
use weft_graph_format::schema::{Block, Schema};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_providers::Provider;
use weft_providers::call::{RawState, ReadRequest};
use weft_state::{InstanceObject, PathStep};

use crate::diagnostics::{call_failed, placed};
use crate::watch::{Looking, Watch};

/// An object of state, typed by the present schema.
#[derive(Clone, Debug)]
pub struct Prior {
    /// The value as state has it, marks where state or schema say sensitive.
    pub stored: Value,
    /// The value as it was found to be; null when it is gone.
    pub value: Value,
    /// The provider's own data.
    pub private: Vec<u8>,
    /// To be replaced.
    pub tainted: bool,
    /// State does not say of everything sensitive that it is, and the object was not looked at.
    pub lacks_marks: bool,
    /// What is kept beside it.
    pub record: StateRecord,
}

impl Prior {
    /// Nothing: what was there is of no use any more.
    pub(crate) fn gone() -> Prior {
        let nothing = Value::null(Type::Dynamic);
        Prior {
            stored: nothing.clone(),
            value: nothing,
            private: Vec::new(),
            tainted: false,
            lacks_marks: false,
            record: StateRecord::default(),
        }
    }
}

/// Reads an object and, with `refresh`, looks at the real one; `meta` is what its module tells the provider of itself.
pub async fn read_prior(
    address: &ResourceInstance,
    object: &InstanceObject,
    schema: &Schema,
    provider: &Provider,
    refresh: bool,
    meta: Option<Value>,
    watch: &Watch,
) -> Result<(Prior, Vec<Diagnostic>), Vec<Diagnostic>> {
    let text = address.to_string();
    let type_name = address.resource.type_name.clone();
    if object.schema_version > schema.version {
        return Err(vec![Diagnostic::error(
            "Resource instance managed by newer provider version",
            format!(
                "The stored object of {text} follows version {} of its schema, the provider that is installed knows \
                     version {}. Use a newer version of the provider.",
                object.schema_version, schema.version
            ),
        )]);
    }
    let raw = raw_state(object);
    let upgraded = provider
        .upgrade_resource_state(&type_name, object.schema_version, raw)
        .await
        .map_err(|e| vec![call_failed(&e, None, &text)])?;
    let mut said = placed(&upgraded.diagnostics, None, &text);
    if has_errors(&said) {
        return Err(said);
    }
    let marks = marks_of(object);
    let mut prior = Prior {
        stored: upgraded.value.mark_paths(&sensitive_in(&upgraded.value, &marks, &schema.block)),
        value: Value::null(upgraded.value.ty()),
        private: object.private.0.clone(),
        tainted: object.tainted,
        lacks_marks: false,
        record: record_of(object, schema),
    };
    let mut value = upgraded.value;
    if refresh {
        let began = watch.begin(address, Looking::RefreshStarted, &prior.stored);
        let request = ReadRequest {
            address: address.clone(),
            type_name,
            current_state: value.clone(),
            private: prior.private.clone(),
            provider_meta: meta,
            identity: None,
        };
        let reply = provider.read_resource(request).await.map_err(|e| vec![call_failed(&e, None, &text)])?;
        let found = placed(&reply.diagnostics, None, &text);
        let failed = has_errors(&found);
        said.extend(found);
        if failed {
            return Err(said);
        }
        if !reply.value.state.is_wholly_known() {
            said.push(
                Diagnostic::error(
                    "Provider produced invalid object",
                    format!("The provider answered the reading of {text} with values that are not known. This is a defect of the provider."),
                )
                .about(text),
            );
            return Err(said);
        }
        value = reply.value.state;
        if let Some((text, version)) = identity_text(provider, &address.resource.type_name, reply.value.identity).await
        {
            (prior.record.identity, prior.record.identity_schema_version) = (Some(text), version);
        }
        prior.private = reply.value.private;
        watch.end(address, Looking::RefreshDone, &prior.stored, began);
    }
    let wanted = sensitive_in(&value, &marks, &schema.block);
    // Looking at an object marks what its schema calls sensitive. Where nobody looks, marks that state lacks are a change.
    prior.lacks_marks = !refresh && wanted.len() > marks.len();
    let value = value.mark_paths(&wanted);
    // Mostly nothing is found to have changed, and one of two equal objects is enough to keep.
    prior.value = if value.same_content(&prior.stored) { prior.stored.clone() } else { value };
    Ok((prior, said))
}

/// An identity that a provider gave, as state keeps it, with the version of its schema.
async fn identity_text(provider: &Provider, type_name: &str, identity: Option<Value>) -> Option<(String, u64)> {
    let identity = identity.filter(|identity| !identity.is_null() && identity.is_wholly_known())?;
    let schemas = provider.schema().await.ok()?;
    let schema = schemas.identities.get(type_name)?;
    let attributes = schema.attributes.iter().map(|(name, attribute)| (name.clone(), attribute.ty.clone()));
    let text = json::encode(&identity.unmark_deep().0, &Type::object(attributes)).ok()?;
    Some((text, schema.version))
}

/// An object as state has it.
pub(crate) fn raw_state(object: &InstanceObject) -> RawState {
    match &object.attributes_flat {
        Some(flat) => RawState::Flatmap(flat.clone()),
        None => RawState::Json(object.attributes.as_str().as_bytes().to_vec()),
    }
}

fn record_of(object: &InstanceObject, schema: &Schema) -> StateRecord {
    StateRecord {
        schema_version: schema.version,
        dependencies: object.dependencies.iter().map(|d| d.as_str().into()).collect(),
        create_before_destroy: object.create_before_destroy,
        skip_destroy: object.skip_destroy,
        identity: object.identity.as_ref().map(|i| i.as_str().to_string()),
        identity_schema_version: object.identity_schema_version,
    }
}

pub(crate) fn marks_of(object: &InstanceObject) -> Vec<(Path, Marks)> {
    object
        .sensitive_paths
        .iter()
        .map(|steps| {
            let path = steps
                .iter()
                .map(|step| match step {
                    PathStep::Attribute(name) => Step::Attribute(name.as_str().into()),
                    PathStep::Index(raw) => match serde_json::from_str::<serde_json::Value>(raw.as_str()) {
                        Ok(serde_json::Value::String(key)) => Step::Key(key.into()),
                        Ok(serde_json::Value::Number(n)) => Step::Index(n.as_u64().unwrap_or(u64::MAX)),
                        // The type of the key may be written beside it.
                        Ok(serde_json::Value::Object(o)) => match o.get("value") {
                            Some(serde_json::Value::String(key)) => Step::Key(key.as_str().into()),
                            Some(serde_json::Value::Number(n)) => Step::Index(n.as_u64().unwrap_or(u64::MAX)),
                            _ => Step::Index(u64::MAX),
                        },
                        _ => Step::Index(u64::MAX),
                    },
                })
                .collect();
            (Path(path), Marks::SENSITIVE)
        })
        .collect()
}

/// The given marks and those that the schema demands, for a value.
pub fn sensitive_in(value: &Value, given: &[(Path, Marks)], schema: &Block) -> Vec<(Path, Marks)> {
    let mut marks = given.to_vec();
    for path in sensitive_paths(value, schema) {
        if !marks.iter().any(|(p, _)| *p == path) {
            marks.push((path, Marks::SENSITIVE));
        }
    }
    marks
}

/// The marks of a planned value: where the configuration is sensitive, and where the schema demands it. What is
/// ephemeral goes to attributes that are not stored only, so nothing of it is in a planned value.
pub(crate) fn marks_for(planned: &Value, config: &[(Path, Marks)], schema: &Schema) -> Vec<(Path, Marks)> {
    sensitive_in(planned, &sensitive_marks(config), &schema.block)
}

/// Those of the marks of a configuration that are about sensitive values.
pub(crate) fn sensitive_marks(config: &[(Path, Marks)]) -> Vec<(Path, Marks)> {
    config.iter().filter(|(_, marks)| marks.is_sensitive()).cloned().collect()
}

/// A value marked where its schema says sensitive.
pub(crate) fn with_schema_marks(value: &Value, schema: &Schema) -> Value {
    value.mark_paths(&sensitive_in(value, &[], &schema.block))
}

/// The key of an instance as state writes it.
pub fn key_of(key: &weft_state::InstanceKey) -> InstanceKey {
    match key {
        weft_state::InstanceKey::None => InstanceKey::None,
        weft_state::InstanceKey::Int(i) => InstanceKey::Int(u64::try_from(*i).unwrap_or(u64::MAX)),
        weft_state::InstanceKey::Str(s) => InstanceKey::String(s.as_str().into()),
    }
}
