//! The objects of the event stream (`-json`). [`crate::view`] adds `@timestamp` to them.

use serde_json::{Map, Value as Json, json};
use weft_coordinator::listing::RunListing;
use weft_graph_format::address::{AbsResource, InstanceKey, ProviderSource, ResourceInstance};
use weft_graph_format::changes::{ChangeAction, OutputChange, ResourceChange};
use weft_graph_format::graph::Action;
use weft_protocol::ShownName;
use weft_state::OutputRecord;

pub use super::counts::ChangeCounts;
pub use super::hook::{Hook, HookAction};
use super::hook_messages;

/// The version of the format of the stream.
const UI_VERSION: &str = "1.2";
/// The version of OpenTofu with this format.
const TOFU_VERSION: &str = "1.12.6";

fn event<const N: usize>(kind: &str, level: &str, message: String, rest: [(&str, Json); N]) -> Json {
    let mut object = Map::new();
    object.insert("@level".into(), level.into());
    object.insert("@message".into(), message.into());
    object.insert("@module".into(), "tofu.ui".into());
    for (name, value) in rest {
        object.insert(name.to_owned(), value);
    }
    object.insert("type".into(), kind.into());
    Json::Object(object)
}

/// The first event of a stream.
pub fn version() -> Json {
    let message = format!("Weft {}", env!("CARGO_PKG_VERSION"));
    event("version", "info", message, [("tofu", TOFU_VERSION.into()), ("ui", UI_VERSION.into())])
}

/// A run is not finished, and no process carries it out.
pub fn unfinished_run(run: &RunListing) -> Json {
    let message = format!("Run {} is not finished: {}", run.id, super::statuses::counts(&run.counts));
    let object = serde_json::to_value(run).unwrap_or_default();
    event("unfinished_run", "warn", message, [("run", object)])
}

/// A message without its own type of event.
pub fn log(message: &str) -> Json {
    event("log", "info", message.to_owned(), [])
}

/// A line of text output as an event. As in OpenTofu, the event has no type.
pub fn told(message: &str) -> Json {
    let mut told = log(message);
    if let Json::Object(fields) = &mut told {
        fields.remove("type");
    }
    told
}

/// A command failed with a message instead of a diagnostic.
pub fn refused(message: &str) -> Json {
    levelled("error", message)
}

/// A warning, as a message without a diagnostic.
pub fn cautioned(message: &str) -> Json {
    levelled("warn", message)
}

fn levelled(level: &str, message: &str) -> Json {
    let mut told = told(message);
    if let Json::Object(fields) = &mut told {
        fields.insert("@level".into(), level.into());
    }
    told
}

/// The replacement of a provider in the state will be made.
pub fn replace_provider(from: &ProviderSource, to: &ProviderSource, resources: &[AbsResource]) -> Json {
    let (old, new) = (from.to_string(), to.to_string());
    let message = format!("OpenTofu will replace provider from {old} to {new} for {} resources", resources.len());
    let names: Vec<String> = resources.iter().map(ToString::to_string).collect();
    let fields = [("from", old.into()), ("to", new.into()), ("resources", names.into())];
    event("replace_provider", "info", message, fields)
}

/// A diagnostic was reported. `object` is the result of [`super::diagnostics::object`].
pub fn diagnostic(object: Json) -> Json {
    let severity = object.get("severity").and_then(Json::as_str).unwrap_or("error").to_owned();
    let summary = object.get("summary").and_then(Json::as_str).unwrap_or_default();
    let (level, title) = if severity == "warning" { ("warn", "Warning") } else { ("error", "Error") };
    event("diagnostic", level, format!("{title}: {summary}"), [("diagnostic", object)])
}

/// A resource instance in the form of events.
pub fn resource(address: &ResourceInstance) -> Json {
    let key = match &address.key {
        InstanceKey::None => Json::Null,
        InstanceKey::Int(i) => (*i).into(),
        InstanceKey::String(s) => s.as_str().into(),
    };
    let text = address.to_string();
    let module = address.module.to_string();
    let local = text.strip_prefix(&format!("{module}.")).unwrap_or(&text).to_owned();
    let type_name = address.resource.type_name.as_str();
    json!({
        "addr": text,
        "module": module,
        "resource": local,
        "implied_provider": type_name.split('_').next().unwrap_or(type_name),
        "resource_type": type_name,
        "resource_name": address.resource.name.as_str(),
        "resource_key": key,
    })
}

