//! Replacements: reasons, order, requirements of dependents, and triggers.

use expect_test::expect;

use crate::harness::{Case, Object, bare, object};

fn stored() -> Object {
    object("test_thing.a", r#"{"id": "1", "kind": "old", "name": "x", "size": 1}"#)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attribute_that_cannot_be_updated_replaces_the_object() {
    let case = Case::of("resource \"test_thing\" \"a\" {\n kind = \"new\"\n name = \"x\"\n}");
    expect![[r#"
        delete+create test_thing.a, replace_because_cannot_update
          id: "1" -> ?
          kind: "old" -> "new" # forces replacement
          secret: sensitive null -> null
          size: 1 -> ?
    "#]]
    .assert_eq(&case.stored(stored()).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tainted_object_is_replaced() {
    let case = Case::of("resource \"test_thing\" \"a\" {\n kind = \"old\"\n name = \"x\"\n}");
    expect![[r#"
        delete+create test_thing.a, replace_because_tainted
          id: "1" -> ?
          size: 1 -> ?
    "#]]
    .assert_eq(&case.stored(stored().tainted()).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn ignore_changes_does_not_keep_a_tainted_object() {
    let main = "resource \"test_thing\" \"a\" {\n kind = \"new\"\n lifecycle {\n ignore_changes = all\n}\n}";
    expect![[r#"
        no-op test_thing.a
    "#]]
    .assert_eq(&Case::of(main).stored(stored()).shown().await);
    expect![[r#"
        delete+create test_thing.a, replace_because_tainted
          id: "1" -> ?
          kind: "old" -> "new"
          name: "x" -> null
          size: 1 -> ?
    "#]]
    .assert_eq(&Case::of(main).stored(stored().tainted()).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_attribute_keeps_its_stored_value() {
    let main =
        "resource \"test_thing\" \"a\" {\n kind = \"new\"\n name = \"y\"\n lifecycle {\n ignore_changes = [kind]\n}\n}";
    expect![[r#"
        update test_thing.a
          name: "x" -> "y"
    "#]]
    .assert_eq(&Case::of(main).stored(stored()).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_replace_option_replaces_the_instance_that_it_names() {
    let main = "resource \"terraform_data\" \"a\" {\n count = 2\n}";
    let case = || Case::of(main).stored(bare("terraform_data.a[0]", "1")).stored(bare("terraform_data.a[1]", "2"));
    expect![[r#"
        no-op terraform_data.a[0]
        delete+create terraform_data.a[1], replace_by_request
          id: "2" -> ?
    "#]]
    .assert_eq(&case().replace("terraform_data.a[1]").shown().await);
    // An address without a key names no instance.
    expect![[r#"
        warning Incompletely-matched force-replace resource instance
        no-op terraform_data.a[0]
        no-op terraform_data.a[1]
    "#]]
    .assert_eq(&case().replace("terraform_data.a").shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn create_first_spreads_to_the_dependencies() {
    let case = Case::of(
        r#"
        resource "terraform_data" "a" { triggers_replace = "new" }
        resource "terraform_data" "b" {
          triggers_replace = terraform_data.a.id
          lifecycle { create_before_destroy = true }
        }
        resource "terraform_data" "c" { triggers_replace = terraform_data.b.id }
        "#,
    );
    let case =
        ["a", "b", "c"].iter().fold(case, |case, name| case.stored(bare(&format!("terraform_data.{name}"), name)));
    expect![[r#"
        create+delete terraform_data.a, replace_because_cannot_update
          id: "a" -> ?
          triggers_replace: null -> "new" # forces replacement
        create+delete terraform_data.b, replace_because_cannot_update
          id: "b" -> ?
          triggers_replace: null -> ? # forces replacement
        delete+create terraform_data.c, replace_because_cannot_update
          id: "c" -> ?
          triggers_replace: null -> ? # forces replacement
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn create_first_is_recorded_with_the_object() {
    let main = r#"
        resource "test_thing" "a" { name = "x" }
        resource "test_thing" "b" {
          name = test_thing.a.id
          lifecycle { create_before_destroy = true }
        }
    "#;
    let graph = Case::of(main).graph().await;
    expect![[r#"
        test_thing.a: create first true, needs []
        test_thing.b: create first true, needs [test_thing.a]
    "#]]
    .assert_eq(&records(Case::of(main)).await);
    assert!(graph.contains("final_plan test_thing.a create"), "{graph}");
}

/// Whether each planned object is recorded as create-first.
async fn records(case: Case) -> String {
    use weft_graph_format::graph::Operation;
    let graph = case.planned().await.graph;
    let rows = graph.fragments.iter().flat_map(|fragment| &fragment.rows);
    let lines = rows.filter_map(|row| match &row.operation {
        Operation::FinalPlan { address, planned, .. } => {
            let record = &planned.record;
            let needs = record.dependencies.join(", ");
            Some(format!("{address}: create first {}, needs [{needs}]\n", record.create_before_destroy))
        }
        _ => None,
    });
    lines.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_trigger_replaces_the_object() {
    let main = |trigger: &str| {
        format!(
            "resource \"test_thing\" \"a\" {{\n name = \"new\"\n kind = \"same\"\n}}\n\
             resource \"test_thing\" \"b\" {{\n lifecycle {{\n replace_triggered_by = [{trigger}]\n}}\n}}\n"
        )
    };
    let case = |trigger: &str| {
        Case::of(&main(trigger))
            .stored(object("test_thing.a", r#"{"id": "1", "name": "old", "kind": "same"}"#))
            .stored(object("test_thing.b", r#"{"id": "2"}"#))
    };
    expect![[r#"
        update test_thing.a
          name: "old" -> "new"
        delete+create test_thing.b, replace_by_triggers
          id: "2" -> ?
          secret: sensitive null -> null
          size: null -> ?
    "#]]
    .assert_eq(&case("test_thing.a").shown().await);
    expect![[r#"
        update test_thing.a
          name: "old" -> "new"
        delete+create test_thing.b, replace_by_triggers
          id: "2" -> ?
          secret: sensitive null -> null
          size: null -> ?
    "#]]
    .assert_eq(&case("test_thing.a.name").shown().await);
    expect![[r#"
        update test_thing.a
          name: "old" -> "new"
        no-op test_thing.b
    "#]]
    .assert_eq(&case("test_thing.a.kind").shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_without_an_instance_is_an_error() {
    let case = Case::of(
        "resource \"terraform_data\" \"a\" {\n count = 0\n}\n\
         resource \"terraform_data\" \"b\" {\n lifecycle {\n replace_triggered_by = [terraform_data.a[0]]\n}\n}\n",
    );
    expect![[r#"
        error no change found for terraform_data.a[0] in the root module
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn deletes_follow_the_stored_order() {
    // `b` was recorded as create-first, so its delete waits for the updates of its dependents.
    let case = Case::of(r#"resource "test_thing" "c" { name = "new" }"#)
        .stored(object("test_thing.b", r#"{"id": "2"}"#).create_first())
        .stored(object("test_thing.c", r#"{"id": "3", "name": "old"}"#).needs(&["test_thing.b"]));
    expect![[r#"
        0 = open_provider test {} @test
        1 = prior_state test_thing.b {"id": "2", "secret": ({sensitive})} @test
        2 = final_plan test_thing.b delete provider 0 prior 1 desired - planned null @test
        3 = prior_state test_thing.c {"id": "3", "name": "old", "secret": ({sensitive})} @test
        4 = desired test_thing.c {"name": "new", "secret": ({sensitive})} @test
        5 = final_plan test_thing.c update provider 0 prior 3 desired 4 planned {"id": "3", "name": "new", "secret": ({sensitive})} @test
        6 = apply test_thing.c 5 @test
        7 = apply test_thing.b 2 after 6 @test
        8 = close_provider 0 after 6 7 @test
    "#]].assert_eq(&case.graph().await);
    let case = Case::of(r#"resource "test_thing" "c" { name = "new" }"#)
        .stored(object("test_thing.b", r#"{"id": "2"}"#))
        .stored(object("test_thing.c", r#"{"id": "3", "name": "old"}"#).needs(&["test_thing.b"]));
    expect![[r#"
        0 = open_provider test {} @test
        1 = prior_state test_thing.b {"id": "2", "secret": ({sensitive})} @test
        2 = final_plan test_thing.b delete provider 0 prior 1 desired - planned null @test
        3 = apply test_thing.b 2 @test
        4 = prior_state test_thing.c {"id": "3", "name": "old", "secret": ({sensitive})} @test
        5 = desired test_thing.c {"name": "new", "secret": ({sensitive})} @test
        6 = final_plan test_thing.c update provider 0 prior 4 desired 5 planned {"id": "3", "name": "new", "secret": ({sensitive})} @test
        7 = apply test_thing.c 6 after 3 @test
        8 = close_provider 0 after 3 7 @test
    "#]].assert_eq(&case.graph().await);
}
