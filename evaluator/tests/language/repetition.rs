//! `count`, `for_each` and `enabled`.

use expect_test::expect;

use crate::harness::Script;

#[tokio::test(flavor = "multi_thread")]
async fn count_makes_numbered_instances() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              count = 2
              name  = "n${count.index}"
            }
            output "names" { value = test_thing.a[*].name }
        "#,
    );
    expect![[r#"
        output names = ["n0", "n1"]
        test_thing.a[0] {name = "n0"}
        test_thing.a[1] {name = "n1"}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn for_each_makes_an_instance_for_each_key() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              for_each = { x = 1, y = 2 }
              name     = "${each.key}=${each.value}"
            }
            resource "test_thing" "b" {
              for_each = toset(["s"])
              name     = each.value
            }
            output "names" { value = { for k, one in test_thing.a : k => one.name } }
        "#,
    );
    expect![[r#"
        output names = {x = "x=1", y = "y=2"}
        test_thing.a["x"] {name = "x=1"}
        test_thing.a["y"] {name = "y=2"}
        test_thing.b["s"] {name = "s"}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn enabled_decides_between_one_instance_and_none() {
    let script = Script::of(
        r#"
            variable "on" { default = true }
            resource "test_thing" "on" {
              lifecycle { enabled = var.on }
            }
            resource "test_thing" "off" {
              lifecycle { enabled = !var.on }
            }
            output "off" { value = test_thing.off }
        "#,
    );
    expect![[r#"
        output off = null
        test_thing.on {}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_is_a_whole_known_number() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" { count = -1 }
        "#,
    );
    expect![[r#"
        error main.tf:2 Invalid count argument
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            resource "test_thing" "a" { count = 1.5 }
        "#,
    );
    expect![[r#"
        error main.tf:2 Invalid count argument
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            resource "test_thing" "a" { count = "many" }
        "#,
    );
    expect![[r#"
        error main.tf:2 Incorrect value type
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            resource "test_thing" "a" { count = null }
        "#,
    );
    expect![[r#"
        error main.tf:2 Invalid count argument
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            resource "test_thing" "a" { count = 10000001 }
        "#,
    );
    expect![[r#"
        error main.tf:2 Invalid count argument
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            resource "test_thing" "z" {}
            resource "test_thing" "a" { count = test_thing.z.size }
        "#,
    );
    expect![[r#"
        error main.tf:3 Invalid count argument
        test_thing.z {}
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            variable "s" {
              default   = 1
              sensitive = true
            }
            resource "test_thing" "a" { count = var.s }
        "#,
    );
    expect![[r#"
        test_thing.a[0] {}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_for_each_is_a_map_or_a_set_of_known_strings() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" { for_each = ["x"] }
        "#,
    );
    expect![[r#"
        error main.tf:2 Invalid for_each argument
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            resource "test_thing" "a" { for_each = toset([1, 2]) }
        "#,
    );
    expect![[r#"
        error main.tf:2 Invalid for_each argument
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            resource "test_thing" "a" { for_each = null }
        "#,
    );
    expect![[r#"
        error main.tf:2 Invalid for_each argument
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            resource "test_thing" "a" { for_each = toset(["x", null]) }
        "#,
    );
    expect![[r#"
        error main.tf:2 Invalid for_each argument
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            resource "test_thing" "z" {}
            resource "test_thing" "a" { for_each = toset([test_thing.z.id]) }
        "#,
    );
    expect![[r#"
        error main.tf:3 Invalid for_each argument
        test_thing.z {}
    "#]]
    .assert_eq(&script.planned().await);
    // Unknown values under known keys are allowed.
    let script = Script::of(
        r#"
            resource "test_thing" "z" {}
            resource "test_thing" "a" {
              for_each = { k = test_thing.z.id }
              name     = each.value
            }
        "#,
    );
    expect![[r#"
        test_thing.a["k"] {name = ?}, needs test_thing.z
        test_thing.z {}
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            variable "s" {
              default   = { x = 1 }
              sensitive = true
            }
            resource "test_thing" "a" { for_each = var.s }
        "#,
    );
    expect![[r#"
        error main.tf:6 Invalid for_each argument
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn enabled_is_a_known_boolean() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              lifecycle { enabled = "maybe" }
            }
        "#,
    );
    expect![[r#"
        error main.tf:3 Invalid enabled argument
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            resource "test_thing" "z" {}
            resource "test_thing" "a" {
              lifecycle { enabled = test_thing.z.id == "" }
            }
        "#,
    );
    expect![[r#"
        error main.tf:4 Invalid enabled argument
        test_thing.z {}
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              lifecycle { enabled = null }
            }
        "#,
    );
    expect![[r#"
        error main.tf:3 Invalid enabled argument
    "#]]
    .assert_eq(&script.planned().await);
}

#[test]
fn only_one_repetition_is_allowed() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              count    = 1
              for_each = {}
            }
            resource "test_thing" "b" {
              count = 1
              lifecycle { enabled = true }
            }
            module "m" {
              source   = "./m"
              count    = 1
              for_each = {}
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"

        "#,
    );
    expect![[r#"
        error main.tf:3 Invalid combination of "count" and "for_each"
        error main.tf:7 Invalid combination of "count" and "enabled"
        error main.tf:12 Invalid combination of "count" and "for_each"
    "#]]
    .assert_eq(&script.load_problems());
}

#[tokio::test(flavor = "multi_thread")]
async fn modules_are_repeated_too() {
    let script = Script::of(
        r#"
            module "m" {
              source   = "./m"
              for_each = toset(["x", "y"])
              name     = each.key
            }
            output "ids" { value = { for k, m in module.m : k => m.name } }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            variable "name" {}
            resource "test_thing" "a" { name = var.name }
            output "name" { value = test_thing.a.name }
        "#,
    );
    expect![[r#"
        module.m["x"].test_thing.a {name = "x"}
        module.m["y"].test_thing.a {name = "y"}
        output ids = {x = "x", y = "y"}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn validation_expands_nothing() {
    let script = Script::of(
        r#"
            variable "n" { type = number }
            resource "test_thing" "a" {
              count = var.n
              name  = count.index
            }
            output "first" { value = test_thing.a[0].name }
        "#,
    );
    expect![[""]].assert_eq(&script.problems().await);
}