fn change_word(change: &ResourceChange) -> &'static str {
    match change.action {
        // Scripts do not know a word for ForgetThenCreate.
        ChangeAction::Only(Action::NoOp) | ChangeAction::ForgetThenCreate => {
            match (&change.importing, &change.previous_address) {
                (Some(_), _) => "import",
                (None, Some(_)) => "move",
                (None, None) => "noop",
            }
        }
        ChangeAction::Only(Action::Forget) => "remove",
        ChangeAction::Only(action) => action.word(),
        _ => "replace",
    }
}

fn change_object(change: &ResourceChange) -> Json {
    let mut object = Map::new();
    object.insert("resource".into(), resource(&change.address));
    if let Some(previous) = &change.previous_address {
        object.insert("previous_resource".into(), resource(previous));
    }
    object.insert("action".into(), change_word(change).into());
    if let Some(reason) = change.reason.event_word() {
        object.insert("reason".into(), reason.into());
    }
    if let Some(importing) = &change.importing {
        object.insert("importing".into(), super::show_json::importing(importing));
    }
    Json::Object(object)
}

/// A change of a plan.
pub fn planned_change(change: &ResourceChange) -> Json {
    let message = format!("{}: Plan to {}", change.address, change_word(change));
    event("planned_change", "info", message, [("change", change_object(change))])
}

/// A difference between the state and a real object.
pub fn resource_drift(change: &ResourceChange) -> Json {
    let message = format!("{}: Drift detected ({})", change.address, change_word(change));
    event("resource_drift", "info", message, [("change", change_object(change))])
}

/// The totals at the end of a plan (`plan`), an apply (`apply`) or a destroy (`destroy`).
pub fn change_summary(counts: &ChangeCounts, operation: &str) -> Json {
    let ChangeCounts { add, change, import, remove, forget } = *counts;
    let message = match operation {
        "plan" => super::plan::plan_line(counts),
        "destroy" => super::plan::destroyed_line(counts),
        _ => super::plan::applied_line(counts),
    };
    let changes = json!({
        "add": add, "change": change, "import": import, "remove": remove, "forget": forget, "operation": operation,
    });
    event("change_summary", "info", message, [("changes", changes)])
}

/// The changes of a plan to outputs.
pub fn planned_outputs<'a>(outputs: impl IntoIterator<Item = (&'a str, &'a OutputChange)>) -> Json {
    let mut object = Map::new();
    for (name, output) in outputs {
        let action = if output.action == Action::NoOp { "noop" } else { output.action.word() };
        let sensitive = output.sensitive_before || output.sensitive_after;
        object.insert(name.to_owned(), json!({"sensitive": sensitive, "action": action}));
    }
    let message = format!("Outputs: {}", object.len());
    event("outputs", "info", message, [("outputs", Json::Object(object))])
}

/// Outputs in the state.
pub fn stored_outputs<'a>(outputs: impl IntoIterator<Item = (&'a str, &'a OutputRecord)>) -> Json {
    let mut object = Map::new();
    for (name, output) in outputs {
        let parse = |raw: &weft_state::RawJson| serde_json::from_str::<Json>(raw.as_str()).unwrap_or(Json::Null);
        let mut one = Map::new();
        one.insert("sensitive".into(), output.sensitive.into());
        one.insert("type".into(), parse(&output.value_type));
        if !output.sensitive {
            one.insert("value".into(), parse(&output.value));
        }
        object.insert(name.to_owned(), Json::Object(one));
    }
    let message = format!("Outputs: {}", object.len());
    event("outputs", "info", message, [("outputs", Json::Object(object))])
}

impl Hook {
    /// The object that events about a refresh contain. It has no action.
    fn look(&self) -> Json {
        let mut object = self.object(false);
        if let Json::Object(fields) = &mut object {
            fields.shift_remove("action");
        }
        object
    }

    fn object(&self, elapsed: bool) -> Json {
        let mut object = Map::new();
        object.insert("resource".into(), resource(&self.address));
        object.insert("action".into(), self.action.word().into());
        if let Some(ShownName { attribute: key, value }) = &self.id {
            object.insert("id_key".into(), key.clone().into());
            object.insert("id_value".into(), value.clone().into());
        }
        if elapsed {
            object.insert("elapsed_seconds".into(), self.elapsed_seconds.into());
        }
        Json::Object(object)
    }
}

