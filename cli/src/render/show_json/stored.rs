//! The document of a state.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use weft_graph_format::address::{ProviderSource, ResourceInstance};
use weft_graph_format::schema::{ProviderSchema, Schema};
use weft_state::tfstate::StateFile;
use weft_state::{InstanceObject, InstanceRecord};

use super::super::schemas::{schema_of_record, stored_value};
use super::objects::{self, Modules, ObjectOrder};
use super::trees::{known, parsed, sensitive};
use super::{TOFU_VERSION, checks};

/// The version of the format.
const FORMAT: &str = "1.0";

/// The document of a state. Without a state, the document contains only the version of the format. The state and the
/// schemas decide which parts are sensitive. The schemas also decide how attributes of the dynamic type are decoded. An
/// object without a schema is shown as it is stored.
pub fn state<S: Borrow<ProviderSchema>>(state: Option<&StateFile>, schemas: &BTreeMap<ProviderSource, S>) -> Json {
    // A state with only results of checks counts as no state.
    let Some(state) = state.filter(|state| !(state.instances.is_empty() && state.outputs.is_empty())) else {
        return json!({"format_version": FORMAT});
    };
    let mut modules = Modules::new(ObjectOrder::Keys);
    for record in state.instances.values() {
        let address = &record.address;
        if !address.resource.is_valid() {
            continue;
        }
        let schema = schema_of_record(schemas, record);
        if let Some(object) = &record.current {
            modules.add(address, instance(address, record, object, None, schema));
        }
        for (key, object) in &record.deposed {
            modules.add(address, instance(address, record, object, Some(key.as_str()), schema));
        }
    }
    state.bare_resources().iter().for_each(|bare| modules.add_module(&bare.resource.module));
    let mut values = Map::new();
    let mut outputs = state.named_outputs().peekable();
    if outputs.peek().is_some() {
        let outputs = outputs.map(|(name, output)| {
            let mut object = Map::new();
            object.insert("sensitive".into(), output.sensitive.into());
            if let Some(notice) = &output.deprecated {
                object.insert("deprecated".into(), notice.clone().into());
            }
            object.insert("value".into(), parsed(&output.value));
            object.insert("type".into(), parsed(&output.value_type));
            (name.clone(), Json::Object(object))
        });
        values.insert("outputs".into(), Json::Object(outputs.collect()));
    }
    values.insert("root_module".into(), modules.root());
    let mut document = Map::new();
    document.insert("format_version".into(), FORMAT.into());
    let writer = if state.terraform_version.is_empty() { TOFU_VERSION } else { &state.terraform_version };
    document.insert("terraform_version".into(), writer.into());
    document.insert("values".into(), Json::Object(values));
    if let Some(found) = &state.checks
        && !found.is_empty()
    {
        document.insert("checks".into(), checks::stored(found));
    }
    Json::Object(document)
}

fn instance(
    address: &ResourceInstance,
    record: &InstanceRecord,
    stored: &InstanceObject,
    deposed: Option<&str>,
    schema: Option<&Schema>,
) -> Map<String, Json> {
    let mut object = objects::named(address, false);
    let provider = record.provider.source().map_or_else(|| record.provider.to_string(), ToString::to_string);
    object.insert("provider_name".into(), provider.into());
    object.insert("provider_instance".into(), record.provider.text().into());
    // OpenTofu omits the schema version of deposed objects.
    let version = if deposed.is_some() { 0 } else { stored.schema_version };
    object.insert("schema_version".into(), version.into());
    match stored_value(stored, schema) {
        Some(value) => {
            object.insert("values".into(), known(&value));
            object.insert("sensitive_values".into(), sensitive(&value));
        }
        None => {
            object.insert("values".into(), parsed(&stored.attributes));
            object.insert("sensitive_values".into(), json!({}));
        }
    }
    if !stored.dependencies.is_empty() {
        object.insert("depends_on".into(), stored.dependencies.clone().into());
    }
    if stored.tainted {
        object.insert("tainted".into(), true.into());
    }
    if let Some(key) = deposed {
        object.insert("deposed_key".into(), key.into());
    }
    if let Some(identity) = &stored.identity {
        object.insert("identity_schema_version".into(), stored.identity_schema_version.into());
        object.insert("identity".into(), parsed(identity));
    }
    object
}
