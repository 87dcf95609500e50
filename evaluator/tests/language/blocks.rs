//! Arguments and blocks of resources, by their schemas.

use expect_test::expect;

use crate::harness::Script;

#[tokio::test(flavor = "multi_thread")]
async fn arguments_follow_the_schema() {
    let script = Script::of(
        r#"
            data "test_look" "d" {}
            resource "test_thing" "a" {
              colour = "red"
              id     = "1"
              tags   = "x"
              size   = "many"
            }
            resource "test_unknown" "a" {}
            data "test_unknown" "a" {}
            ephemeral "test_unknown" "a" {}
            resource "other_thing" "a" {}
        "#,
    );
    expect![[r#"
        error No plugin
        error main.tf:2 Missing required argument
        error main.tf:4 Unsupported argument
        error main.tf:6 Incorrect attribute value type
        error main.tf:7 Incorrect attribute value type
        error main.tf:9 Invalid resource type
        error main.tf:10 Invalid data source
        error main.tf:11 Invalid ephemeral resource
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_argument_is_converted() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              name = 5
              size = "7"
              tags = { a = 1, b = true }
            }
        "#,
    );
    expect![[r#"
        test_thing.a {name = "5", size = 7, tags = {a = "1", b = "true"}}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn nested_blocks_follow_the_schema() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              part { n = 1 }
              part {}
              part { n = "x" }
            }
            resource "test_thing" "b" {
              parts { n = 1 }
            }
            resource "test_thing" "c" {
              part "label" { n = 1 }
            }
            resource "test_thing" "d" {
              name {}
              part = []
            }
        "#,
    );
    expect![[r#"
        error main.tf:4 Missing required argument
        error main.tf:5 Too many part blocks
        error main.tf:5 Incorrect attribute value type
        error main.tf:8 Unsupported block type
        error main.tf:11 Extraneous label for part
        error main.tf:14 Unsupported block type
        error main.tf:15 Unsupported argument
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn dynamic_blocks_make_blocks() {
    let script = Script::of(
        r#"
            variable "ns" { default = [1, 2] }
            resource "test_thing" "a" {
              dynamic "part" {
                for_each = var.ns
                content { n = part.value + part.key }
              }
            }
            resource "test_thing" "b" {
              dynamic "part" {
                for_each = { x = 5 }
                iterator = it
                content { n = it.value }
              }
            }
        "#,
    );
    expect![[r#"
        test_thing.a {part = [{n = 1}, {n = 3}]}
        test_thing.b {part = [{n = 5}]}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn dynamic_blocks_are_checked() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              dynamic "part" { for_each = [1] }
            }
            resource "test_thing" "b" {
              dynamic "part" {
                content { n = 1 }
              }
            }
            resource "test_thing" "c" {
              dynamic "parts" {
                for_each = [1]
                content { n = 1 }
              }
            }
            resource "test_thing" "d" {
              dynamic "part" {
                for_each = 5
                content { n = 1 }
              }
            }
            resource "test_thing" "e" {
              dynamic "part" {
                for_each = [1]
                iterator = "it"
                content { n = 1 }
                content { n = 1 }
              }
            }
            resource "test_thing" "f" {
              dynamic "part" {
                for_each = [1]
                content { n = local.missing }
              }
            }
        "#,
    );
    expect![[r#"
        error main.tf:3 Missing dynamic content block
        error main.tf:6 Missing required argument
        error main.tf:11 Unsupported block type
        error main.tf:18 Invalid dynamic for_each value
        error main.tf:25 Invalid expression
        error main.tf:33 Reference to undeclared local value
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_may_be_repeated_up_to_a_limit() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              part { n = 1 }
              part { n = 2 }
              part { n = 3 }
            }
        "#,
    );
    expect![[r#"
        error main.tf:5 Too many part blocks
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sensitive_argument_is_marked() {
    let script = Script::of(
        r#"
            variable "s" {
              default   = "x"
              sensitive = true
            }
            resource "test_thing" "a" {
              name = var.s
            }
        "#,
    );
    expect![[r#"
        test_thing.a {name = sensitive "x"}
    "#]]
    .assert_eq(&script.planned().await);
}

#[test]
fn unknown_blocks_of_a_file_are_errors() {
    let script = Script::of(
        r#"
            frob {}
            resource "a" {}
            resource "a" "b" "c" {}
            resource "1a" "b" {}
            resource "test_thing" "a" {}
            resource "test_thing" "a" {}
            colour = 1
            locals "x" {}
            output "o" {}
            output {}
            variable "v" "w" {}
            data "test_look" "d" { provider = "test" }
            resource "test_thing" "p" { provider = test.a.b.c }
            resource "test_thing" "q" { depends_on = test_thing.a }
        "#,
    );
    expect![[r#"
        error main.tf:2 Unsupported block type
        error main.tf:3 Missing name for resource
        error main.tf:4 Extraneous label for resource
        error main.tf:5 Invalid resource type name
        error main.tf:7 Duplicate resource "test_thing" configuration
        error main.tf:8 Unsupported argument
        error main.tf:9 Extraneous label for locals
        error main.tf:10 Missing required argument
        error main.tf:11 Missing name for output
        error main.tf:12 Extraneous label for variable
        warning main.tf:13 Quoted references are deprecated
        error main.tf:14 Invalid provider configuration reference
        error main.tf:15 Invalid expression
    "#]]
    .assert_eq(&script.load_problems());
}
