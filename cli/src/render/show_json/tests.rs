//! Tests of the documents of hand-made plans and states.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use weft_graph_format::address::ProviderSource;
use weft_graph_format::changes::{ChangeAction, Changes, OutputChange, Reason, ResourceChange};
use weft_graph_format::checked::CheckedAddress;
use weft_graph_format::graph::{Action, ExecutionGraph};
use weft_graph_format::marks::Marks;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::plan_file::{CheckResult, CheckStatus, CheckedKind, Manifest, PlanFile, SourceSnippets};
use weft_graph_format::schema::{Attribute, Block, ProviderSchema, Schema};
use weft_graph_format::types::Type;
use weft_graph_format::value::{PlainValue, Value};
use weft_state::tfstate::StateFile;

use crate::render::sample::{SCHEMA_VERSION, change};

fn schema() -> ProviderSchema {
    let attribute = |ty: Type, sensitive| Attribute { sensitive, ..Attribute::new(ty) };
    let attributes = BTreeMap::from([
        ("id".into(), attribute(Type::String, false)),
        ("secret".into(), attribute(Type::String, true)),
        ("any".into(), attribute(Type::Dynamic, false)),
        ("tags".into(), attribute(Type::list(Type::String), false)),
    ]);
    let schema = Schema { version: SCHEMA_VERSION, block: Block { attributes, ..Block::default() } };
    ProviderSchema { resources: BTreeMap::from([("lab_thing".into(), schema.into())]), ..Default::default() }
}

fn schemas() -> BTreeMap<ProviderSource, ProviderSchema> {
    BTreeMap::from([(ProviderSource::default_for("lab"), schema())])
}

fn document(manifest: Manifest, changes: Changes) -> Json {
    super::plan(&PlanFile {
        manifest,
        changes,
        schemas: schemas(),
        sources: SourceSnippets::default(),
        graph: ExecutionGraph {
            operations: 0,
            fragments: Vec::new(),
            waiters: Vec::new(),
            outline: Vec::new(),
            final_states: BTreeMap::new(),
        },
    })
}

#[test]
fn a_create_lists_unknown_and_sensitive_parts() {
    let unknown = || Value::unknown(Type::String);
    let after = Value::object([
        ("id", unknown()),
        ("secret", Value::null(Type::String)),
        ("any", Value::object([("a", Value::int(1)), ("b", unknown())])),
        ("tags", Value::list(Type::String, vec![Value::string("x"), unknown()])),
    ]);
    let created = change("module.m.lab_thing.a[0]", ChangeAction::Only(Action::Create), Value::null(after.ty()), after);
    let document = document(Manifest::default(), Changes { resources: vec![created], ..Changes::default() });
    let known = json!({"secret": null, "any": {"a": 1}, "tags": ["x", null]});
    let sensitive = json!({"secret": true, "any": {}, "tags": [false, false]});
    assert_eq!(
        document["resource_changes"][0],
        json!({
            "address": "module.m.lab_thing.a[0]", "module_address": "module.m", "mode": "managed",
            "type": "lab_thing", "name": "a", "index": 0,
            "provider_name": "registry.opentofu.org/hashicorp/lab",
            "provider_instance": "provider[\"registry.opentofu.org/hashicorp/lab\"]",
            "change": {
                "actions": ["create"], "before": null, "after": known,
                "after_unknown": {"id": true, "any": {"b": true}, "tags": [false, true]},
                "before_sensitive": false, "after_sensitive": sensitive,
            },
        })
    );
    assert_eq!(
        document["planned_values"]["root_module"],
        json!({"child_modules": [{"address": "module.m", "resources": [{
            "address": "module.m.lab_thing.a[0]", "mode": "managed", "type": "lab_thing", "name": "a", "index": 0,
            "provider_name": "registry.opentofu.org/hashicorp/lab",
            "provider_instance": "provider[\"registry.opentofu.org/hashicorp/lab\"]", "schema_version": SCHEMA_VERSION,
            "values": known, "sensitive_values": sensitive,
        }]}]})
    );
    assert_eq!(document["format_version"], "1.2");
}

