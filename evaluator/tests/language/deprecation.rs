//! Warnings about deprecated arguments, variables and outputs.

use expect_test::expect;

use crate::harness::Script;

#[tokio::test(flavor = "multi_thread")]
async fn a_deprecated_argument_is_a_warning() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" { old = "x" }
            output "o" { value = test_thing.a.old }
        "#,
    );
    expect![[r#"
        warning main.tf:3 Value derived from a deprecated source
        output o = "x"
        test_thing.a {old = "x"}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn null_does_not_use_a_deprecated_argument() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" { old = null }
        "#,
    );
    expect![[r#"
        test_thing.a {}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deprecated_output_is_a_warning_where_it_is_used() {
    let script = Script::of(
        r#"
            module "m" { source = "./m" }
            output "a" { value = module.m.a }
            output "b" { value = module.m.b }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            output "a" {
              value      = 1
              deprecated = "use b"
            }
            output "b" { value = 2 }
        "#,
    );
    expect![[r#"
        warning main.tf:3 Value derived from a deprecated source
        output a = 1
        output b = 2
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deprecated_variable_is_a_warning_where_it_is_given() {
    let script = Script::of(
        r#"
            module "m" {
              source = "./m"
              v      = 1
            }
            module "n" { source = "./m" }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            variable "v" {
              default    = 0
              deprecated = "use w"
            }
        "#,
    );
    expect![[r#"
        warning main.tf:4 Variable marked as deprecated by the module author
    "#]]
    .assert_eq(&script.planned().await);
}

#[test]
fn old_forms_are_warnings() {
    let script = Script::of(
        r#"
            variable "v" { type = "string" }
            resource "test_thing" "a" {
              depends_on = ["test_thing.b"]
              lifecycle { ignore_changes = ["name"] }
            }
            resource "test_thing" "b" {
              lifecycle { ignore_changes = ["*"] }
            }
            provider "test" { version = "1.0" }
            resource "test_thing" "c" {
              provisioner "local-exec" {
                when    = "destroy"
                command = "x"
              }
            }
            output "o" { value = "${var.v}" }
        "#,
    );
    expect![[r#"
        error main.tf:2 Invalid quoted type constraints
        warning main.tf:4 Quoted references are deprecated
        warning main.tf:5 Quoted references are deprecated
        error main.tf:8 Invalid ignore_changes wildcard
        warning main.tf:10 Version constraints inside provider configuration blocks are deprecated
        warning main.tf:13 Quoted keywords are deprecated
    "#]]
    .assert_eq(&script.load_problems());
}