/// An object is about to be read.
pub fn refresh_start(hook: &Hook) -> Json {
    event("refresh_start", "info", hook_messages::refreshing(hook), [("hook", hook.look())])
}

/// An object was read.
pub fn refresh_complete(hook: &Hook) -> Json {
    event("refresh_complete", "info", hook_messages::refreshed(hook), [("hook", hook.look())])
}

/// An operation begins.
pub fn apply_start(hook: &Hook) -> Json {
    event("apply_start", "info", hook_messages::started(hook), [("hook", hook.object(false))])
}

/// An operation is still running.
pub fn apply_progress(hook: &Hook) -> Json {
    event("apply_progress", "info", hook_messages::going_on(hook), [("hook", hook.object(true))])
}

/// An operation is done.
pub fn apply_complete(hook: &Hook) -> Json {
    event("apply_complete", "info", hook_messages::done(hook), [("hook", hook.object(true))])
}

/// An operation failed.
pub fn apply_errored(hook: &Hook) -> Json {
    event(
        "apply_errored",
        "info",
        hook_messages::failed(hook),
        [("hook", Hook { id: None, ..hook.clone() }.object(true))],
    )
}

/// A step of an ephemeral object: `started`, and then `complete`.
pub fn ephemeral_action(address: &ResourceInstance, complete: bool, words: &str) -> Json {
    let kind = if complete { "ephemeral_action_complete" } else { "ephemeral_action_started" };
    let hook = json!({"Msg": words, "resource": resource(address)});
    event(kind, "info", format!("{address}: {words}"), [("hook", hook)])
}

/// The base of events about a provisioner.
fn provision(kind: &str, message: String, address: &ResourceInstance, provisioner: &str) -> Json {
    let hook = json!({"resource": resource(address), "provisioner": provisioner});
    event(kind, "info", message, [("hook", hook)])
}

/// A provisioner begins.
pub fn provision_start(address: &ResourceInstance, provisioner: &str) -> Json {
    provision("provision_start", super::plan::provisioning_line(address, provisioner), address, provisioner)
}

/// A provisioner wrote a line.
pub fn provision_progress(address: &ResourceInstance, provisioner: &str, line: &str) -> Json {
    let message = format!("{address}: ({provisioner}): {line}");
    let hook = json!({"resource": resource(address), "provisioner": provisioner, "output": line});
    event("provision_progress", "info", message, [("hook", hook)])
}

/// A provisioner is done.
pub fn provision_complete(address: &ResourceInstance, provisioner: &str) -> Json {
    let message = format!("{address}: ({provisioner}) Provisioning complete");
    provision("provision_complete", message, address, provisioner)
}

/// A provisioner failed.
pub fn provision_errored(address: &ResourceInstance, provisioner: &str) -> Json {
    let message = format!("{address}: ({provisioner}) Provisioning errored");
    provision("provision_errored", message, address, provisioner)
}

/// The list of workspaces, and the selected one.
pub fn workspaces(names: &[String], selected: &str) -> Json {
    let rest = [("current_workspace", selected.into()), ("workspaces", names.into())];
    event("workspace_list", "info", "list of workspaces".to_owned(), rest)
}

/// An event of a test. `fields` are the fields of this event, and of its file and run.
pub fn test<const N: usize>(kind: &str, level: &str, message: String, fields: [(&str, Json); N]) -> Json {
    event(kind, level, message, fields)
}