#[test]
fn a_replacement_says_why() {
    let object = |id: &str| Value::object([("id", Value::string(id))]);
    let replaced = ResourceChange {
        reason: Reason::ReplaceBecauseCannotUpdate,
        replace_paths: vec![Path(vec![ValueStep::Attribute("tags".into()), ValueStep::Index(0)])],
        previous_address: "lab_thing.old".parse().ok().map(Box::new),
        ..change("lab_thing.a[\"k\"]", ChangeAction::CreateThenDelete, object("x"), object("y"))
    };
    let document = document(Manifest::default(), Changes { resources: vec![replaced], ..Changes::default() });
    let found = &document["resource_changes"][0];
    assert_eq!(found["change"]["actions"], json!(["create", "delete"]));
    assert_eq!(found["change"]["replace_paths"], json!([["tags", 0]]));
    assert_eq!(found["change"]["after_unknown"], json!({}));
    assert_eq!(found["action_reason"], "replace_because_cannot_update");
    assert_eq!(found["previous_address"], "lab_thing.old");
    assert_eq!(found["index"], "k");
}

#[test]
fn an_object_that_goes_has_an_empty_map_of_unknown_parts() {
    let before = Value::object([("id", Value::string("x"))]);
    let nothing = Value::null(before.ty());
    let gone = change("lab_thing.a", ChangeAction::Only(Action::Delete), before, nothing);
    let document = document(Manifest::default(), Changes { resources: vec![gone], ..Changes::default() });
    assert_eq!(document["resource_changes"][0]["change"]["after_unknown"], json!({}));
}

#[test]
fn a_plan_has_outputs_variables_and_prior_state() {
    let output =
        |action, before, after| OutputChange { action, before, after, sensitive_before: false, sensitive_after: false };
    let none = || Value::null(Type::Dynamic);
    let outputs = BTreeMap::from([
        ("gone".into(), output(Action::Delete, Value::int(1), none())),
        ("later".into(), output(Action::Create, none(), Value::unknown(Type::String))),
        ("now".into(), OutputChange { sensitive_after: true, ..output(Action::Create, none(), Value::string("s")) }),
    ]);
    let prior = json!({"version": 4, "terraform_version": "1.12.6", "serial": 3, "lineage": "l", "check_results": null,
        "outputs": {"gone": {"value": 1, "type": "number"}}, "resources": []});
    let manifest = Manifest {
        prior_state: Some(prior.to_string()),
        configuration: Some("{\"root_module\":{}}".into()),
        variables: BTreeMap::from([(
            "v".into(),
            PlainValue::Marked(Marks::SENSITIVE, Box::new(PlainValue::String("x".into()))),
        )]),
        timestamp: "2026-01-02T03:04:05Z".into(),
        errored: true,
        ..Manifest::default()
    };
    let document = document(manifest, Changes { outputs, ..Changes::default() });
    assert_eq!(
        document["planned_values"]["outputs"],
        json!({"later": {"sensitive": false}, "now": {"sensitive": true, "type": "string", "value": "s"}})
    );
    assert_eq!(document["output_changes"]["later"]["after_unknown"], true);
    assert_eq!(document["output_changes"]["now"]["before_sensitive"], true);
    assert_eq!(
        document["prior_state"]["values"]["outputs"],
        json!({"gone": {"sensitive": false, "value": 1, "type": "number"},
               "now": {"sensitive": true, "value": "s", "type": "string"}})
    );
    assert_eq!(document["variables"], json!({"v": {"value": "x"}}));
    assert_eq!(document["configuration"], json!({"root_module": {}}));
    assert_eq!(document["timestamp"], "2026-01-02T03:04:05Z");
    assert_eq!(document["errored"], true);
}

