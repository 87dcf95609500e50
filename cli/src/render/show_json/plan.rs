//! The document of a plan.

use serde_json::{Map, Value as Json, json};
use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_graph_format::changes::{ChangeAction, Changes, Importing, OutputChange, Reason, ResourceChange};
use weft_graph_format::graph::Action;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::plan_file::{PlanFile, UiMode};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_state::tfstate::StateFile;
use weft_state::{InstanceObject, OutputRecord, RawJson};

use super::super::schemas::{schema_of, with_schema_marks};
use super::objects::{self, Modules, ObjectOrder};
use super::trees::{known, parsed, sensitive, type_form, unknown};
use super::{TOFU_VERSION, checks, stored};

/// The version of the format.
const FORMAT: &str = "1.2";

/// The document of a plan.
pub fn plan(plan: &PlanFile) -> Json {
    let manifest = &plan.manifest;
    let mut document = Map::new();
    document.insert("format_version".into(), FORMAT.into());
    document.insert("terraform_version".into(), TOFU_VERSION.into());
    let stored = manifest.variables.iter();
    // The value of an ephemeral variable is not stored, but its default is.
    let defaults = manifest.ephemeral_variables.iter().filter_map(|(name, v)| Some((name, v.default.as_ref()?)));
    let variables: Map<String, Json> = stored
        .chain(defaults)
        .map(|(name, v)| (name.to_string(), json!({"value": known(&Value::from(v.clone()))})))
        .collect();
    if !variables.is_empty() {
        document.insert("variables".into(), Json::Object(variables));
    }
    let prior = prior_state(plan);
    document.insert("planned_values".into(), planned_values(plan, &prior));
    // The changes already include objects that were only moved, except in a refresh-only plan.
    let drift = plan.changes.drift.iter();
    let drift = drift.filter(|change| manifest.ui_mode == UiMode::RefreshOnly || !change.action.is_no_op());
    let drift: Vec<Json> = drift.map(|change| resource_change(plan, change, &prior)).collect();
    if !drift.is_empty() {
        document.insert("resource_drift".into(), drift.into());
    }
    let changes = plan.changes.resources.iter();
    let changes: Vec<Json> = changes.map(|change| resource_change(plan, change, &prior)).collect();
    if !changes.is_empty() {
        document.insert("resource_changes".into(), changes.into());
    }
    if !plan.changes.outputs.is_empty() {
        let outputs = plan.changes.outputs.iter().map(|(name, output)| (name.to_string(), output_change(output)));
        document.insert("output_changes".into(), Json::Object(outputs.collect()));
    }
    if !prior.is_empty() {
        document.insert("prior_state".into(), stored::state(Some(&prior), &plan.schemas));
    }
    let configuration = manifest.configuration.as_deref().and_then(|text| serde_json::from_str::<Json>(text).ok());
    if let Some(configuration) = configuration {
        document.insert("configuration".into(), configuration);
    }
    let relevant = relevant(&plan.changes);
    if !relevant.is_empty() {
        document.insert("relevant_attributes".into(), relevant.into());
    }
    if !manifest.checks.is_empty() {
        document.insert("checks".into(), checks::planned(&manifest.checks));
    }
    document.insert("timestamp".into(), manifest.timestamp.clone().into());
    document.insert("errored".into(), manifest.errored.into());
    Json::Object(document)
}

/// The state on which the plan is based. Outputs with a known new value already have this value: OpenTofu also writes
/// such values to this state during planning.
fn prior_state(plan: &PlanFile) -> StateFile {
    let text = plan.manifest.prior_state.as_deref();
    let mut state = text.and_then(|text| StateFile::parse(text.as_bytes(), "prior state").ok()).unwrap_or_default();
    // As in OpenTofu, planning starts without the results of checks.
    state.checks = None;
    for (name, output) in &plan.changes.outputs {
        let changes = matches!(output.action, Action::Create | Action::Update);
        if !changes || !output.after.is_wholly_known() {
            continue;
        }
        if output.after.is_null() {
            state.outputs.remove(name.as_str());
            continue;
        }
        let record = OutputRecord {
            value: RawJson::new(known(&output.after).to_string()),
            value_type: RawJson::new(type_form(&output.after.ty()).to_string()),
            sensitive: output.sensitive_after,
            deprecated: None,
        };
        state.outputs.insert(name.to_string(), record);
    }
    state
}

