//! The kinds of plans: refresh, drift, refresh-only, destroy.

use expect_test::expect;
use weft_planner::PlanKind;

use crate::harness::{Case, bare, object};

const MAIN: &str = r#"
    resource "test_thing" "a" { name = "x" }
    output "name" { value = test_thing.a.name }
"#;

fn drifted() -> Case {
    Case::of(MAIN)
        .stored(object("test_thing.a", r#"{"id": "1", "name": "x"}"#))
        .stored_output("name", "\"x\"", "\"string\"", false)
        .real("1", r#"{"id": "1", "name": "changed outside"}"#)
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_is_shown_and_undone() {
    expect![[r#"
        drift: update test_thing.a
          name: "x" -> "changed outside"
        update test_thing.a
          name: "changed outside" -> "x"
        no-op output name: "x" -> "x"
    "#]]
    .assert_eq(&drifted().shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_refresh_uses_the_state() {
    // The real object has another name.
    expect![[r#"
        no-op test_thing.a
        no-op output name: "x" -> "x"
    "#]]
    .assert_eq(&drifted().without_refresh().shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_no_longer_exists_is_created_again() {
    let case = Case::of(MAIN).stored(object("test_thing.a", r#"{"id": "1", "name": "x"}"#)).gone("1");
    expect![[r#"
        drift: delete test_thing.a
        create test_thing.a
          id: null -> ?
          name: null -> "x"
          secret: null -> sensitive null
          size: null -> ?
        create output name: null -> "x"
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_only_plan_records_what_it_finds() {
    expect![[r#"
        drift: update test_thing.a
          name: "x" -> "changed outside"
        update output name: "x" -> "changed outside"
    "#]]
    .assert_eq(&drifted().kind(PlanKind::RefreshOnly).shown().await);
    expect![[r#"
        0 = output name "changed outside"
        1 = record test_thing.a {"id": "1", "name": "changed outside", "secret": ({sensitive})}
    "#]]
    .assert_eq(&drifted().kind(PlanKind::RefreshOnly).graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_only_plan_creates_and_deletes_nothing() {
    let case = || {
        Case::of(&format!("{MAIN}resource \"test_thing\" \"new\" {{}}\n"))
            .stored(object("test_thing.a", r#"{"id": "1", "name": "x"}"#))
            .stored(object("test_thing.gone", r#"{"id": "2"}"#))
            .stored(object("test_thing.lost", r#"{"id": "3"}"#))
            .gone("3")
            .kind(PlanKind::RefreshOnly)
    };
    expect![[r#"
        drift: delete test_thing.lost
        create output name: null -> "x"
    "#]]
    .assert_eq(&case().shown().await);
    expect![[r#"
        0 = output name "x"
        1 = record test_thing.lost gone
    "#]]
    .assert_eq(&case().graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_normal_plan_replaces_on_request() {
    for kind in [PlanKind::Destroy, PlanKind::RefreshOnly] {
        let case = Case::of("resource \"terraform_data\" \"a\" {}").stored(bare("terraform_data.a", "1"));
        let found = case.kind(kind).replace("terraform_data.a").problems().await;
        assert_eq!(found, "error Unsupported plan mode\n", "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destroy_plan_deletes_everything_in_reverse() {
    let case = || {
        Case::of(
            "resource \"test_thing\" \"a\" {}\nresource \"test_thing\" \"b\" {\n name = test_thing.a.id\n}\n\
             data \"test_look\" \"d\" {\n name = \"x\"\n}\noutput \"o\" {\n value = test_thing.b.id\n}\n",
        )
        .stored(object("test_thing.a", r#"{"id": "1"}"#))
        .stored(object("test_thing.b", r#"{"id": "2", "name": "1"}"#).needs(&["test_thing.a"]))
        .stored(object("test_thing.gone", r#"{"id": "3"}"#).needs(&["test_thing.b"]))
        .stored_output("o", "\"2\"", "\"string\"", false)
        .destroy()
    };
    expect![[r#"
        delete test_thing.a
        delete test_thing.b
        delete test_thing.gone
        delete output o: "2" -> null
    "#]]
    .assert_eq(&case().shown().await);
    expect![[r#"
        0 = output o removed
        1 = open_provider test {} @test
        2 = prior_state test_thing.a {"id": "1", "secret": ({sensitive})} @test
        3 = final_plan test_thing.a delete provider 1 prior 2 desired - planned null @test
        4 = prior_state test_thing.b {"id": "2", "name": "1", "secret": ({sensitive})} @test
        5 = final_plan test_thing.b delete provider 1 prior 4 desired - planned null @test
        6 = prior_state test_thing.gone {"id": "3", "secret": ({sensitive})} @test
        7 = final_plan test_thing.gone delete provider 1 prior 6 desired - planned null @test
        8 = apply test_thing.gone 7 @test
        9 = apply test_thing.b 5 after 8 @test
        10 = apply test_thing.a 3 after 9 @test
        11 = close_provider 1 after 8 9 10 @test
    "#]]
    .assert_eq(&case().graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destroy_plan_does_not_delete_vanished_objects() {
    let case = Case::of("resource \"test_thing\" \"a\" {}").stored(object("test_thing.a", r#"{"id": "1"}"#)).gone("1");
    expect![[""]].assert_eq(&case.destroy().shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destroy_plan_of_an_empty_state_is_empty() {
    let planned = Case::of("resource \"test_thing\" \"a\" {}").destroy().planned().await;
    assert!(planned.changes.is_empty() && !planned.applyable && planned.graph.operations == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_recorded_as_not_to_be_destroyed_is_deleted_with_its_block() {
    let stored = || object("test_thing.a", r#"{"id": "1"}"#).skip_destroy();
    let main = "resource \"test_thing\" \"a\" {}";
    expect![[r#"
        delete test_thing.a
    "#]]
    .assert_eq(&Case::of(main).stored(stored()).destroy().shown().await);
    expect![[r#"
        forget test_thing.a, forgot_because_lifecycle_destroy_in_state
    "#]]
    .assert_eq(&Case::of("").stored(stored()).destroy().shown().await);
    let kept = "resource \"test_thing\" \"a\" {\n lifecycle {\n destroy = false\n}\n}\n";
    expect![[r#"
        forget test_thing.a, forgot_because_lifecycle_destroy_in_config
    "#]]
    .assert_eq(&Case::of(kept).stored(stored()).destroy().shown().await);
    // The replacement forgets the old object.
    expect![[r#"
        forget+create test_thing.a, replace_because_tainted
          id: "1" -> ?
          size: null -> ?
    "#]]
    .assert_eq(&Case::of(kept).stored(stored().tainted()).shown().await);
}
