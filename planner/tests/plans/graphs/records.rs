//! Graphs that change the records of objects: moves, imports, deposed and forgotten objects.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_move_precedes_the_change() {
    let case = Case::of(
        r#"
        moved {
          from = test_thing.a
          to   = test_thing.b
        }
        resource "test_thing" "b" { name = "new" }
        "#,
    );
    let case = case.stored(object("test_thing.a", r#"{"id": "1", "name": "old"}"#));
    expect![[r#"
        0 = open_provider test {} @test
        1 = prior_state test_thing.b {"id": "1", "name": "old", "secret": ({sensitive})} @test
        2 = record test_thing.b moved from test_thing.a {"id": "1", "name": "old", "secret": ({sensitive})}
        3 = desired test_thing.b {"name": "new", "secret": ({sensitive})} after 2 @test
        4 = final_plan test_thing.b update provider 0 prior 1 desired 3 planned {"id": "1", "name": "new", "secret": ({sensitive})} @test
        5 = apply test_thing.b 4 @test
        6 = close_provider 0 after 5 @test
    "#]].assert_eq(&case.graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_alone_changes_the_record() {
    let case = Case::of(
        r#"
        moved {
          from = terraform_data.a
          to   = terraform_data.b
        }
        resource "terraform_data" "b" {}
        "#,
    );
    expect![[r#"
        0 = record terraform_data.b moved from terraform_data.a {"id": "1", "input": null, "output": null, "triggers_replace": null}
    "#]].assert_eq(&case.stored(bare("terraform_data.a", "1")).graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_is_recorded_or_updated() {
    let case = Case::of(
        r#"
        import {
          to = test_thing.same
          id = "1"
        }
        import {
          to = test_thing.changed
          id = "2"
        }
        resource "test_thing" "same" { name = "x" }
        resource "test_thing" "changed" { name = "x" }
        "#,
    );
    let case = case.real("1", r#"{"id": "1", "name": "x"}"#).real("2", r#"{"id": "2", "name": "y"}"#);
    expect![[r#"
        0 = open_provider test {} @test
        1 = prior_state test_thing.changed {"id": "2", "name": "y", "secret": ({sensitive})} @test
        2 = record test_thing.changed {"id": "2", "name": "y", "secret": ({sensitive})}
        3 = desired test_thing.changed {"name": "x", "secret": ({sensitive})} after 2 @test
        4 = final_plan test_thing.changed update provider 0 prior 1 desired 3 planned {"id": "2", "name": "x", "secret": ({sensitive})} @test
        5 = apply test_thing.changed 4 @test
        6 = close_provider 0 after 5 @test
        7 = record test_thing.same {"id": "1", "name": "x", "secret": ({sensitive})}
    "#]].assert_eq(&case.graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposed_object_is_deleted_beside_the_change() {
    let case = Case::of(r#"resource "test_thing" "a" { name = "new" }"#);
    let stored = object("test_thing.a", r#"{"id": "2", "name": "old"}"#).deposed("0badc0de", r#"{"id": "1"}"#);
    expect![[r#"
        0 = open_provider test {} @test
        1 = prior_state test_thing.a {"id": "2", "name": "old", "secret": ({sensitive})} @test
        2 = prior_state test_thing.a deposed 0badc0de {"id": "1", "secret": ({sensitive})} @test
        3 = desired test_thing.a {"name": "new", "secret": ({sensitive})} @test
        4 = final_plan test_thing.a update provider 0 prior 1 desired 3 planned {"id": "2", "name": "new", "secret": ({sensitive})} @test
        5 = final_plan test_thing.a delete provider 0 prior 2 desired - planned null @test
        6 = apply test_thing.a 4 @test
        7 = apply test_thing.a deposed 0badc0de 5 @test
        8 = close_provider 0 after 6 7 @test
    "#]].assert_eq(&case.stored(stored).graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_object_is_only_dropped_from_state() {
    let case = Case::of("removed {\n from = test_thing.a\n lifecycle {\n destroy = false\n}\n}\n");
    expect![[r#"
        0 = forget test_thing.a
    "#]]
    .assert_eq(&case.stored(object("test_thing.a", r#"{"id": "1"}"#)).graph().await);
}
