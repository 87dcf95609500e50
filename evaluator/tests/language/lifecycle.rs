//! `lifecycle` blocks: what they accept, and their effect on evaluation.

use expect_test::expect;

use crate::harness::Script;

#[tokio::test(flavor = "multi_thread")]
async fn ignore_changes_names_attributes() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              lifecycle { ignore_changes = [id, name, colour, tags["k"], "kind", id] }
            }
        "#,
    );
    expect![[r#"
        warning main.tf:2 Redundant ignore_changes element
        error main.tf:3 Unsupported attribute
        warning main.tf:3 Quoted references are deprecated
    "#]]
    .assert_eq(&script.problems().await);
    let script = Script::of(
        r#"
            resource "test_thing" "b" {
              lifecycle { ignore_changes = [name[1], self.x, 1] }
            }
            resource "test_thing" "c" {
              lifecycle { ignore_changes = "all" }
            }
        "#,
    );
    expect![[r#"
        error main.tf:3 Invalid expression
        error main.tf:6 Invalid expression
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn triggers_name_managed_resources() {
    let script = Script::of(
        r#"
            locals { x = 1 }
            resource "test_thing" "a" {
              lifecycle { replace_triggered_by = [local.x] }
            }
        "#,
    );
    expect![[r#"
        error main.tf:4 Invalid reference in replace_triggered_by expression
        error main.tf:4 Invalid replace_triggered_by expression
    "#]]
    .assert_eq(&script.problems().await);
    let script = Script::of(
        r#"
            resource "test_thing" "z" {}
            resource "test_thing" "b" {
              lifecycle { replace_triggered_by = [test_thing.missing] }
            }
            resource "test_thing" "c" {
              lifecycle { replace_triggered_by = [test_thing.z["a"].name, test_thing.z.colour] }
            }
            resource "test_thing" "f" {
              lifecycle { replace_triggered_by = [test_thing.f] }
            }
        "#,
    );
    expect![[r#"
        error main.tf:4 Undeclared resource in replace_triggered_by
        error main.tf:7 Unsupported attribute
    "#]]
    .assert_eq(&script.problems().await);
    let script = Script::of(
        r#"
            resource "test_thing" "z" {}
            resource "test_thing" "e" {
              lifecycle { replace_triggered_by = test_thing.z }
            }
        "#,
    );
    expect![[r#"
        error main.tf:4 Invalid expression
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn triggers_have_keys_that_instances_can_have() {
    let script = Script::of(
        r#"
            resource "test_thing" "z" { count = 2 }
            resource "test_thing" "whole" {
              lifecycle { replace_triggered_by = [test_thing.z[1.0]] }
            }
            resource "test_thing" "half" {
              lifecycle { replace_triggered_by = [test_thing.z[0.5]] }
            }
            resource "test_thing" "null" {
              lifecycle { replace_triggered_by = [test_thing.z[null]] }
            }
            resource "test_thing" "word" {
              lifecycle { replace_triggered_by = [test_thing.z[true]] }
            }
            resource "test_thing" "own" {
              lifecycle { replace_triggered_by = [self[0].name] }
            }
        "#,
    );
    expect![[r#"
        error main.tf:7 Invalid index key
        error main.tf:10 Invalid index key
        error main.tf:13 Invalid index key
        error main.tf:16 Invalid reference in replace_triggered_by expression
        error main.tf:16 Invalid replace_triggered_by expression
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn triggers_are_evaluated_for_each_instance() {
    let script = Script::of(
        r#"
            resource "test_thing" "z" { count = 2 }
            resource "test_thing" "a" {
              count = 2
              lifecycle { replace_triggered_by = [test_thing.z[count.index].name] }
            }
            resource "test_thing" "b" {
              lifecycle { replace_triggered_by = [test_thing.z] }
            }
        "#,
    );
    expect![[r#"
        test_thing.a[0] {}, needs test_thing.z, triggered by test_thing.z[0].name
        test_thing.a[1] {}, needs test_thing.z, triggered by test_thing.z[1].name
        test_thing.b {}, needs test_thing.z, triggered by test_thing.z
        test_thing.z[0] {}
        test_thing.z[1] {}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn create_before_destroy_applies_to_all_dependencies() {
    let script = Script::of(
        r#"
            data "test_look" "d" { name = "x" }
            resource "test_thing" "a" { name = data.test_look.d.answer }
            resource "test_thing" "b" { name = test_thing.a.id }
            resource "test_thing" "c" {
              name = test_thing.b.id
              lifecycle { create_before_destroy = true }
            }
            resource "test_thing" "d" { name = test_thing.c.id }
        "#,
    );
    expect![[r#"
        data.test_look.d {name = "x"}, create first
        test_thing.a {name = "answer to x"}, needs data.test_look.d, create first
        test_thing.b {name = ?}, needs data.test_look.d test_thing.a, create first
        test_thing.c {name = ?}, needs data.test_look.d test_thing.a test_thing.b
        test_thing.d {name = ?}, needs data.test_look.d test_thing.a test_thing.b test_thing.c
    "#]]
    .assert_eq(&script.planned().await);
}

#[test]
fn the_values_of_flags_are_constants() {
    let script = Script::of(
        r#"
            variable "v" { default = true }
            resource "test_thing" "a" {
              lifecycle { create_before_destroy = var.v }
            }
            resource "test_thing" "b" {
              lifecycle { destroy = var.v }
            }
            resource "test_thing" "c" {
              lifecycle { create_before_destroy = "maybe" }
            }
            resource "test_thing" "d" {
              lifecycle {}
              lifecycle {}
            }
            resource "test_thing" "e" {
              lifecycle { forever = true }
            }
            data "test_look" "f" {
              name = "x"
              lifecycle { create_before_destroy = true }
            }
        "#,
    );
    expect![[r#"
        error main.tf:4 Variables not allowed
        error main.tf:10 Unsuitable value type
        error main.tf:14 Duplicate lifecycle block
        error main.tf:17 Unsupported argument
        error main.tf:21 Invalid data resource lifecycle argument
    "#]]
    .assert_eq(&script.load_problems());
}

#[tokio::test(flavor = "multi_thread")]
async fn prevent_destroy_is_evaluated() {
    let script = Script::of(
        r#"
            variable "v" { default = true }
            resource "test_thing" "a" {
              lifecycle { prevent_destroy = var.v }
            }
            resource "test_thing" "b" {
              count = 1
              lifecycle { prevent_destroy = count.index == 0 }
            }
        "#,
    );
    expect![[r#"
        protection of test_thing.a: true
        protection of test_thing.b: null
        test_thing.a {}
        test_thing.b[0] {}
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              lifecycle { prevent_destroy = test_thing.a.name == "x" }
            }
        "#,
    );
    expect![[r#"
        error main.tf:3 Self-referential block
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn provisioners_have_schemas() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              provisioner "local-exec" {}
            }
            resource "test_thing" "b" {
              provisioner "local-exec" {
                command = "x"
                colour  = "red"
              }
            }
            resource "test_thing" "e" {
              provisioner "file" {
                source      = "a"
                destination = "b"
                connection {
                  host   = self.name
                  colour = "red"
                }
              }
            }
        "#,
    );
    expect![[r#"
        error Invalid local-exec provisioner command
        error main.tf:3 Missing required argument
        error main.tf:8 Unsupported argument
        error main.tf:17 Unsupported argument
    "#]]
    .assert_eq(&script.problems().await);
    let script = Script::of(
        r#"
            resource "test_thing" "c" {
              provisioner "nothing" {}
            }
        "#,
    );
    expect![[r#"
        error Missing required provisioner plugin
    "#]]
    .assert_eq(&script.problems().await);
    let script = Script::of(
        r#"
            resource "test_thing" "f" {
              provisioner "local-exec" {
                command    = "x"
                on_failure = explode
              }
            }
        "#,
    );
    expect![[r#"
        error main.tf:5 Invalid "on_failure" keyword
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn provisioners_run_for_created_instances() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              name = "x"
              provisioner "local-exec" { command = "echo ${self.name}" }
              provisioner "local-exec" {
                when    = destroy
                command = "echo ${self.name}"
              }
            }
        "#,
    );
    expect![[r#"
        provision test_thing.a local-exec {command = "echo x"}
        test_thing.a {name = "x"}
    "#]]
    .assert_eq(&script.planned().await);
}

/// In a provisioner, the name of the resource means the new object, like `self`. OpenTofu has a cycle if there are
/// several instances, or several such references.
#[tokio::test(flavor = "multi_thread")]
async fn provisioners_can_name_their_own_resource_if_it_has_one_instance() {
    let of = |repetition: &str, name: &str| {
        Script::of(&format!(
            r#"
            resource "test_thing" "a" {{
              name = "x"
              {repetition}
              provisioner "local-exec" {{ command = {name}.name }}
            }}
            "#
        ))
    };
    for (repetition, name) in [
        ("", "test_thing.a"),
        ("count = 1", "test_thing.a[0]"),
        ("count = 1", "test_thing.a[count.index]"),
        ("for_each = { k = 1 }", "test_thing.a[\"k\"]"),
        ("lifecycle { enabled = true }", "test_thing.a"),
    ] {
        let script = of(repetition, name);
        assert_eq!(script.problems().await, "");
        let planned = script.planned().await;
        assert!(!planned.contains("error"), "{repetition}: {planned}");
    }
    let script = of("count = 2", "test_thing.a[0]");
    assert_eq!(script.problems().await, "");
    expect![[r#"
        error main.tf:5 Self-referential block
    "#]]
    .assert_eq(&script.planned().await);
}
