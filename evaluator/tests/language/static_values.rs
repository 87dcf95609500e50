//! Values before planning: sources, backends, encryption, keys of providers.

use expect_test::expect;

use crate::harness::Script;

#[test]
fn a_source_may_use_variables_and_locals() {
    let script = Script::of(
        r#"
            variable "dir" { type = string }
            locals { path = "./${var.dir}" }
            module "m" { source = local.path }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            resource "test_thing" "a" {}
        "#,
    )
    .given("dir", "m");
    expect![[""]].assert_eq(&script.load_problems());
}

#[test]
fn a_source_must_be_known_before_planning() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {}
            module "m" { source = test_thing.a.name }
            module "n" { source = "./${each.key}" }
            module "o" { source = module.m.x }
            module "p" { source = local.missing }
            module "q" { source = "./${uuid()}x" }
            module "r" { source = null }
            module "s" { source = provider::test::shout("x") }
        "#,
    );
    expect![[r#"
        error main.tf:3 Dynamic value in static context
        error main.tf:4 Dynamic value in static context
        error main.tf:5 Module output not supported in static context
        error main.tf:6 Undefined local
        error main.tf:8 Unsuitable value type
        error main.tf:9 Provider function in static context
    "#]]
    .assert_eq(&script.load_problems());
}

#[test]
fn a_cycle_of_static_values_is_an_error() {
    let script = Script::of(
        r#"
            locals {
              a = local.b
              b = local.a
            }
            module "m" { source = local.a }
        "#,
    );
    expect![[r#"
        error main.tf:3 Circular reference
        error main.tf:3 Unable to compute static value
        error main.tf:6 Unable to compute static value
    "#]]
    .assert_eq(&script.load_problems());
}

#[test]
fn a_constant_variable_is_known_to_its_caller() {
    let script = Script::of(
        r#"
            module "m" {
              source = "./m"
              dir    = "n"
            }
            module "o" {
              source = "./m"
              dir    = test_thing.a.name
            }
            resource "test_thing" "a" {}
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            variable "dir" {
              type  = string
              const = true
            }
            module "n" { source = "./${var.dir}" }
        "#,
    )
    .file(
        "m/n/main.tf",
        r#"

        "#,
    );
    expect![[r#"
        error m/main.tf:6 Unable to compute static value
        error main.tf:6 Unable to compute static value
        error main.tf:8 Dynamic value in static context
    "#]]
    .assert_eq(&script.load_problems());
}

#[test]
fn an_ephemeral_or_sensitive_source_is_an_error() {
    let script = Script::of(
        r#"
            variable "e" {
              default   = "./m"
              ephemeral = true
            }
            variable "s" {
              default   = "./m"
              sensitive = true
            }
            module "m" { source = var.e }
            module "n" { source = var.s }
        "#,
    )
    .file(
        "m/main.tf",
        r#"

        "#,
    );
    expect![[r#"
        error main.tf:10 Ephemeral value not allowed
        error main.tf:11 Sensitive value not allowed
    "#]]
    .assert_eq(&script.load_problems());
}

#[test]
fn a_backend_is_configured_by_static_values() {
    let script = Script::of(
        r#"
            variable "path" { default = "x" }
            terraform {
              backend "local" { path = var.path }
            }
            terraform {
              backend "local" {}
            }
            terraform {
              cloud {}
            }
        "#,
    );
    expect![[r#"
        error main.tf:4 Both a backend and a cloud configuration are present
        error main.tf:7 Duplicate backend configuration
    "#]]
    .assert_eq(&script.load_problems());
}

#[test]
fn the_required_version_must_fit() {
    let script = Script::of(
        r#"
            module "m" { source = "./m" }
        "#,
    )
    .file(
        "main.tofu",
        r#"
            terraform {
              required_version = ">= 99.0"
            }
            module "m" { source = "./m" }
        "#,
    )
    .file(
        "m/main.tofu",
        r#"
            terraform {
              required_version = "nonsense"
            }
        "#,
    );
    expect![[r#"
        error main.tofu:3 Incompatible module
    "#]]
    .assert_eq(&script.load_problems());
    let script = Script::of(
        r#"

        "#,
    )
    .file(
        "main.tofu",
        r#"
            terraform {
              required_version = var.v
            }
        "#,
    );
    expect![[r#"
        error main.tofu:3 Invalid version constraint
    "#]]
    .assert_eq(&script.load_problems());
}
