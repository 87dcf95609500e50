//! References: the names that they can refer to.

use expect_test::expect;

use crate::harness::Script;

#[tokio::test(flavor = "multi_thread")]
async fn undeclared_names_are_errors() {
    let script = Script::of(
        r#"
            output "a" { value = var.missing }
            output "b" { value = local.missing }
            output "c" { value = module.missing.x }
            output "d" { value = test_thing.missing.id }
            output "e" { value = data.test_look.missing.answer }
            output "f" { value = ephemeral.test_token.missing.token }
        "#,
    );
    expect![[r#"
        error main.tf:2 Reference to undeclared input variable
        error main.tf:3 Reference to undeclared local value
        error main.tf:4 Reference to undeclared module
        error main.tf:5 Reference to undeclared resource
        error main.tf:6 Reference to undeclared resource
        error main.tf:7 Reference to undeclared resource
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_and_count_exist_only_in_repeated_blocks() {
    let script = Script::of(
        r#"
            output "a" { value = count.index }
            output "b" { value = each.key }
            output "c" { value = self.id }
            resource "test_thing" "a" { name = each.value }
        "#,
    );
    expect![[r#"
        error main.tf:2 Reference to "count" in non-counted context
        error main.tf:3 Reference to "each" in context without for_each
        error main.tf:4 Invalid "self" reference
        error main.tf:5 each.value cannot be used in this context
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_attributes_are_errors() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {}
            resource "test_thing" "many" { count = 2 }
            output "a" { value = test_thing.a.size }
            output "b" { value = test_thing.a.colour }
            output "c" { value = test_thing.many.name }
            output "d" { value = test_thing.many[0].colour }
            output "e" { value = test_thing.a[0].name }
        "#,
    );
    expect![[r#"
        error main.tf:5 Unsupported attribute
        error main.tf:6 Missing resource instance key
        error main.tf:7 Unsupported attribute
        error main.tf:8 Unexpected resource instance key
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_outputs_of_a_module_are_errors() {
    let script = Script::of(
        r#"
            module "m" { source = "./m" }
            output "a" { value = module.m.b }
            output "b" { value = module.m.a }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            output "a" { value = 1 }
        "#,
    );
    expect![[r#"
        error main.tf:3 Unsupported attribute
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_cannot_refer_to_itself() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" { name = test_thing.a.id }
        "#,
    );
    expect![[r#"
        error main.tf:2 Self-referential block
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            resource "test_thing" "a" {
              count = 2
              name  = test_thing.a[0].id
            }
        "#,
    );
    expect![[r#"
        error main.tf:4 Self-referential block
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            locals { a = local.a }
        "#,
    );
    expect![[r#"
        error main.tf:2 Self-referencing local value
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn cycles_are_found_before_evaluation() {
    let script = Script::of(
        r#"
            locals {
              a = local.b
              b = test_thing.a.id
            }
            resource "test_thing" "a" { name = local.a }
        "#,
    );
    expect![[r#"
        error Cycle: local.a, local.b, test_thing.a
    "#]]
    .assert_eq(&script.problems().await);
    let script = Script::of(
        r#"
            module "m" {
              source = "./m"
              v      = module.m.o
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            variable "v" {}
            output "o" { value = var.v }
        "#,
    );
    expect![[r#"
        error Cycle: module.m.output.o, module.m.var.v
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn depends_on_names_whole_objects() {
    let script = Script::of(
        r#"
            resource "test_thing" "a" {}
            resource "test_thing" "b" {
              depends_on = [test_thing.a.id, test_thing.missing, "test_thing.a", local.x]
            }
        "#,
    );
    expect![[r#"
        error main.tf:4 Invalid depends_on reference
        warning main.tf:4 Quoted references are deprecated
    "#]]
    .assert_eq(&script.problems().await);
    let script = Script::of(
        r#"
            resource "test_thing" "b" { depends_on = [1 + 1] }
        "#,
    );
    expect![[r#"
        error main.tf:2 Invalid expression
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn path_terraform_and_workspace_are_known() {
    let script = Script::of(
        r#"
            output "workspace" { value = terraform.workspace }
            output "module" { value = path.module }
        "#,
    );
    expect![[r#"
        output module = "."
        output workspace = "default"
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_functions_are_errors() {
    let script = Script::of(
        r#"
            output "a" { value = provider::missing::shout("x") }
        "#,
    );
    expect![[r#"
        error main.tf:2 Unknown function provider
    "#]]
    .assert_eq(&script.problems().await);
    let script = Script::of(
        r#"
            terraform {
              required_providers { test = { source = "hashicorp/test" } }
            }
            output "a" { value = shout("x") }
            output "b" { value = provider::test::whisper("x") }
            output "c" { value = provider::test("x") }
        "#,
    );
    expect![[r#"
        error main.tf:5 Call to unknown function
        error main.tf:7 Unable to parse provider function
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_functions_are_called() {
    let script = Script::of(
        r#"
            terraform {
              required_providers { test = { source = "hashicorp/test" } }
            }
            output "a" { value = provider::test::shout("x") }
            output "b" { value = provider::test::shout("") }
        "#,
    );
    expect![[r#"
        error main.tf:6 Invalid function argument
        output a = "X"
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn problems_suggest_similar_names() {
    let script = Script::of(
        r#"
            variable "region" { default = "eu" }
            output "a" { value = var.regoin }
        "#,
    )
    .with_details();
    expect![[r#"
        error main.tf:3 Reference to undeclared input variable
          No input variable named "regoin" is declared in the root module. Did you mean "region"?
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reserved_name_is_not_a_resource() {
    let script = Script::of(
        r#"
            output "a" { value = template.x }
            output "b" { value = lazy.x }
            output "c" { value = arg.x }
        "#,
    );
    expect![[r#"
        error main.tf:2 Reserved symbol name
        error main.tf:3 Reserved symbol name
        error main.tf:4 Reserved symbol name
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_names_of_path_and_terraform_are_errors() {
    let script = Script::of(
        r#"
            output "a" { value = terraform.version }
            output "b" { value = path.here }
        "#,
    );
    expect![[r#"
        error main.tf:2 Invalid "terraform" attribute
        error main.tf:3 Invalid "path" attribute
    "#]]
    .assert_eq(&script.problems().await);
}