/// Marks the sensitive parts according to the schema of the type.
fn marked(plan: &PlanFile, change: &ResourceChange, value: &Value) -> Value {
    let ResourceInstance { resource, .. } = &change.address;
    match schema_of(&plan.schemas, &change.provider.source, resource.mode, &resource.type_name) {
        Some(schema) => with_schema_marks(value, &schema.block),
        None => value.clone(),
    }
}

fn resource_change(plan: &PlanFile, change: &ResourceChange, prior: &StateFile) -> Json {
    let mut object = objects::named(&change.address, true);
    if let Some(previous) = change.previous_address.as_deref().filter(|previous| **previous != change.address) {
        object.insert("previous_address".into(), previous.to_string().into());
    }
    if let Some(deposed) = &change.deposed {
        object.insert("deposed".into(), deposed.0.as_str().into());
    }
    object.insert("provider_name".into(), change.provider.source.to_string().into());
    object.insert("provider_instance".into(), change.provider.to_string().into());
    let (before, after) = (marked(plan, change, &change.before), marked(plan, change, &change.after));
    let mut inner = Map::new();
    inner.insert("actions".into(), change.action.words().into());
    inner.insert("before".into(), known(&before));
    inner.insert("after".into(), known(&after));
    let after_unknown = if after.is_wholly_known() { json!({}) } else { unknown(&after) };
    inner.insert("after_unknown".into(), after_unknown);
    inner.insert("before_sensitive".into(), sensitive_object(&before));
    inner.insert("after_sensitive".into(), sensitive_object(&after));
    if !change.replace_paths.is_empty() {
        let paths: Vec<Json> = change.replace_paths.iter().map(path).collect();
        inner.insert("replace_paths".into(), paths.into());
    }
    if let Some(found) = &change.importing {
        inner.insert("importing".into(), importing(found));
    }
    if let Some(text) = plan.manifest.generated.get(&change.address.to_string()) {
        inner.insert("generated_config".into(), text.as_str().into());
    }
    if let Some(identity) = identity(change, prior) {
        inner.insert("before_identity".into(), identity.clone());
        if keeps_identity(change) {
            inner.insert("after_identity".into(), identity);
        }
    }
    object.insert("change".into(), Json::Object(inner));
    if let Some(reason) = change.reason.word() {
        object.insert("action_reason".into(), reason.into());
    }
    Json::Object(object)
}

/// Whether the object after the change has the identity of the object before.
fn keeps_identity(change: &ResourceChange) -> bool {
    matches!(change.action, ChangeAction::Only(Action::NoOp | Action::Update | Action::Delete | Action::Read))
}

/// The identity of the object in the prior state.
fn identity(change: &ResourceChange, prior: &StateFile) -> Option<Json> {
    prior_object(change, prior)?.identity.as_ref().map(parsed)
}

/// The object in the prior state.
fn prior_object<'p>(change: &ResourceChange, prior: &'p StateFile) -> Option<&'p InstanceObject> {
    let record = prior.instances.get(&change.address.to_string())?;
    match &change.deposed {
        Some(key) => record.deposed.get(key),
        None => record.current.as_ref(),
    }
}

/// The id or identity with which an object is imported.
pub fn importing(importing: &Importing) -> Json {
    match importing {
        Importing::Id(id) => json!({"id": id.as_str()}),
        Importing::Identity(identity) => json!({"identity": known(identity)}),
    }
}

/// The sensitive parts of an object. An absent object has none.
fn sensitive_object(value: &Value) -> Json {
    if value.is_null() { false.into() } else { sensitive(value) }
}

