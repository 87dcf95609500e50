//! Tests of the text of plans, with hand-made changes. Text and layout follow the recorded case `workflow/show-text`.
//! The conformance suite compares the case itself.

mod compact;
mod drift;

use std::collections::BTreeMap;

use expect_test::expect;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::changes::{ChangeAction, Changes, OutputChange, Reason, RelevantAttribute, ResourceChange};
use weft_graph_format::graph::{Action, ExecutionGraph};
use weft_graph_format::marks::Marks;
use weft_graph_format::path::Path;
use weft_graph_format::plan_file::{Manifest, PlanFile, SourceSnippets, UiMode};
use weft_graph_format::schema::{Attribute, Block, NestedAttributes, NestedBlock, Nesting, ProviderSchema, Schema};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::human;
use crate::render::sample::change;
use crate::render::style::Style;

fn attributes(list: &[(&str, Type)]) -> BTreeMap<smol_str::SmolStr, Attribute> {
    list.iter().map(|(name, ty)| ((*name).into(), Attribute::new(ty.clone()))).collect()
}

fn schema() -> ProviderSchema {
    let mut block = Block {
        attributes: attributes(&[
            ("id", Type::String),
            ("name", Type::String),
            ("size", Type::Number),
            ("zone", Type::String),
            ("labels", Type::map(Type::String)),
            ("notes", Type::list(Type::String)),
            ("tags", Type::set(Type::String)),
            ("endpoint", Type::object([("host", Type::String), ("port", Type::Number)])),
            ("policy", Type::String),
            ("text", Type::String),
            ("any", Type::Dynamic),
        ]),
        ..Block::default()
    };
    let secret = Attribute { sensitive: true, ..Attribute::new(Type::String) };
    block.attributes.insert("secret".into(), secret);
    block.attributes.insert("secret_wo".into(), Attribute { write_only: true, ..Attribute::new(Type::String) });
    for (name, nesting) in [("limits", Nesting::Single), ("replicas", Nesting::List)] {
        let nested =
            NestedAttributes { attributes: attributes(&[("cpu", Type::Number), ("memory", Type::Number)]), nesting };
        let attribute = Attribute { nested: Some(Box::new(nested.clone())), ..Attribute::new(nested.implied_type()) };
        block.attributes.insert(name.into(), attribute);
    }
    for (name, nesting) in [("rule", Nesting::Set), ("step", Nesting::List)] {
        let inner =
            Block { attributes: attributes(&[("port", Type::Number), ("cidr", Type::String)]), ..Block::default() };
        block.blocks.insert(name.into(), NestedBlock { block: inner, nesting, min_items: 0, max_items: 0 });
    }
    ProviderSchema {
        resources: BTreeMap::from([("lab_thing".into(), Schema { version: 1, block }.into())]),
        ..Default::default()
    }
}

