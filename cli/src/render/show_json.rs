//! The documents of `weft show -json`.

use serde_json::{Map, Value as Json, json};
use weft_graph_format::changes::ResourceChange;
use weft_graph_format::codec;
use weft_graph_format::plan_file::PlanFile;
use weft_graph_format::value::{Kind, Value};
use weft_state::tfstate::StateFile;

/// Version of the format of plans.
const PLAN_FORMAT: &str = "1.2";
/// Version of the format of states.
const STATE_FORMAT: &str = "1.0";
/// The version of OpenTofu whose documents these are.
const TOFU_VERSION: &str = "1.12.6";

/// The document of a plan.
pub fn plan(plan: &PlanFile) -> Json {
    let changes: Vec<Json> = plan.changes.resources.iter().map(resource_change).collect();
    let drift: Vec<Json> = plan.changes.drift.iter().map(resource_change).collect();
    let outputs: Map<String, Json> = plan
        .changes
        .outputs
        .iter()
        .map(|(name, change)| {
            let mut object = Map::new();
            object.insert("actions".into(), json!([change.action.word()]));
            insert_values(&mut object, &change.before, &change.after);
            (name.to_string(), Json::Object(object))
        })
        .collect();
    let variables: Map<String, Json> = plan
        .manifest
        .variables
        .iter()
        .map(|(name, value)| (name.to_string(), json!({"value": known(&Value::from(value.clone()))})))
        .collect();
    json!({
        "format_version": PLAN_FORMAT,
        "terraform_version": TOFU_VERSION,
        "variables": variables,
        "planned_values": {"root_module": {}},
        "resource_drift": drift,
        "resource_changes": changes,
        "output_changes": outputs,
        "timestamp": plan.manifest.timestamp,
        "applyable": plan.manifest.applyable,
        "complete": plan.manifest.complete,
        "errored": plan.manifest.errored,
    })
}

fn resource_change(change: &ResourceChange) -> Json {
    let mut inner = Map::new();
    inner.insert("actions".into(), json!(change.action.words()));
    insert_values(&mut inner, &change.before, &change.after);
    let mut object = Map::new();
    object.insert("address".into(), change.address.to_string().into());
    if let Some(previous) = &change.previous_address {
        object.insert("previous_address".into(), previous.to_string().into());
    }
    if let Some(deposed) = &change.deposed {
        object.insert("deposed".into(), deposed.0.as_str().into());
    }
    object.insert("provider_name".into(), change.provider.source.to_string().into());
    object.insert("change".into(), Json::Object(inner));
    if let Some(reason) = change.reason.word() {
        object.insert("action_reason".into(), reason.into());
    }
    Json::Object(object)
}

fn insert_values(object: &mut Map<String, Json>, before: &Value, after: &Value) {
    object.insert("before".into(), known(before));
    object.insert("after".into(), known(after));
    object.insert("after_unknown".into(), parts(after, &|v| matches!(v.open().1, Kind::Unknown(_))));
    object.insert("before_sensitive".into(), parts(before, &|v| v.marks().is_sensitive()));
    object.insert("after_sensitive".into(), parts(after, &|v| v.marks().is_sensitive()));
}

/// The known parts of a value; attributes that are unknown are left out, elements null.
fn known(value: &Value) -> Json {
    let (_, kind) = value.open();
    match kind {
        Kind::Unknown(_) | Kind::Null(_) => Json::Null,
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => s.items().iter().map(known).collect(),
        Kind::Map(f) | Kind::Object(f) => Json::Object(
            f.iter()
                .filter(|(_, v)| !matches!(v.open().1, Kind::Unknown(_)))
                .map(|(name, v)| (name.to_string(), known(v)))
                .collect(),
        ),
        _ => {
            let text = codec::json::encode(&value.unmark_deep().0, &value.ty()).unwrap_or_else(|_| "null".to_owned());
            serde_json::from_str(&text).unwrap_or(Json::Null)
        }
    }
}

fn parts(value: &Value, is: &dyn Fn(&Value) -> bool) -> Json {
    if is(value) {
        return true.into();
    }
    let (_, kind) = value.open();
    match kind {
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => s.items().iter().map(|v| parts(v, is)).collect(),
        Kind::Map(f) | Kind::Object(f) => Json::Object(
            f.iter()
                .map(|(name, v)| (name.to_string(), parts(v, is)))
                .filter(|(_, part)| *part != Json::Bool(false))
                .collect(),
        ),
        _ => false.into(),
    }
}

/// The document of a state; none where there is no state.
pub fn state(state: Option<&StateFile>) -> Json {
    let Some(state) = state.filter(|state| !state.is_empty()) else {
        return json!({"format_version": STATE_FORMAT});
    };
    let parse = |raw: &weft_state::RawJson| serde_json::from_str::<Json>(raw.as_str()).unwrap_or(Json::Null);
    let outputs: Map<String, Json> = state
        .outputs
        .iter()
        .map(|(name, o)| {
            (name.clone(), json!({"sensitive": o.sensitive, "value": parse(&o.value), "type": parse(&o.value_type)}))
        })
        .collect();
    json!({
        "format_version": STATE_FORMAT,
        "terraform_version": state.terraform_version,
        "values": {"outputs": outputs, "root_module": {}},
    })
}
