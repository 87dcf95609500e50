//! Configurations for the built-in provider, and the disassembled graphs of their plans.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_evaluator::Environment;
use weft_evaluator::config::load_tree;
use weft_evaluator::glue::GivenVariables;
use weft_graph_format::address::{InstanceKey, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::{disassemble, verify};
use weft_planner::planning::PlanInputs;
use weft_planner::{PlanKind, PlanOptions, PlanOutcome, ProviderSet, plan};
use weft_providers::{PoolOptions, ProviderPool};
use weft_state::{InstanceObject, InstanceRecord, RawJson, Revision, Snapshot, StoredInstance, StoredProvider};

fn providers() -> Arc<ProviderSet> {
    let none = Arc::new(|source: &weft_graph_format::address::ProviderSource| {
        Err(Diagnostic::error("No plugin", format!("{source} is not installed in this test.")))
    });
    Arc::new(ProviderSet::new(none, ProviderPool::new(PoolOptions::default()), 4))
}

async fn planned(text: &str, snapshot: Snapshot, destroy: bool) -> PlanOutcome {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("main.tf"), text).expect("written");
    let (root, _, problems) = load_tree(dir.path(), &BTreeMap::new());
    assert_eq!(problems, Vec::<Diagnostic>::new());
    plan(PlanInputs {
        root,
        environment: Environment::new(dir.path().to_path_buf()),
        given: GivenVariables::new(),
        snapshot: Arc::new(snapshot),
        providers: providers(),
        options: PlanOptions {
            kind: if destroy { PlanKind::Destroy } else { PlanKind::Normal },
            refresh: true,
            selection: weft_evaluator::selection::Selection::All,
            replace: Vec::new(),
            timestamp: String::from("2026-01-01T00:00:00Z"),
        },
        watch: weft_planner::Watch::none(),
    })
    .await
}

async fn graph(text: &str, snapshot: Snapshot, destroy: bool) -> String {
    let outcome = planned(text, snapshot, destroy).await;
    assert_eq!(outcome.diagnostics, Vec::<Diagnostic>::new());
    let planned = outcome.planned.expect("a plan");
    assert_eq!(verify(&planned.graph), Vec::new());
    disassemble(&planned.graph)
}

fn stored(name: &str, key: InstanceKey, attributes: &str, dependencies: &[&str]) -> (ResourceInstance, StoredInstance) {
    let address: ResourceInstance = format!("terraform_data.{name}").parse().unwrap();
    let provider = StoredProvider::read("provider[\"terraform.io/builtin/terraform\"]");
    let mut record = InstanceRecord::new(ResourceInstance { key, ..address }, provider);
    let mut object = InstanceObject::new(0, RawJson::new(attributes));
    object.dependencies = dependencies.iter().map(|d| d.to_string()).collect();
    record.current = Some(object);
    (record.address.clone(), StoredInstance { record, revision: Revision(1) })
}

