//! Outputs and conditions.

use expect_test::expect;
use weft_graph_format::value::Value;
use weft_planner::PlanKind;

use crate::harness::{Case, bare};

#[tokio::test(flavor = "multi_thread")]
async fn outputs_are_created_updated_and_deleted() {
    let case = Case::of(
        r#"
        resource "terraform_data" "a" {}
        output "same" { value = 1 }
        output "new" { value = 2 }
        output "other" { value = "3" }
        output "unknown" { value = terraform_data.a.id }
        output "hidden" {
          value     = 4
          sensitive = true
        }
        output "nothing" { value = null }
        "#,
    )
    .stored_output("same", "1", "\"number\"", false)
    .stored_output("other", "3", "\"number\"", false)
    .stored_output("hidden", "4", "\"number\"", false)
    .stored_output("gone", "5", "\"number\"", false);
    expect![[r#"
        create terraform_data.a
          id: null -> ?
        delete output gone: 5 -> null
        update output hidden: 4 -> sensitive 4
        create output new: null -> 2
        no-op output nothing: null -> null
        update output other: 3 -> "3"
        no-op output same: 1 -> 1
        create output unknown: null -> ?
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_alone_makes_a_plan_applyable() {
    let planned = Case::of("output \"o\" {\n value = 1\n}\n").planned().await;
    assert!(planned.applyable);
    assert_eq!(planned.claims.iter().map(|claim| claim.subject.to_string()).collect::<Vec<_>>(), ["output.o"]);
}

/// The statuses of all conditions.
async fn checks(case: Case) -> String {
    let outcome = case.plan().await;
    let mut text = crate::harness::problems(&outcome.diagnostics);
    for check in outcome.planned.map(|planned| planned.checks).unwrap_or_default() {
        let again = if check.again { ", again at apply" } else { "" };
        text.push_str(&format!("{}: {} {:?}{again}\n", check.address, check.status.word(), check.messages));
    }
    text
}

const CONDITIONS: &str = r#"
    variable "v" {
      type = number
      validation {
        condition     = var.v > 0
        error_message = "v is ${var.v}"
      }
    }
    resource "terraform_data" "a" {
      count = 2
      input = var.v
      lifecycle {
        precondition {
          condition     = var.v < 10
          error_message = "a is ${var.v}"
        }
        postcondition {
          condition     = self.id != ""
          error_message = "no id"
        }
      }
    }
    output "o" {
      value = 1
      precondition {
        condition     = var.v != 5
        error_message = "o is ${var.v}"
      }
    }
    check "c" {
      assert {
        condition     = var.v != 6
        error_message = "c is ${var.v}"
      }
    }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn each_condition_has_its_result() {
    let with = |v: i64| Case::of(CONDITIONS).given("v", Value::int(v));
    expect![[r#"
        terraform_data.a[0]: unknown [], again at apply
        terraform_data.a[1]: unknown [], again at apply
        output.o: pass [], again at apply
        check.c: pass [], again at apply
        var.v: pass [], again at apply
    "#]]
    .assert_eq(&checks(with(1)).await);
    expect![[r#"
        error main.tf:2 Invalid value for variable
        terraform_data.a: unknown [], again at apply
        output.o: unknown [], again at apply
        check.c: unknown [], again at apply
        var.v: fail ["v is 0"], again at apply
    "#]]
    .assert_eq(&checks(with(0)).await);
    expect![[r#"
        error main.tf:26 Module output value precondition failed
        terraform_data.a[0]: unknown [], again at apply
        terraform_data.a[1]: unknown [], again at apply
        output.o: fail ["o is 5"], again at apply
        check.c: pass [], again at apply
        var.v: pass [], again at apply
    "#]]
    .assert_eq(&checks(with(5)).await);
    expect![[r#"
        warning main.tf:32 Check block assertion failed
        terraform_data.a[0]: unknown [], again at apply
        terraform_data.a[1]: unknown [], again at apply
        output.o: pass [], again at apply
        check.c: fail ["c is 6"], again at apply
        var.v: pass [], again at apply
    "#]]
    .assert_eq(&checks(with(6)).await);
    expect![[r#"
        error main.tf:14 Resource precondition failed
        error main.tf:14 Resource precondition failed
        terraform_data.a[0]: fail ["a is 11"], again at apply
        terraform_data.a[1]: fail ["a is 11"], again at apply
        output.o: pass [], again at apply
        check.c: pass [], again at apply
        var.v: pass [], again at apply
    "#]]
    .assert_eq(&checks(with(11)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_are_warnings_where_nothing_is_created() {
    let case = || {
        let case = Case::of(CONDITIONS).given("v", Value::int(11)).stored(bare("terraform_data.a[0]", "1"));
        case.stored(bare("terraform_data.a[1]", "2"))
    };
    expect![[r#"
        warning main.tf:14 Resource precondition failed
        warning main.tf:14 Resource precondition failed
        terraform_data.a[0]: fail ["a is 11"], again at apply
        terraform_data.a[1]: fail ["a is 11"], again at apply
        output.o: pass [], again at apply
        check.c: pass [], again at apply
        var.v: pass [], again at apply
    "#]]
    .assert_eq(&checks(case().kind(PlanKind::RefreshOnly)).await);
    expect![[r#"
        terraform_data.a: unknown [], again at apply
        output.o: unknown []
        check.c: unknown [], again at apply
        var.v: unknown [], again at apply
    "#]]
    .assert_eq(&checks(case().destroy()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_outside_the_selection_are_not_reached() {
    let main = format!("{CONDITIONS}resource \"terraform_data\" \"z\" {{}}\n");
    let case = Case::of(&main).given("v", Value::int(1)).target(&["terraform_data.z"]);
    expect![[r#"
        warning Resource targeting is in effect
        terraform_data.a: unknown [], again at apply
        output.o: unknown [], again at apply
        check.c: unknown [], again at apply
        var.v: unknown [], again at apply
    "#]]
    .assert_eq(&checks(case).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_without_instances_has_nothing_to_check() {
    let main = CONDITIONS.replace("count = 2", "count = 0");
    expect![[r#"
        terraform_data.a: pass [], again at apply
        output.o: pass [], again at apply
        check.c: pass [], again at apply
        var.v: pass [], again at apply
    "#]]
    .assert_eq(&checks(Case::of(&main).given("v", Value::int(1))).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_given_value_of_a_deprecated_variable_is_a_warning() {
    let main = "variable \"v\" {\n default = 1\n deprecated = \"use w\"\n}\n";
    expect![[r#"
        warning main.tf:1 Deprecated variable used from the root module
    "#]]
    .assert_eq(&Case::of(main).given("v", Value::int(2)).problems().await);
    expect![[""]].assert_eq(&Case::of(main).problems().await);
}