/// A resource instance is in the state.
pub fn resource_address(address: &ResourceInstance) -> Json {
    event("resource_address", "info", address.to_string(), [])
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_graph_format::address::{ModuleInstance, ProviderParts, ProviderSource};
    use weft_graph_format::changes::Reason;
    use weft_graph_format::types::Type;
    use weft_graph_format::value::Value;

    fn address(text: &str) -> ResourceInstance {
        let Ok(address) = text.parse() else { panic!("no address: {text}") };
        address
    }

    fn change(action: ChangeAction, reason: Reason, previous: Option<&str>) -> ResourceChange {
        ResourceChange {
            address: address("module.m[\"k\"].aws_x.y[0]"),
            previous_address: previous.map(|text| Box::new(address(text))),
            deposed: None,
            provider: ProviderParts {
                module: ModuleInstance::root(),
                source: ProviderSource::default_for("aws"),
                alias: None,
                key: InstanceKey::None,
            }
            .into(),
            action,
            reason,
            before: Value::null(Type::Dynamic),
            after: Value::null(Type::Dynamic),
            replace_paths: Vec::new(),
            importing: None,
            before_record: None,
            schema_version: 0,
        }
    }

    #[test]
    fn changes_are_events() {
        let event = planned_change(&change(ChangeAction::CreateThenDelete, Reason::ReplaceBecauseTainted, None));
        assert_eq!(
            event,
            json!({
                "@level": "info", "@message": "module.m[\"k\"].aws_x.y[0]: Plan to replace", "@module": "tofu.ui",
                "change": {
                    "resource": {
                        "addr": "module.m[\"k\"].aws_x.y[0]", "module": "module.m[\"k\"]", "resource": "aws_x.y[0]",
                        "implied_provider": "aws", "resource_type": "aws_x", "resource_name": "y", "resource_key": 0,
                    },
                    "action": "replace", "reason": "tainted",
                },
                "type": "planned_change",
            })
        );
        let moved = planned_change(&change(ChangeAction::Only(Action::NoOp), Reason::None, Some("aws_x.old")));
        assert_eq!(moved["change"]["action"], "move");
        assert_eq!(moved["change"]["previous_resource"]["addr"], "aws_x.old");
        let drift = resource_drift(&change(ChangeAction::Only(Action::Update), Reason::None, None));
        assert_eq!(drift["@message"], "module.m[\"k\"].aws_x.y[0]: Drift detected (update)");
        assert_eq!(
            planned_change(&change(ChangeAction::Only(Action::Forget), Reason::None, None))["change"]["action"],
            "remove"
        );
    }

    #[test]
    fn operations_and_summaries_are_events() {
        let hook = Hook {
            address: address("aws_x.y"),
            deposed: None,
            action: HookAction::Create,
            id: Some(ShownName { attribute: "id".into(), value: "i-1".into() }),
            elapsed_seconds: 2,
        };
        let done = apply_complete(&hook);
        assert_eq!(done["@message"], "aws_x.y: Creation complete after 2s [id=i-1]");
        assert_eq!(done["hook"]["id_value"], "i-1");
        assert_eq!(done["hook"]["elapsed_seconds"], 2);
        assert_eq!(apply_start(&hook)["hook"].get("elapsed_seconds"), None);
        assert_eq!(apply_errored(&hook)["@message"], "aws_x.y: Creation errored after 2s");
        let counts = ChangeCounts { add: 1, ..ChangeCounts::default() };
        let sums = change_summary(&counts, "apply");
        assert_eq!(sums["@message"], "Apply complete! Resources: 1 added, 0 changed, 0 destroyed.");
        assert_eq!(
            sums["changes"],
            json!({"add": 1, "change": 0, "import": 0, "remove": 0, "forget": 0, "operation": "apply"})
        );
    }

    #[test]
    fn sensitive_outputs_have_no_value() {
        let record = |sensitive| OutputRecord {
            value: weft_state::RawJson::new("\"v\""),
            value_type: weft_state::RawJson::new("\"string\""),
            sensitive,
            deprecated: None,
        };
        let (open, secret) = (record(false), record(true));
        let event = stored_outputs([("a", &open), ("b", &secret)]);
        assert_eq!(
            event["outputs"],
            json!({"a": {"sensitive": false, "type": "string", "value": "v"}, "b": {"sensitive": true, "type": "string"}})
        );
        let change = OutputChange {
            action: Action::NoOp,
            before: Value::int(1),
            after: Value::int(1),
            sensitive_before: false,
            sensitive_after: false,
        };
        let event = planned_outputs([("a", &change)]);
        assert_eq!(event["outputs"], json!({"a": {"sensitive": false, "action": "noop"}}));
    }

    #[test]
    fn diagnostics_have_the_level_of_their_severity() {
        let event = diagnostic(json!({"severity": "warning", "summary": "Look"}));
        assert_eq!((&event["@level"], &event["@message"]), (&json!("warn"), &json!("Warning: Look")));
    }
}
