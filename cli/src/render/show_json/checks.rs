//! The results of checks, in the format of the `checks` member.

use serde_json::{Map, Value as Json, json};
use weft_graph_format::address::ResourceMode;
use weft_graph_format::checked::{CheckedAddress, CheckedObject};
use weft_graph_format::checks::by_config;
use weft_graph_format::plan_file::{CheckResult, CheckedKind};
use weft_state::CheckRecord;

use super::objects::key;

/// The results in a plan: one entry for each object of the configuration, with its instances.
pub fn planned(results: &[CheckResult]) -> Json {
    by_config(results)
        .into_iter()
        .map(|found| {
            let known = found.has_instances();
            let instances: Vec<Json> = found
                .instances
                .iter()
                .map(|result| instance(&result.address, result.status.word(), &result.messages))
                .collect();
            let mut object =
                json!({ "address": address(kind_word(found.kind), &found.config), "status": found.status().word() });
            if let Json::Object(fields) = &mut object
                && known
            {
                fields.insert("instances".to_owned(), instances.into());
            }
            object
        })
        .collect()
}

/// The results in a state.
pub fn stored(records: &[CheckRecord]) -> Json {
    records
        .iter()
        .map(|record| {
            let kind = match record.object_kind.as_str() {
                "output" => "output_value",
                other => other,
            };
            let objects = record.objects.iter().flatten();
            let instances: Vec<Json> =
                objects.map(|o| instance(&o.object_addr, o.status.word(), &o.failure_messages)).collect();
            let mut object = Map::new();
            object.insert("address".into(), address(kind, &record.config_addr));
            object.insert("status".into(), record.status.word().into());
            if !instances.is_empty() {
                object.insert("instances".into(), instances.into());
            }
            Json::Object(object)
        })
        .collect()
}

fn kind_word(kind: CheckedKind) -> &'static str {
    match kind {
        CheckedKind::Resource => "resource",
        CheckedKind::Output | CheckedKind::UnusedOutput => "output_value",
        CheckedKind::Check => "check",
        CheckedKind::Variable => "var",
    }
}

fn address(kind: &str, config: &CheckedAddress) -> Json {
    let mut object = Map::new();
    object.insert("kind".into(), kind.into());
    object.insert("to_display".into(), config.text().into());
    let module = config.object().module();
    if !module.is_root() {
        object.insert("module".into(), module.to_string().into());
    }
    match config.object() {
        CheckedObject::Resource(found) if kind == "resource" => {
            let mode = if found.resource.mode == ResourceMode::Data { "data" } else { "managed" };
            object.insert("mode".into(), mode.into());
            object.insert("type".into(), found.resource.type_name.as_str().into());
            object.insert("name".into(), found.resource.name.as_str().into());
        }
        // Names of two words, such as `output.x`, are parsed as resources.
        CheckedObject::Resource(found) => {
            object.insert("name".into(), found.resource.name.as_str().into());
        }
        CheckedObject::Named { name, .. } => {
            object.insert("name".into(), name.split_once('.').map_or(name.as_str(), |(_, name)| name).into());
        }
    }
    Json::Object(object)
}

fn instance(found: &CheckedAddress, status: &str, messages: &[String]) -> Json {
    let mut address = Map::new();
    address.insert("to_display".into(), found.text().into());
    let module = found.object().module();
    if !module.is_root() {
        address.insert("module".into(), module.to_string().into());
    }
    if let CheckedObject::Resource(found) = found.object()
        && let Some(index) = key(&found.key)
    {
        address.insert("instance_key".into(), index);
    }
    let mut object = Map::new();
    object.insert("address".into(), Json::Object(address));
    object.insert("status".into(), status.into());
    if !messages.is_empty() {
        let problems: Vec<Json> = messages.iter().map(|message| json!({"message": message})).collect();
        object.insert("problems".into(), problems.into());
    }
    Json::Object(object)
}