fn snapshot(instances: Vec<(ResourceInstance, StoredInstance)>) -> Snapshot {
    Snapshot { instances: instances.into_iter().collect(), ..Snapshot::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_hands_its_result_on() {
    let text = graph(
        r#"
        resource "terraform_data" "a" { input = "x" }
        resource "terraform_data" "b" { input = "${terraform_data.a.id}-b" }
        output "id" { value = terraform_data.b.id }
        "#,
        Snapshot::default(),
        false,
    )
    .await;
    assert!(text.contains("template(%"), "the formula is in the graph:\n{text}");
    assert!(text.contains("output id %"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_each_waits_for_the_second_only() {
    let text = graph(
        r#"
        resource "terraform_data" "a" {
          count = 2
          input = count.index
        }
        resource "terraform_data" "b" {
          count = 2
          input = terraform_data.a[count.index].output
        }
        "#,
        Snapshot::default(),
        false,
    )
    .await;
    let line = text.lines().find(|l| l.contains("desired terraform_data.b[1]")).expect("b[1]");
    let apply = text.lines().find(|l| l.contains("= apply terraform_data.a[1]")).expect("a[1]");
    let other = text.lines().find(|l| l.contains("= apply terraform_data.a[0]")).expect("a[0]");
    let number = |l: &str| l.split(' ').next().expect("a number").to_string();
    assert!(line.contains(&format!("%{}.output", number(apply))), "{line}");
    assert!(!line.contains(&format!("%{}.", number(other))), "{line}");
    assert!(line.contains(&format!("after {}", number(apply))), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_depends_is_deleted_first() {
    let state = snapshot(vec![
        stored("a", InstanceKey::None, r#"{"id":"1","input":null,"output":null,"triggers_replace":null}"#, &[]),
        stored(
            "b",
            InstanceKey::None,
            r#"{"id":"2","input":null,"output":null,"triggers_replace":null}"#,
            &["terraform_data.a"],
        ),
    ]);
    let text = graph("", state, false).await;
    let b = text.lines().find(|l| l.contains("= apply terraform_data.b")).expect("b");
    let a = text.lines().find(|l| l.contains("= apply terraform_data.a")).expect("a");
    let number = b.split(' ').next().expect("a number");
    assert!(a.contains(&format!("after {number}")), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_changes_plan_is_empty() {
    let state = snapshot(vec![stored(
        "a",
        InstanceKey::None,
        r#"{"id":"1","input":{"value":"x","type":"string"},"output":{"value":"x","type":"string"},"triggers_replace":null}"#,
        &[],
    )]);
    let outcome = planned(r#"resource "terraform_data" "a" { input = "x" }"#, state, false).await;
    assert_eq!(outcome.diagnostics, Vec::<Diagnostic>::new());
    let planned = outcome.planned.expect("a plan");
    assert!(planned.changes.is_empty(), "{:?}", planned.changes);
    assert!(!planned.applyable);
    assert_eq!(planned.graph.operations, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn replace_deletes_and_creates() {
    let state = snapshot(vec![stored(
        "a",
        InstanceKey::None,
        r#"{"id":"1","input":null,"output":null,"triggers_replace":{"value":"1","type":"string"}}"#,
        &[],
    )]);
    for (lifecycle, want) in [("", "delete"), ("lifecycle { create_before_destroy = true }", "depose")] {
        let source = format!(
            "resource \"terraform_data\" \"a\" {{\n triggers_replace = \"2\"\n {}\n}}",
            lifecycle.replace("{ ", "{\n").replace(" }", "\n}")
        );
        let text = graph(&source, state.clone(), false).await;
        let first = text.lines().find(|l| l.contains("= apply") || l.contains("= depose")).expect("an operation");
        let is_delete = first.contains("apply") && text.contains("final_plan terraform_data.a delete");
        assert!(if want == "delete" { is_delete } else { first.contains("depose") }, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn destroy_deletes_everything_in_reverse() {
    let state = snapshot(vec![
        stored("a", InstanceKey::None, r#"{"id":"1","input":null,"output":null,"triggers_replace":null}"#, &[]),
        stored(
            "b",
            InstanceKey::None,
            r#"{"id":"2","input":{"value":"1","type":"string"},"output":null,"triggers_replace":null}"#,
            &["terraform_data.a"],
        ),
    ]);
    let source = "resource \"terraform_data\" \"a\" {\n}\nresource \"terraform_data\" \"b\" {\n input = terraform_data.a.id\n}\n";
    let text = graph(source, state, true).await;
    let b = text.lines().find(|l| l.contains("= apply terraform_data.b")).expect("b");
    let a = text.lines().find(|l| l.contains("= apply terraform_data.a")).expect("a");
    assert!(a.contains(&format!("after {}", b.split(' ').next().expect("a number"))), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cycles_are_named() {
    let outcome = planned(
        "locals {\n a = local.b\n b = local.a\n}\nresource \"terraform_data\" \"x\" {\n input = local.a\n}",
        Snapshot::default(),
        false,
    )
    .await;
    let text: Vec<&str> = outcome.diagnostics.iter().map(|d| d.summary.as_str()).collect();
    assert_eq!(text, ["Cycle: local.a, local.b"]);
}
