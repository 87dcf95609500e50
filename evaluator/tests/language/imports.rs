//! `import`, `moved` and `removed` blocks.

use expect_test::expect;

use crate::harness::Script;

#[tokio::test(flavor = "multi_thread")]
async fn an_import_names_an_instance() {
    let script = Script::of(
        r#"
            import {
              to = test_thing.a
              id = "1"
            }
            import {
              for_each = { x = "2", y = "3" }
              to       = test_thing.many[each.key]
              id       = each.value
            }
            resource "test_thing" "a" {}
            resource "test_thing" "many" { for_each = toset(["x", "y"]) }
        "#,
    );
    expect![[r#"
        test_thing.a {}, import 1
        test_thing.many["x"] {}, import 2
        test_thing.many["y"] {}, import 3
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_needs_a_block() {
    let script = Script::of(
        r#"
            import {
              to = test_thing.missing
              id = "1"
            }
        "#,
    );
    expect![[r#"
        error main.tf:2 Configuration for import target does not exist
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            import {
              to = test_thing.a[5]
              id = "1"
            }
            resource "test_thing" "a" { count = 1 }
        "#,
    );
    expect![[r#"
        test_thing.a[0] {}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_a_known_public_string() {
    let script = Script::of(
        r#"
            resource "test_thing" "z" {}
            import {
              to = test_thing.a
              id = test_thing.z.id
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        error main.tf:5 Invalid import id argument
        test_thing.z {}
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            import {
              to = test_thing.a
              id = ""
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        test_thing.a {}
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            import {
              to = test_thing.a
              id = null
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        error main.tf:4 Invalid import id argument
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            variable "s" {
              default   = "1"
              sensitive = true
            }
            import {
              to = test_thing.a
              id = var.s
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        error main.tf:8 Invalid import id argument
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            import {
              to = test_thing.a
              id = test_thing.a.name
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        error main.tf:4 Invalid import id argument
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_imported_once() {
    let script = Script::of(
        r#"
            import {
              to = test_thing.a
              id = "1"
            }
            import {
              to = test_thing.a
              id = "2"
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        error main.tf:6 Duplicate import configuration for "test_thing.a"
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            import {
              for_each = toset(["1", "2"])
              to       = test_thing.a
              id       = each.key
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        error main.tf:2 Duplicate import configuration for "test_thing.a"
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_is_an_object() {
    let script = Script::of(
        r#"
            import {
              to       = test_thing.a
              identity = { name = "x" }
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        test_thing.a {}, import {name = "x"}
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            import {
              to       = test_thing.a
              identity = "x"
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        error main.tf:4 Incorrect value type
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            import {
              to       = test_thing.a
              identity = { name = null }
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        test_thing.a {}, import {}
    "#]]
    .assert_eq(&script.planned().await);
}

#[test]
fn an_import_has_one_source() {
    let script = Script::of(
        r#"
            import {
              to       = test_thing.a
              id       = "1"
              identity = { name = "x" }
            }
            import {
              to = data.test_look.d
              id = "1"
            }
            import {
              to       = test_thing.a
              id       = "1"
              provider = "test"
            }
        "#,
    );
    expect![[r#"
        error main.tf:4 Conflicting import arguments
        error main.tf:11 Duplicate import configuration for "test_thing.a"
        warning main.tf:14 Quoted references are deprecated
    "#]]
    .assert_eq(&script.load_problems());
}

#[test]
fn only_the_root_module_imports() {
    let script = Script::of(
        r#"
            module "m" { source = "./m" }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            import {
              to = test_thing.a
              id = "1"
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        error m/main.tf:2 Invalid import configuration
    "#]]
    .assert_eq(&script.load_problems());
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_blocks_contradict_declarations() {
    let script = Script::of(
        r#"
            removed {
              from = test_thing.a
            }
            resource "test_thing" "a" {}
        "#,
    );
    expect![[r#"
        error main.tf:2 Removed resource block still exists
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            removed {
              from = module.m
              lifecycle { destroy = false }
            }
            module "m" { source = "./m" }
        "#,
    )
    .file(
        "m/main.tf",
        r#"

        "#,
    );
    expect![[r#"
        error main.tf:2 Removed module block still exists
    "#]]
    .assert_eq(&script.planned().await);
    // Without a `lifecycle` block, the problem is only a warning.
    let script = Script::of(
        r#"
            removed {
              from = test_thing.a
            }
        "#,
    );
    expect![[""]].assert_eq(&script.planned().await);
}
