//! Partial evaluation: targets and exclusions.

use expect_test::expect;

use crate::harness::Script;

#[tokio::test(flavor = "multi_thread")]
async fn a_target_is_evaluated_with_its_dependencies() {
    let script = Script::of(
        r#"
            locals { name = test_thing.a.name }
            resource "test_thing" "a" { name = "x" }
            resource "test_thing" "b" { name = local.name }
            resource "test_thing" "c" { name = test_thing.b.name }
            output "a" { value = test_thing.a.name }
            output "c" { value = test_thing.c.name }
        "#,
    )
    .target(&["test_thing.b"]);
    expect![[r#"
        output a = "x"
        test_thing.a {name = "x"}
        test_thing.b {name = "x"}, needs test_thing.a
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exclusion_also_excludes_its_dependents() {
    let script = Script::of(
        r#"
            locals { name = test_thing.a.name }
            resource "test_thing" "a" { name = "x" }
            resource "test_thing" "b" { name = local.name }
            resource "test_thing" "c" { name = test_thing.b.name }
            resource "test_thing" "d" { name = test_thing.a.name }
        "#,
    )
    .exclude(&["test_thing.b"]);
    expect![[r#"
        test_thing.a {name = "x"}
        test_thing.d {name = "x"}, needs test_thing.a
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_problem_outside_the_selection_is_not_found() {
    let script = Script::of(
        r#"
            variable "v" {}
            resource "test_thing" "a" { name = tonumber(var.v) }
            resource "test_thing" "b" { name = "y" }
        "#,
    )
    .given("v", "x")
    .target(&["test_thing.b"]);
    expect![[r#"
        test_thing.b {name = "y"}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_can_be_a_target() {
    let script = Script::of(
        r#"
            module "m" {
              source = "./m"
              name   = test_thing.a.name
            }
            resource "test_thing" "a" { name = "x" }
            resource "test_thing" "b" { name = "y" }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            variable "name" {}
            resource "test_thing" "in" { name = var.name }
        "#,
    )
    .target(&["module.m"]);
    expect![[r#"
        module.m.test_thing.in {name = "x"}, needs test_thing.a
        test_thing.a {name = "x"}
    "#]]
    .assert_eq(&script.planned().await);
}
