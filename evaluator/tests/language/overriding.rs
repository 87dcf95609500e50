//! Override files.

use expect_test::expect;

use crate::harness::Script;

#[tokio::test(flavor = "multi_thread")]
async fn an_override_replaces_arguments_and_keeps_the_rest() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              name = "x"
              kind = "k"
              part { n = 1 }
            }
            output "o" { value = 1 }
        "#,
    )
    .file(
        "main_override.tf",
        r#"
            resource "test_thing" "a" {
              name = "y"
              part { n = 5 }
            }
            output "o" { value = 2 }
        "#,
    );
    expect![[r#"
        output o = 2
        test_thing.a {kind = "k", name = "y", part = [{n = 5}]}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_merged_in_order() {
    let script = Script::of(
        r#"
            locals { a = 1 }
            output "a" { value = local.a }
        "#,
    )
    .file(
        "a_override.tf",
        r#"
            locals { a = 2 }
        "#,
    )
    .file(
        "b_override.tf",
        r#"
            locals { a = 3 }
        "#,
    );
    expect![[r#"
        output a = 3
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_override_of_a_provider_changes_its_configuration() {
    let script = Script::of(
        r#"
            provider "test" { region = "eu" }
            resource "test_thing" "a" {}
        "#,
    )
    .file(
        "override.tf",
        r#"
            provider "test" { region = "us" }
        "#,
    );
    expect![[r#"
        provider test {region = "us"}
        test_thing.a {}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_override_changes_the_arguments_of_a_module_call() {
    let script = Script::of(
        r#"
            module "m" {
              source = "./m"
              v      = 1
            }
            output "o" { value = module.m.v }
        "#,
    )
    .file(
        "override.tf",
        r#"
            module "m" { v = 2 }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            variable "v" {}
            output "v" { value = var.v }
        "#,
    );
    expect![[r#"
        output o = 2
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_of_another_file_counts_before_a_for_each() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" { for_each = toset(["x"]) }
        "#,
    )
    .file(
        "override.tf",
        r#"
            resource "test_thing" "a" { count = 1 }
        "#,
    );
    expect![[r#"
        test_thing.a[0] {}
    "#]]
    .assert_eq(&script.planned().await);
}

#[test]
fn some_blocks_cannot_be_overridden() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {}
            check "c" {
              assert {
                condition     = test_thing.a.id != ""
                error_message = "m"
              }
            }
        "#,
    )
    .file(
        "override.tf",
        r#"
            import {
              to = test_thing.a
              id = "1"
            }
            removed {
              from = test_thing.b
            }
            check "c" {
              assert {
                condition     = 1 == 2
                error_message = "m"
              }
            }
            variable "missing" { default = 1 }
            module "missing" { source = "./m" }
            data "test_look" "missing" { name = "x" }
            terraform {
              required_version = ">= 1.0"
            }
        "#,
    );
    expect![[r#"
        error override.tf:2 Cannot override 'import' blocks
        error override.tf:6 Cannot override 'Removed' blocks
        warning override.tf:6 Missing lifecycle from the removed block
        error override.tf:9 Can't override check blocks
        error override.tf:15 Missing base variable declaration to override
        error override.tf:16 Missing module call to override
        error override.tf:17 Missing data resource to override
    "#]]
    .assert_eq(&script.load_problems());
}

#[test]
fn overridden_requirements_replace_the_original_ones() {
    let script = Script::of(
        r#"
            terraform {
              required_providers { test = { source = "hashicorp/test" } }
            }
            resource "test_thing" "a" {}
        "#,
    )
    .file(
        "override.tf",
        r#"
            terraform {
              required_providers { test = { source = "hashicorp/a/b/c" } }
            }
        "#,
    );
    expect![[r#"
        error override.tf:3 Invalid provider source string
    "#]]
    .assert_eq(&script.load_problems());
}

#[tokio::test(flavor = "multi_thread")]
async fn overridden_parts_must_be_valid() {
    let script = Script::of(
        r#"
            variable "v" {
              type    = strin
              default = 1
            }
            output "o" {}
        "#,
    )
    .file(
        "a_override.tf",
        r#"
            variable "v" {
              type      = number
              sensitive = 3
            }
            output "o" { value = 1 }
        "#,
    )
    .file("b_override.tf", r#"variable "v" { sensitive = false }"#);
    expect![[r#"
        error a_override.tf:4 Unsuitable value type
        error main.tf:3 Invalid type specification
        error main.tf:6 Missing required argument
    "#]]
    .assert_eq(&script.planned().await);
}
