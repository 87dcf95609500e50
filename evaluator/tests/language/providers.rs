//! Provider blocks, requirements, and configurations that are passed to modules.

use expect_test::expect;

use crate::harness::Script;

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_follows_the_schema() {
    let script = Script::of(
        r#"
            provider "test" {
              region = ["eu"]
              colour = "red"
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        error main.tf:3 Incorrect attribute value type
        error main.tf:4 Unsupported argument
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_evaluated() {
    let script = Script::of(
        r#"
            variable "region" { default = "eu" }
            provider "test" { region = var.region }
            provider "test" {
              alias  = "us"
              region = "us"
            }
            resource "test_thing" "a" {}
            resource "test_thing" "b" { provider = test.us }
        "#,
    );
    expect![[r#"
        provider test {region = "eu"}
        provider test.us {region = "us"}
        test_thing.a {}
        test_thing.b {}, provider test.us
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_inherits_and_is_passed_configurations() {
    let script = Script::of(
        r#"
            provider "test" { region = "eu" }
            provider "test" {
              alias  = "us"
              region = "us"
            }
            module "inherits" { source = "./m" }
            module "passed" {
              source    = "./m"
              providers = { test = test.us }
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        module.inherits.test_thing.a {}
        module.passed.test_thing.a {}, provider test.us
        provider test {region = "eu"}
        provider test.us {region = "us"}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_is_chosen_by_key() {
    let script = Script::of(
        r#"
            provider "test" {
              alias    = "by"
              for_each = { x = "eu", y = "us" }
              region   = each.value
            }
            resource "test_thing" "a" {
              for_each = toset(["x", "y"])
              provider = test.by[each.key]
            }
        "#,
    );
    expect![[r#"
        provider test.by["x"] {region = "eu"}
        provider test.by["y"] {region = "us"}
        test_thing.a["x"] {}, provider test.by["x"]
        test_thing.a["y"] {}, provider test.by["y"]
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            provider "test" {
              alias    = "by"
              for_each = toset(["x"])
            }
            resource "test_thing" "a" { provider = test.by["z"] }
        "#,
    );
    expect![[r#"
        error Provider instance not present
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_required_exactly_where_there_are_keys() {
    let script = Script::of(
        r#"
            provider "test" {
              alias    = "by"
              for_each = toset(["x"])
            }
            provider "test" { alias = "one" }
            resource "test_thing" "a" { provider = test.by }
            resource "test_thing" "b" { provider = test.one["x"] }
        "#,
    );
    expect![[r#"
        error main.tf:7 Invalid resource provider configuration
        error main.tf:8 Invalid resource provider configuration
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_is_missing_is_an_error() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" { provider = test.missing }
        "#,
    );
    expect![[r#"
        error Provider configuration not present
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            module "m" {
              source    = "./m"
              providers = { test.x = test.missing }
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            terraform {
              required_providers {
                test = {
                  source                = "hashicorp/test"
                  configuration_aliases = [test.x]
                }
              }
            }
            resource "test_thing" "a" { provider = test.x }
        "#,
    );
    expect![[r#"
        error missing provider provider["registry.opentofu.org/hashicorp/test"].missing
    "#]]
    .assert_eq(&script.planned().await);
}

#[test]
fn required_aliases_must_be_passed() {
    let script = Script::of(
        r#"
            module "m" { source = "./m" }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            terraform {
              required_providers {
                test = {
                  source                = "hashicorp/test"
                  configuration_aliases = [test.x]
                }
              }
            }
            resource "test_thing" "a" { provider = test.x }
        "#,
    );
    expect![[r#"
        error main.tf:2 Missing required provider configuration
    "#]]
    .assert_eq(&script.load_problems());
}

#[test]
fn providers_of_different_sources_do_not_fit() {
    let script = Script::of(
        r#"
            provider "test" {}
            module "m" {
              source    = "./m"
              providers = { test = test }
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            terraform {
              required_providers { test = { source = "other/test" } }
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        error main.tf:5 Provider type mismatch
        warning main.tf:5 Reference to undefined provider
    "#]]
    .assert_eq(&script.load_problems());
}

#[test]
fn blocks_of_providers_are_unique() {
    let script = Script::of(
        r#"
            provider "test" {}
            provider "test" { region = "x" }
            provider "test" { alias = "a" }
            provider "test" { alias = "a" }
            provider "test" { alias = "1" }
            provider "test" { for_each = toset(["x"]) }
            provider "1" {}
            terraform {
              required_providers { test = { source = "hashicorp/test" } }
            }
            terraform {
              required_providers {
                test  = { source = "hashicorp/test" }
                other = { source = "hashicorp/test" }
                third = { version = "nonsense" }
                more  = { colour = "red" }
              }
            }
        "#,
    );
    expect![[r#"
        error Invalid provider configuration alias
        error main.tf:3 Duplicate provider configuration
        error main.tf:5 Duplicate provider configuration
        error main.tf:7 Duplicate provider configuration
        error main.tf:7 Alias required when using "for_each"
        error main.tf:13 Duplicate required providers configuration
        error main.tf:16 Invalid version constraint
        error main.tf:17 Invalid required_providers object
    "#]]
    .assert_eq(&script.load_problems());
}

#[test]
fn a_passed_name_is_given_once() {
    let script = Script::of(
        r#"
            provider "test" {}
            module "m" {
              source    = "./m"
              providers = { test = test, test = test }
            }
            module "n" {
              source    = "./m"
              providers = { test = 5 }
            }
            module "o" {
              source    = "./m"
              providers = [test]
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        error main.tf:5 Duplicate provider address
        error main.tf:9 Invalid provider configuration reference
        error main.tf:13 Invalid expression
    "#]]
    .assert_eq(&script.load_problems());
}