fn object(parts: &[(&'static str, Value)]) -> Value {
    Value::object(parts.iter().cloned())
}

fn text(s: &str) -> Value {
    Value::string(s)
}

fn unknown() -> Value {
    Value::unknown(Type::String)
}

fn strings(items: &[&str]) -> Value {
    Value::list(Type::String, items.iter().map(|s| text(s)).collect())
}

fn plan(changes: Changes) -> PlanFile {
    PlanFile {
        manifest: Manifest::default(),
        changes,
        schemas: BTreeMap::from([(ProviderSource::default_for("lab"), schema())]),
        sources: SourceSnippets::default(),
        graph: ExecutionGraph {
            operations: 0,
            fragments: Vec::new(),
            waiters: Vec::new(),
            outline: Vec::new(),
            final_states: BTreeMap::new(),
        },
    }
}

/// The text of a plan with one change, from the comment to the summary.
fn shown(change: ResourceChange) -> String {
    let text = human(&plan(Changes { resources: vec![change], ..Changes::default() }), &Style::default());
    let start = text.find("  # ").unwrap_or_default();
    text[start..].to_owned()
}

fn update(before: &[(&'static str, Value)], after: &[(&'static str, Value)]) -> ResourceChange {
    change("lab_thing.a", ChangeAction::Only(Action::Update), object(before), object(after))
}

#[test]
fn a_create_is_shown() {
    let after = object(&[
        ("id", unknown()),
        ("secret", text("hush")),
        ("labels", Value::map(Type::String, BTreeMap::from([("a".into(), text("1")), ("bb".into(), unknown())]))),
        ("limits", object(&[("cpu", Value::int(2)), ("memory", Value::null(Type::Number))])),
        ("notes", strings(&[])),
        ("name", Value::null(Type::String)),
        ("text", text("a\n  \"b\"\n")),
        ("policy", text("{\"b\":[1,null],\"a\":{}}")),
        (
            "rule",
            Value::set(Type::Dynamic, vec![object(&[("port", Value::int(80)), ("cidr", Value::null(Type::String))])]),
        ),
    ]);
    let change =
        change("module.m[\"k\"].lab_thing.a[0]", ChangeAction::Only(Action::Create), Value::null(after.ty()), after);
    expect![[r#"
          # module.m["k"].lab_thing.a[0] will be created
          + resource "lab_thing" "a" {
              + id        = (known after apply)
              + labels    = {
                  + "a"  = "1"
                  + "bb" = (known after apply)
                }
              + limits    = {
                  + cpu = 2
                }
              + notes     = []
              + policy    = jsonencode(
                    {
                      + a = {}
                      + b = [
                          + 1,
                          + null,
                        ]
                    }
                )
              + secret    = (sensitive value)
              + secret_wo = (write-only attribute)
              + text      = <<-EOT
                    a
                      "b"
                EOT

              + rule {
                  + port = 80
                }
            }

        Plan: 1 to add, 0 to change, 0 to destroy.
    "#]]
    .assert_eq(&shown(change));
}

#[test]
fn an_update_shows_its_differences() {
    let replica = |cpu: i64| object(&[("cpu", Value::int(cpu)), ("memory", Value::int(1))]);
    let replica_type = Type::object([("cpu", Type::Number), ("memory", Type::Number)]);
    let before = [
        ("id", text("i")),
        ("name", text("n")),
        ("size", Value::int(1)),
        ("zone", text("z")),
        ("notes", strings(&["a", "b", "c", "d", "e", "f"])),
        ("endpoint", object(&[("host", text("h")), ("port", Value::int(1))])),
        ("replicas", Value::list(replica_type.clone(), vec![replica(1), replica(2)])),
        ("any", object(&[("x", Value::int(1)), ("y", Value::tuple(vec![Value::int(0), text("p")]))])),
        ("step", Value::list(Type::Dynamic, vec![object(&[("port", Value::int(1)), ("cidr", text("c"))])])),
    ];
    let after = [
        ("id", text("i")),
        ("name", text("n")),
        ("size", Value::int(5)),
        ("zone", text("z")),
        ("notes", strings(&["a", "b", "c", "X", "e", "f"])),
        ("endpoint", object(&[("host", Value::null(Type::String)), ("port", Value::int(1))])),
        (
            "replicas",
            Value::list(
                replica_type,
                vec![object(&[("cpu", Value::unknown(Type::Number)), ("memory", Value::int(1))])],
            ),
        ),
        ("any", object(&[("x", text("1")), ("y", Value::tuple(vec![Value::int(0), text("q")]))])),
        ("step", Value::list(Type::Dynamic, vec![object(&[("port", Value::int(2)), ("cidr", text("c"))])])),
    ];
    expect![[r#"
          # lab_thing.a will be updated in-place
          ~ resource "lab_thing" "a" {
              ~ any       = {
                  ~ x = 1 -> "1"
                  ~ y = [
                        0,
                      - "p",
                      + "q",
                    ]
                }
              ~ endpoint  = {
                  - host = "h"
                    # (1 unchanged attribute hidden)
                }
                id        = "i"
                name      = "n"
              ~ notes     = [
                    # (2 unchanged elements hidden)
                    "c",
                  - "d",
                  + "X",
                    "e",
                    # (1 unchanged element hidden)
                ]
              ~ replicas  = [
                  ~ {
                      ~ cpu    = 1 -> (known after apply)
                        # (1 unchanged attribute hidden)
                    },
                  - {
                      - cpu    = 2 -> null
                      - memory = 1 -> null
                    },
                ]
              ~ secret_wo = (write-only attribute)
              ~ size      = 1 -> 5
                # (1 unchanged attribute hidden)

              ~ step {
                  ~ port = 1 -> 2
                    # (1 unchanged attribute hidden)
                }
            }

        Plan: 0 to add, 1 to change, 0 to destroy.
    "#]]
    .assert_eq(&shown(update(&before, &after)));
}

#[test]
fn a_replacement_names_its_cause() {
    let before =
        [("id", text("i")), ("zone", text("a")), ("endpoint", object(&[("host", text("h")), ("port", Value::int(1))]))];
    let after = [("id", unknown()), ("zone", text("b")), ("endpoint", Value::unknown(Type::Dynamic))];
    let replaced = |action, reason| ResourceChange {
        reason,
        replace_paths: vec![Path::ROOT.attribute("zone")],
        action,
        ..update(&before, &after)
    };
    let text = shown(replaced(ChangeAction::DeleteThenCreate, Reason::ReplaceBecauseCannotUpdate));
    expect![[r#"
          # lab_thing.a must be replaced
        -/+ resource "lab_thing" "a" {
              ~ endpoint  = {
                  - host = "h"
                  - port = 1
                } -> (known after apply)
              ~ id        = "i" -> (known after apply)
              ~ secret_wo = (write-only attribute)
              ~ zone      = "a" -> "b" # forces replacement
            }

        Plan: 1 to add, 0 to change, 1 to destroy.
    "#]]
    .assert_eq(&text);
    let headline = |action, reason| shown(replaced(action, reason)).lines().take(2).collect::<Vec<_>>().join("\n");
    assert_eq!(
        headline(ChangeAction::CreateThenDelete, Reason::ReplaceBecauseTainted),
        "  # lab_thing.a is tainted, so it must be replaced\n+/- resource \"lab_thing\" \"a\" {"
    );
    assert_eq!(
        headline(ChangeAction::DeleteThenCreate, Reason::ReplaceByRequest),
        "  # lab_thing.a will be replaced, as requested\n-/+ resource \"lab_thing\" \"a\" {"
    );
}

#[test]
fn a_destroy_is_shown() {
    let before = object(&[
        ("id", text("i")),
        ("secret", text("hush")),
        ("endpoint", object(&[("host", text("h"))])),
        ("limits", object(&[("cpu", Value::int(2))])),
    ]);
    let change = ResourceChange {
        reason: Reason::DeleteBecauseCountIndex,
        ..change("lab_thing.a[1]", ChangeAction::Only(Action::Delete), before.clone(), Value::null(before.ty()))
    };
    expect![[r#"
          # lab_thing.a[1] will be destroyed
          # (because index [1] is out of range for count)
          - resource "lab_thing" "a" {
              - endpoint  = {
                  - host = "h"
                } -> null
              - id        = "i" -> null
              - limits    = {
                  - cpu = 2 -> null
                } -> null
              - secret    = (sensitive value) -> null
              - secret_wo = (write-only attribute) -> null
            }

        Plan: 0 to add, 0 to change, 1 to destroy.
    "#]]
    .assert_eq(&shown(change));
}

#[test]
fn sensitive_values_are_hidden() {
    let before = [("name", text("open")), ("notes", strings(&["x"]))];
    let after = [("name", text("closed").mark(&Marks::SENSITIVE)), ("notes", strings(&["y"]).mark(&Marks::SENSITIVE))];
    let text = shown(update(&before, &after));
    expect![[r#"
          # lab_thing.a will be updated in-place
          ~ resource "lab_thing" "a" {
              # Warning: this attribute value will be marked as sensitive and will not
              # display in UI output after applying this change.
              ~ name      = (sensitive value)
              # Warning: this attribute value will be marked as sensitive and will not
              # display in UI output after applying this change.
              ~ notes     = (sensitive value)
              ~ secret_wo = (write-only attribute)
            }

        Plan: 0 to add, 1 to change, 0 to destroy.
    "#]]
    .assert_eq(&text);
}

#[test]
fn text_and_documents_show_their_changes() {
    let before = [("text", text("a\nb\nc")), ("policy", text("{\"a\":1,\"b\":[1,2]}")), ("name", text("{\"k\":1}"))];
    let after = [("text", text("a\nB\nc")), ("policy", text("{\"a\":1,\"b\":[1,3]}")), ("name", text("{ \"k\": 1 }"))];
    expect![[r#"
          # lab_thing.a will be updated in-place
          ~ resource "lab_thing" "a" {
              ~ name      = jsonencode( # whitespace changes
                    {
                        k = 1
                    }
                )
              ~ policy    = jsonencode(
                  ~ {
                      ~ b = [
                            1,
                          - 2,
                          + 3,
                        ]
                        # (1 unchanged attribute hidden)
                    }
                )
              ~ secret_wo = (write-only attribute)
              ~ text      = <<-EOT
                    a
                  - b
                  + B
                    c
                EOT
            }

        Plan: 0 to add, 1 to change, 0 to destroy.
    "#]]
    .assert_eq(&shown(update(&before, &after)));
}

#[test]
fn moves_and_reads_are_shown() {
    let value = object(&[("id", text("i")), ("size", Value::int(1))]);
    let moved = ResourceChange {
        previous_address: "lab_thing.old".parse().ok().map(Box::new),
        ..change("lab_thing.a", ChangeAction::Only(Action::NoOp), value.clone(), value)
    };
    expect![[r#"
          # lab_thing.old has moved to lab_thing.a
            resource "lab_thing" "a" {
                id        = "i"
                # (2 unchanged attributes hidden)
            }

        Plan: 0 to add, 0 to change, 0 to destroy.
    "#]]
    .assert_eq(&shown(moved));
    let after = object(&[("name", unknown())]);
    let read = ResourceChange {
        reason: Reason::ReadBecauseConfigUnknown,
        ..change("data.lab_thing.d", ChangeAction::Only(Action::Read), Value::null(after.ty()), after)
    };
    expect![[r#"
          # data.lab_thing.d will be read during apply
          # (config refers to values not yet known)
         <= data "lab_thing" "d" {
              + name = (known after apply)
            }

        Plan: 0 to add, 0 to change, 0 to destroy.
    "#]]
    .assert_eq(&shown(read));
}

fn output(action: Action, before: Value, after: Value) -> OutputChange {
    OutputChange { action, before, after, sensitive_before: false, sensitive_after: false }
}

#[test]
fn changes_of_outputs_alone_are_shown() {
    let outputs = BTreeMap::from([
        ("a".into(), output(Action::Create, Value::null(Type::Dynamic), object(&[("n", Value::int(1))]))),
        ("bbb".into(), output(Action::Update, Value::int(1), Value::int(2))),
        ("c".into(), output(Action::Delete, text("x"), Value::null(Type::Dynamic))),
        ("d".into(), OutputChange { sensitive_after: true, ..output(Action::Update, text("x"), text("y")) }),
        ("e".into(), output(Action::NoOp, text("x"), text("x"))),
    ]);
    let plan = plan(Changes { outputs, ..Changes::default() });
    expect![[r#"

        Changes to Outputs:
          + a   = {
              + n = 1
            }
          ~ bbb = 1 -> 2
          - c   = "x" -> null
          ~ d   = (sensitive value)

        You can apply this plan to save these new output values to the OpenTofu
        state, without changing any real infrastructure.
    "#]]
    .assert_eq(&human(&plan, &Style::default()));
}

#[test]
fn an_empty_plan_says_that_there_are_no_changes() {
    let text = human(&plan(Changes::default()), &Style::default());
    assert!(text.starts_with("\nNo changes. Your infrastructure matches the configuration.\n\n"), "{text}");
    let mut destroy = plan(Changes::default());
    destroy.manifest.ui_mode = UiMode::Destroy;
    let text = human(&destroy, &Style::default());
    assert!(text.starts_with("\nNo changes. No objects need to be destroyed.\n"), "{text}");
}