fn path(path: &Path) -> Json {
    path.0
        .iter()
        .map(|step| match step {
            ValueStep::Attribute(name) | ValueStep::Key(name) => Json::from(name.as_str()),
            ValueStep::Index(i) => (*i).into(),
        })
        .collect()
}

/// The entries of `relevant_attributes`, ordered by the text of the address and by path.
fn relevant(changes: &Changes) -> Vec<Json> {
    let mut found: Vec<(String, &Path)> =
        changes.relevant.iter().map(|attribute| (attribute.resource.to_string(), &attribute.path)).collect();
    found.sort();
    found.into_iter().map(|(resource, of)| json!({"resource": resource, "attribute": path(of)})).collect()
}

/// An output is sensitive on both sides if either side declares it so.
fn is_sensitive(output: &OutputChange) -> bool {
    output.sensitive_before || output.sensitive_after
}

fn output_change(output: &OutputChange) -> Json {
    let after_unknown = if output.after.is_wholly_known() { false.into() } else { unknown(&output.after) };
    let mut object = json!({
        "actions": [output.action.word()],
        "before": known(&output.before),
        "after_unknown": after_unknown,
        "before_sensitive": is_sensitive(output),
        "after_sensitive": is_sensitive(output),
    });
    if output.after.is_known() {
        object["after"] = known(&output.after);
    }
    object
}

/// The `planned_values`. They contain only known values.
fn planned_values(plan: &PlanFile, prior: &StateFile) -> Json {
    let mut values = Map::new();
    let outputs: Map<String, Json> = plan
        .changes
        .outputs
        .iter()
        .filter(|(_, output)| output.action != Action::Delete)
        .map(|(name, output)| {
            let mut object = Map::new();
            object.insert("sensitive".into(), is_sensitive(output).into());
            if output.after.is_wholly_known() {
                // A null output is not stored and has no type, unless it replaces a value.
                let nothing = output.after.is_null() && output.action == Action::NoOp;
                let ty = if nothing { Type::Dynamic } else { output.after.ty() };
                object.insert("type".into(), type_form(&ty));
                object.insert("value".into(), known(&output.after));
            }
            (name.to_string(), Json::Object(object))
        })
        .collect();
    if !outputs.is_empty() {
        values.insert("outputs".into(), Json::Object(outputs));
    }
    let mut modules = Modules::new(ObjectOrder::Texts);
    for change in &plan.changes.resources {
        let goes = matches!(change.action, ChangeAction::Only(Action::Delete));
        if goes || change.deposed.is_some() || change.address.resource.mode == ResourceMode::Ephemeral {
            continue;
        }
        // As in OpenTofu, the create step of a replacement has no marks from the schema. The replacement of a tainted
        // object is planned as a create from the start, so it has these marks.
        let after = match change.action.is_replace() && change.reason != Reason::ReplaceBecauseTainted {
            true => change.after.clone(),
            false => marked(plan, change, &change.after),
        };
        let mut object = objects::named(&change.address, false);
        object.insert("provider_name".into(), change.provider.source.to_string().into());
        object.insert("provider_instance".into(), change.provider.to_string().into());
        object.insert("schema_version".into(), change.schema_version.into());
        let values = known(&after);
        // As in OpenTofu, a forgotten object has no values, nor does an object without known attributes.
        if values.as_object().is_some_and(|values| !values.is_empty()) {
            object.insert("values".into(), values);
        }
        object.insert("sensitive_values".into(), sensitive_object(&after));
        let stays = keeps_identity(change).then(|| prior_object(change, prior)).flatten();
        if let Some((stored, identity)) = stays.and_then(|stored| Some((stored, stored.identity.as_ref()?))) {
            object.insert("identity_schema_version".into(), stored.identity_schema_version.into());
            object.insert("identity".into(), parsed(identity));
        }
        modules.add(&change.address, object);
    }
    values.insert("root_module".into(), modules.root());
    Json::Object(values)
}