#[test]
fn changes_have_the_identities_of_their_prior_objects() {
    let prior = json!({"version": 4, "terraform_version": "1.12.6", "serial": 3, "lineage": "l", "outputs": {},
    "resources": [{"mode": "managed", "type": "lab_thing", "name": "a",
        "provider": "provider[\"registry.opentofu.org/hashicorp/lab\"]",
        "instances": [{"schema_version": SCHEMA_VERSION, "attributes": {"id": "i"}, "identity": {"name": "n"}}]}]});
    let object = || Value::object([("id", Value::string("i"))]);
    for (address, action, before, after) in [
        ("lab_thing.a", ChangeAction::Only(Action::Update), true, true),
        ("lab_thing.a", ChangeAction::Only(Action::Delete), true, true),
        ("lab_thing.a", ChangeAction::Only(Action::Forget), true, false),
        ("lab_thing.a", ChangeAction::DeleteThenCreate, true, false),
        ("lab_thing.b", ChangeAction::Only(Action::Create), false, false),
    ] {
        let manifest = Manifest { prior_state: Some(prior.to_string()), ..Manifest::default() };
        let resources = vec![change(address, action, object(), object())];
        let document = document(manifest, Changes { resources, ..Changes::default() });
        let found = &document["resource_changes"][0]["change"];
        let expected = |there| if there { json!({"name": "n"}) } else { Json::Null };
        assert_eq!(found["before_identity"], expected(before), "{action:?}");
        assert_eq!(found["after_identity"], expected(after), "{action:?}");
    }
}

#[test]
fn a_state_is_shown_by_its_schema() {
    let text = json!({"version": 4, "terraform_version": "1.12.6", "serial": 3, "lineage": "l", "check_results": null,
    "outputs": {},
    "resources": [{"module": "module.m[\"k\"].module.n", "mode": "managed", "type": "lab_thing", "name": "a",
        "provider": "provider[\"registry.opentofu.org/hashicorp/lab\"]",
        "instances": [
            {"schema_version": SCHEMA_VERSION, "status": "tainted", "dependencies": ["lab_thing.b"],
             "attributes": {"id": "i", "secret": "s", "tags": ["x"],
                            "any": {"value": "DIGITS", "type": "number"}}},
            {"schema_version": SCHEMA_VERSION, "deposed": "0123abcd", "attributes": {"id": "old", "secret": null, "tags": null, "any": null}},
        ]}]});
    let Ok(state) =
        StateFile::parse(text.to_string().replace("\"DIGITS\"", "0.12345678901234567890123456789").as_bytes(), "test")
    else {
        panic!("a state")
    };
    let document = super::state(Some(&state), &schemas());
    let modules = &document["values"]["root_module"]["child_modules"];
    assert_eq!(modules[0]["address"], "module.m[\"k\"]");
    let resources = &modules[0]["child_modules"][0]["resources"];
    assert_eq!(resources[0]["values"]["any"].to_string(), "0.12345678901234567890123456789");
    assert_eq!(resources[0]["sensitive_values"], json!({"secret": true, "tags": [false]}));
    assert_eq!(resources[0]["tainted"], true);
    assert_eq!(resources[0]["depends_on"], json!(["lab_thing.b"]));
    assert_eq!(resources[1]["deposed_key"], "0123abcd");
    assert_eq!(resources[1]["values"]["id"], "old");
    assert_eq!(super::state(None, &schemas()), json!({"format_version": "1.0"}));
}

#[test]
fn checks_are_grouped_by_object() {
    let result = |address: &str, kind, status, messages: &[&str]| CheckResult {
        address: CheckedAddress::read(address),
        kind,
        status,
        messages: messages.iter().map(ToString::to_string).collect(),
        again: true,
    };
    let manifest = Manifest {
        checks: vec![
            result("module.m[0].lab_thing.a[0]", CheckedKind::Resource, CheckStatus::Pass, &[]),
            result("module.m[0].lab_thing.a[1]", CheckedKind::Resource, CheckStatus::Fail, &["too small"]),
            result("module.m[0].output.o", CheckedKind::Output, CheckStatus::Unknown, &[]),
            result("var.v", CheckedKind::Variable, CheckStatus::Pass, &[]),
        ],
        ..Manifest::default()
    };
    let document = document(manifest, Changes::default());
    let checks = &document["checks"];
    assert_eq!(checks[0]["address"]["to_display"], "module.m.lab_thing.a");
    assert_eq!(checks[0]["status"], "fail");
    assert_eq!(
        checks[0]["instances"][1]["address"],
        json!({"to_display": "module.m[0].lab_thing.a[1]", "module": "module.m[0]", "instance_key": 1})
    );
    assert_eq!(checks[0]["instances"][1]["problems"], json!([{"message": "too small"}]));
    assert_eq!(
        checks[1]["address"],
        json!({"kind": "output_value", "to_display": "module.m.output.o", "module": "module.m", "name": "o"})
    );
    assert_eq!(checks[2]["address"]["kind"], "var");
}
