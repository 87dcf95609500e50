//! Conditions: preconditions, postconditions, checks, error messages.

use expect_test::expect;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::harness::Script;

#[tokio::test(flavor = "multi_thread")]
async fn failed_conditions_are_errors() {
    let script = Script::of(
        r#"
            variable "v" { default = 1 }
            resource "test_thing" "a" {
              name = "x"
              lifecycle {
                precondition {
                  condition     = var.v > 2
                  error_message = "before"
                }
              }
            }
            output "o" {
              value = 1
              precondition {
                condition     = var.v == 2
                error_message = "of the output"
              }
            }
        "#,
    );
    expect![[r#"
        error main.tf:7 Resource precondition failed
        error main.tf:15 Module output value precondition failed
        checked output.o: fail "of the output"
        checked test_thing.a: fail "before"
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_of_a_failed_instance_are_not_evaluated() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              name = "x"
              lifecycle {
                postcondition {
                  condition     = self.name == "y"
                  error_message = "after"
                }
              }
            }
            resource "test_thing" "b" { name = test_thing.a.name }
        "#,
    );
    expect![[r#"
        error main.tf:6 Resource postcondition failed
        checked test_thing.a: fail "after"
        test_thing.a {name = "x"}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_check_is_a_warning() {
    let script = Script::of(
        r#"
            variable "v" { default = 1 }
            check "c" {
              assert {
                condition     = var.v > 2
                error_message = "first"
              }
              assert {
                condition     = var.v > 0
                error_message = "second"
              }
            }
        "#,
    );
    expect![[r#"
        warning main.tf:5 Check block assertion failed
        checked check.c: fail "first"
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_conditions_are_left_to_apply() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              lifecycle {
                postcondition {
                  condition     = self.id != ""
                  error_message = "after"
                }
              }
            }
            check "c" {
              assert {
                condition     = test_thing.a.id != ""
                error_message = "checked"
              }
            }
        "#,
    );
    expect![[r#"
        warning main.tf:12 Check block assertion known after apply
        checked check.c: unknown
        checked test_thing.a: unknown
        open condition of main.tf:12 check.c[0]
        open condition of main.tf:5 test_thing.a
        test_thing.a {}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_is_true_or_false() {
    let script = Script::of(
        r#"
            variable "v" {}
            output "o" {
              value = 1
              precondition {
                condition     = var.v
                error_message = "m"
              }
            }
        "#,
    )
    .given("v", "maybe");
    expect![[r#"
        error main.tf:6 Invalid condition result
        checked output.o: error
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            variable "v" {}
            output "o" {
              value = 1
              precondition {
                condition     = var.v
                error_message = "m"
              }
            }
        "#,
    )
    .given("v", Value::null(Type::Bool));
    expect![[r#"
        error main.tf:6 Invalid condition result
        checked output.o: error
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            variable "v" {}
            output "o" {
              value = 1
              precondition {
                condition     = tonumber(var.v) > 1
                error_message = "m"
              }
            }
        "#,
    )
    .given("v", "x");
    expect![[r#"
        error main.tf:6 Invalid function argument
        checked output.o: error
    "#]]
    .assert_eq(&script.planned().await);
    // A condition without references is an error.
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              lifecycle {
                precondition {
                  condition     = 1 > 2
                  error_message = "m"
                }
              }
            }
        "#,
    );
    expect![[r#"
        error main.tf:5 Invalid precondition expression
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_message_is_a_known_public_string() {
    let script = Script::of(
        r#"
            variable "s" {
              default   = "x"
              sensitive = true
            }
            output "o" {
              value = 1
              precondition {
                condition     = var.s == ""
                error_message = "secret ${var.s}"
              }
            }
        "#,
    );
    expect![[r#"
        error main.tf:9 Module output value precondition failed
        warning main.tf:10 Error message refers to sensitive values
        checked output.o: fail
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            variable "v" { default = "x" }
            output "o" {
              value = 1
              precondition {
                condition     = var.v == ""
                error_message = null
              }
            }
        "#,
    );
    expect![[r#"
        error main.tf:7 Invalid error message
        checked output.o: error
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            ephemeral "test_token" "t" { name = "x" }
            resource "test_thing" "a" {
              lifecycle {
                precondition {
                  condition     = ephemeral.test_token.t.token == ""
                  error_message = "secret ${ephemeral.test_token.t.token}"
                }
              }
            }
        "#,
    );
    expect![[r#"
        error main.tf:6 Resource precondition failed
        warning main.tf:7 Error message refers to ephemeral values
        checked test_thing.a: fail
        ephemeral.test_token.t {name = "x"}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_precondition_cannot_use_the_object() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              lifecycle {
                precondition {
                  condition     = self.name == ""
                  error_message = "m"
                }
              }
            }
        "#,
    );
    expect![[r#"
        error main.tf:5 Unknown variable
        error main.tf:5 Invalid "self" reference
    "#]]
    .assert_eq(&script.problems().await);
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              lifecycle {
                precondition {
                  condition     = test_thing.a.name == ""
                  error_message = "m"
                }
              }
            }
        "#,
    );
    expect![[r#"
        error main.tf:5 Invalid reference in precondition
    "#]]
    .assert_eq(&script.problems().await);
}

#[test]
fn the_parts_of_a_condition_are_required() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              lifecycle {
                precondition {
                  condition = true
                }
                postcondition {
                  error_message = "m"
                }
              }
            }
            check "c" {
              assert {
                error_message = "m"
                condition     = 1 == 1
                more          = 1
              }
            }
            check "c" {
              assert {
                condition     = local.x
                error_message = "m"
              }
            }
        "#,
    );
    expect![[r#"
        error main.tf:4 Missing required argument
        error main.tf:5 Invalid precondition expression
        error main.tf:7 Missing required argument
        error main.tf:12 Zero assert blocks
        error main.tf:15 Invalid assert expression
        error main.tf:16 Unsupported argument
        error main.tf:19 Duplicate check "c" configuration
    "#]]
    .assert_eq(&script.load_problems());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_data_source_of_a_check_is_read_with_it() {
    let script = Script::of(
        r#"
            check "c" {
              data "test_look" "d" { name = "x" }
              assert {
                condition     = data.test_look.d.answer == "answer to x"
                error_message = "m"
              }
            }
        "#,
    );
    expect![[r#"
        checked check.c: pass
        data.test_look.d {name = "x"}
    "#]]
    .assert_eq(&script.planned().await);
}

/// The address of the resource contains the word `output`, which must not matter.
#[tokio::test(flavor = "multi_thread")]
async fn validation_does_not_evaluate_conditions_of_resources() {
    let false_condition = "lifecycle {\n precondition {\n condition = local.x > 2\n error_message = \"m\"\n}\n}\n";
    let resource = format!("locals {{\n x = 1\n}}\nresource \"test_thing\" \"a\" {{\n{false_condition}}}\n");
    let script = Script::of(&format!("{resource}module \"output\" {{\n source = \"./m\"\n}}\n"));
    let script = script.file("m/main.tf", &resource);
    expect![""].assert_eq(&script.problems().await);
    expect![[r#"
        error m/main.tf:7 Resource precondition failed
        error main.tf:7 Resource precondition failed
        checked module.output.test_thing.a: fail "m"
        checked test_thing.a: fail "m"
    "#]]
    .assert_eq(&script.planned().await);
}
