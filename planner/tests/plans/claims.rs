//! Claims: the parts of the state that a plan depends on. A later change of such a part makes the plan stale.

use expect_test::expect;

use crate::harness::{Case, bare, object};

/// One line for each claim. The plan changes the subjects of exclusive claims.
async fn claims(case: Case) -> String {
    let planned = case.planned().await;
    let line = |claim: &weft_graph_format::graph::Claim| {
        let how = if claim.exclusive { "changed" } else { "read" };
        format!("{} {how} at {}\n", claim.subject, claim.revision)
    };
    planned.claims.iter().map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_and_read_instances_are_claimed() {
    let case = Case::of(
        r#"
        resource "test_thing" "read" { name = "x" }
        resource "test_thing" "apart" { name = "x" }
        resource "test_thing" "changed" { name = test_thing.read.id }
        resource "test_thing" "new" {}
        "#,
    )
    .stored(object("test_thing.read", r#"{"id": "1", "name": "x"}"#))
    .stored(object("test_thing.apart", r#"{"id": "2", "name": "x"}"#))
    .stored(object("test_thing.changed", r#"{"id": "3"}"#));
    expect![[r#"
        test_thing.changed changed at 1
        test_thing.new changed at 0
        test_thing.read read at 1
    "#]]
    .assert_eq(&claims(case).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_are_claimed_if_nothing_else_changes() {
    let case = |main: &str| Case::of(main).stored(bare("terraform_data.a", "1"));
    let alone = "resource \"terraform_data\" \"a\" {}\noutput \"o\" {\n value = terraform_data.a.id\n}\n";
    expect![[r#"
        output.o changed at 0
        terraform_data.a read at 1
    "#]]
    .assert_eq(&claims(case(alone)).await);
    let beside = alone.replace("{}", "{\n input = 1\n}");
    expect![[r#"
        terraform_data.a changed at 1
    "#]]
    .assert_eq(&claims(case(&beside)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_and_a_vanished_object_are_claimed_as_changed() {
    let moved = "moved {\n from = terraform_data.a\n to = terraform_data.b\n}\nresource \"terraform_data\" \"b\" {}\n";
    expect![[r#"
        terraform_data.a changed at 1
        terraform_data.b changed at 0
    "#]]
    .assert_eq(&claims(Case::of(moved).stored(bare("terraform_data.a", "1"))).await);
    let gone = Case::of("").stored(object("test_thing.a", r#"{"id": "1"}"#)).gone("1");
    expect![[r#"
        test_thing.a changed at 1
    "#]]
    .assert_eq(&claims(gone).await);
}
