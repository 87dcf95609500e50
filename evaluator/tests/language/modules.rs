//! Module calls.

use expect_test::expect;

use crate::harness::Script;

#[tokio::test(flavor = "multi_thread")]
async fn values_go_down_and_up() {
    let script = Script::of(
        r#"
            module "outer" {
              source = "./outer"
              name   = "x"
            }
            output "name" { value = module.outer.name }
        "#,
    )
    .file(
        "outer/main.tf",
        r#"
            variable "name" {}
            module "inner" {
              source = "../inner"
              name   = "${var.name}y"
            }
            output "name" { value = module.inner.name }
        "#,
    )
    .file(
        "inner/main.tf",
        r#"
            variable "name" {}
            resource "test_thing" "a" { name = "${var.name}z" }
            output "name" { value = test_thing.a.name }
        "#,
    );
    expect![[r#"
        module.outer.module.inner.test_thing.a {name = "xyz"}
        output name = "xyz"
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn depends_on_reaches_everything_in_the_module() {
    let script = Script::of(
        r#"
            resource "test_thing" "before" {}
            module "m" {
              source     = "./m"
              depends_on = [test_thing.before]
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            resource "test_thing" "a" {}
            data "test_look" "d" { name = "x" }
        "#,
    );
    expect![[r#"
        module.m.data.test_look.d {name = "x"}, needs test_thing.before
        module.m.test_thing.a {}, needs test_thing.before
        test_thing.before {}
    "#]]
    .assert_eq(&script.planned().await);
}

#[test]
fn a_source_must_be_there_and_valid() {
    let script = Script::of(
        r#"
            module "a" {}
            module "b" { source = "./missing" }
            module "c" { source = 5 }
            module "d" {
              source  = "./m"
              version = "1.0"
            }
            module "e" { source = "hashicorp/x/aws" }
            module "f" {
              source  = "hashicorp/x/aws"
              version = "nonsense"
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"

        "#,
    );
    expect![[r#"
        error main.tf:2 Missing required argument
        error main.tf:4 Invalid module source address
        error main.tf:6 Invalid registry module source address
        error main.tf:12 Invalid version constraint
    "#]]
    .assert_eq(&script.load_problems());
}

#[test]
fn a_module_cannot_call_itself() {
    let script = Script::of(
        r#"
            module "m" { source = "./m" }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            module "m" { source = "../m" }
        "#,
    );
    expect![[r#"
        error m/main.tf:2 Module calls nested too deeply
    "#]]
    .assert_eq(&script.load_problems());
}

#[test]
fn names_of_calls_are_unique() {
    let script = Script::of(
        r#"
            module "m" { source = "./m" }
            module "m" { source = "./m" }
            module "1" { source = "./m" }
            module "n" {
              source = "./m"
              colour {}
              lifecycle { prevent_destroy = true }
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"

        "#,
    );
    expect![[r#"
        error main.tf:3 Duplicate module call
        error main.tf:4 Invalid module instance name
        error main.tf:8 Unsupported argument
    "#]]
    .assert_eq(&script.load_problems());
}

#[test]
fn a_module_with_its_own_providers_cannot_be_repeated() {
    let script = Script::of(
        r#"
            module "m" {
              source = "./m"
              count  = 2
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            provider "test" { region = "eu" }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        error main.tf:4 Module is incompatible with count, for_each, enabled and depends_on
    "#]]
    .assert_eq(&script.load_problems());
}

#[tokio::test(flavor = "multi_thread")]
async fn sensitive_outputs_of_modules_keep_their_marks() {
    let script = Script::of(
        r#"
            module "m" { source = "./m" }
            output "o" {
              value     = module.m.s
              sensitive = true
            }
            output "whole" { value = module.m }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            output "s" {
              value     = "x"
              sensitive = true
            }
        "#,
    );
    expect![[r#"
        error main.tf:7 Output refers to sensitive values
        output o = sensitive "x" (declared sensitive)
    "#]]
    .assert_eq(&script.planned().await);
}

#[test]
fn backend_blocks_of_modules_are_ignored() {
    let script = Script::of(
        r#"
            module "m" { source = "./m" }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            terraform {
              backend "local" {}
            }
        "#,
    );
    expect![[r#"
        warning m/main.tf:3 Backend configuration ignored
    "#]]
    .assert_eq(&script.load_problems());
    let script = Script::of(
        r#"
            module "m" { source = "./m" }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            terraform {
              cloud {}
            }
        "#,
    );
    expect![[r#""#]].assert_eq(&script.load_problems());
}
