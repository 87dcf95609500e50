//! Ephemeral values: the positions where they are allowed.

use expect_test::expect;

use crate::harness::Script;

#[tokio::test(flavor = "multi_thread")]
async fn an_ephemeral_value_may_go_into_a_write_only_argument() {
    let script = Script::of(
        r#"
            ephemeral "test_token" "t" { name = "x" }
            resource "test_thing" "a" { password = ephemeral.test_token.t.token }
        "#,
    );
    expect![[r#"
        ephemeral.test_token.t {name = "x"}
        test_thing.a {password = ephemeral "token of x"}, needs ephemeral.test_token.t
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ephemeral_value_in_a_stored_argument_is_an_error() {
    let script = Script::of(
        r#"
            ephemeral "test_token" "t" { name = "x" }
            resource "test_thing" "a" { name = ephemeral.test_token.t.token }
        "#,
    );
    expect![[r#"
        error main.tf:3 Ephemeral value used in non-ephemeral context (test_thing.a)
        ephemeral.test_token.t {name = "x"}
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            ephemeral "test_token" "t" { name = "x" }
            data "test_look" "d" { name = ephemeral.test_token.t.token }
        "#,
    );
    expect![[r#"
        error main.tf:3 Ephemeral value used in non-ephemeral context (data.test_look.d)
        ephemeral.test_token.t {name = "x"}
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            ephemeral "test_token" "t" { name = "x" }
            resource "test_thing" "a" { count = length(ephemeral.test_token.t.token) }
        "#,
    );
    expect![[r#"
        error main.tf:3 Invalid count argument
        ephemeral.test_token.t {name = "x"}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ephemeral_value_may_configure_a_provider() {
    let script = Script::of(
        r#"
            ephemeral "test_token" "t" { name = "x" }
            provider "test" {
              alias  = "other"
              region = ephemeral.test_token.t.token
            }
            resource "test_thing" "a" { provider = test.other }
        "#,
    );
    expect![[r#"
        ephemeral.test_token.t {name = "x"}
        provider test.other {region = ephemeral "token of x"}
        test_thing.a {}, provider test.other, needs ephemeral.test_token.t
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ephemeral_value_in_a_root_output_is_an_error() {
    let script = Script::of(
        r#"
            variable "v" {
              default   = "x"
              ephemeral = true
            }
            output "o" { value = var.v }
        "#,
    );
    expect![[r#"
        error main.tf:6 Output does not allow ephemeral value
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            variable "v" {
              default   = "x"
              ephemeral = true
            }
            output "o" {
              value     = var.v
              ephemeral = true
            }
        "#,
    );
    expect![[r#"
        error main.tf:6 Invalid output configuration
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_of_a_module_must_be_declared_ephemeral() {
    let script = Script::of(
        r#"
            variable "v" {
              default   = "x"
              ephemeral = true
            }
            module "m" {
              source = "./m"
              v      = var.v
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            variable "v" { ephemeral = true }
            output "o" { value = var.v }
        "#,
    );
    expect![[r#"
        error m/main.tf:3 Output does not allow ephemeral value
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            variable "v" {
              default   = "x"
              ephemeral = true
            }
            module "m" {
              source = "./m"
              v      = var.v
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            variable "v" {}
        "#,
    );
    expect![[r#"
        error main.tf:8 Variable does not allow ephemeral value
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_with_an_ephemeral_value_is_evaluated_again() {
    let script = Script::of(
        r#"
            variable "v" {
              default   = "x"
              ephemeral = true
            }
            resource "test_thing" "a" {
              lifecycle {
                precondition {
                  condition     = var.v != ""
                  error_message = "m"
                }
              }
            }
        "#,
    );
    expect![[r#"
        checked test_thing.a: pass
        open condition of main.tf:9 test_thing.a
        test_thing.a {}
    "#]]
    .assert_eq(&script.planned().await);
}

#[test]
fn ephemeral_resources_have_no_lifecycle_of_their_own() {
    let script = Script::of(
        r#"
            ephemeral "test_token" "t" {
              lifecycle { create_before_destroy = true }
              provisioner "local-exec" { command = "x" }
            }
        "#,
    );
    expect![[r#"
        error main.tf:3 Invalid lifecycle configuration for ephemeral resource
        error main.tf:4 Invalid configuration block for ephemeral resource
    "#]]
    .assert_eq(&script.load_problems());
}
