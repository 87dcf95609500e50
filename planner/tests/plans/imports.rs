//! `import` blocks.

use expect_test::expect;
use weft_planner::PlanKind;

use crate::harness::{Case, object};

const MAIN: &str = r#"
    import {
      to = test_thing.a
      id = "1"
    }
    resource "test_thing" "a" { name = "x" }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_imported_and_updated() {
    expect![[r#"
        no-op test_thing.a, import 1
    "#]]
    .assert_eq(&Case::of(MAIN).real("1", r#"{"id": "1", "name": "x"}"#).shown().await);
    expect![[r#"
        update test_thing.a, import 1
          name: "y" -> "x"
    "#]]
    .assert_eq(&Case::of(MAIN).real("1", r#"{"id": "1", "name": "y"}"#).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_has_no_effect_on_an_object_in_state() {
    let case = Case::of(MAIN).stored(object("test_thing.a", r#"{"id": "2", "name": "x"}"#));
    expect![[r#"
        no-op test_thing.a
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_does_not_exist_is_an_error() {
    expect![[r#"
        error Cannot import non-existent remote object
    "#]]
    .assert_eq(&Case::of(MAIN).shown().await);
    expect![[r#"
        error Cannot import non-existent remote object
    "#]]
    .assert_eq(&Case::of(MAIN).gone("1").shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_needs_a_schema() {
    let main = MAIN.replace("id = \"1\"", "identity = { id = \"1\" }");
    expect![[r#"
        error main.tf:4 Unable to determine identity schema for import identity
    "#]]
    .assert_eq(&Case::of(&main).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_object_may_have_to_be_replaced() {
    let main = MAIN.replace("name = \"x\"", "kind = \"new\"");
    expect![[r#"
        delete+create test_thing.a, replace_because_cannot_update, import 1
          id: "1" -> ?
          kind: "old" -> "new" # forces replacement
          secret: sensitive null -> null
          size: null -> ?
    "#]]
    .assert_eq(&Case::of(&main).real("1", r#"{"id": "1", "kind": "old"}"#).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_plan_only_imports() {
    let main = format!("{MAIN}resource \"test_thing\" \"other\" {{}}\nresource \"test_thing\" \"known\" {{}}\n");
    let case = Case::of(&main)
        .real("1", r#"{"id": "1", "name": "y"}"#)
        .real("2", r#"{"id": "2", "name": "changed outside"}"#)
        .stored(object("test_thing.known", r#"{"id": "2"}"#))
        .stored(object("test_thing.gone", r#"{"id": "3"}"#))
        .kind(PlanKind::Import)
        .without_refresh();
    let planned = case.planned().await;
    // The command writes imported objects to the state itself.
    assert_eq!(planned.found.keys().map(ToString::to_string).collect::<Vec<_>>(), ["test_thing.a"]);
    assert!(planned.graph.operations == 0 && planned.changes.is_empty(), "{:?}", planned.changes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destroy_plan_does_not_import() {
    let case = Case::of(MAIN).real("1", r#"{"id": "1", "name": "x"}"#).destroy();
    expect![[""]].assert_eq(&case.shown().await);
}
