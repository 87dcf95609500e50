//! Root variables and variables of modules: types, defaults, validation, given values.

use expect_test::expect;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::harness::Script;

#[tokio::test(flavor = "multi_thread")]
async fn a_given_value_is_converted_to_the_type() {
    let script = Script::of(
        r#"
            variable "n" { type = number }
            variable "o" {
              type = object({ a = string, b = optional(number, 3) })
            }
            output "n" { value = var.n }
            output "o" { value = var.o }
        "#,
    )
    .given("n", "12")
    .given("o", Value::object([("a", Value::int(1))]));
    expect![[r#"
        output n = 12
        output o = {a = "1", b = 3}
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_another_type_is_an_error() {
    let script = Script::of(
        r#"
            variable "n" { type = number }
            output "n" { value = var.n }
        "#,
    )
    .given("n", "twelve");
    expect![[r#"
        error main.tf:2 Invalid value for input variable
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variable_without_a_value_is_an_error() {
    let script = Script::of(
        r#"
            variable "n" { type = number }
            output "n" { value = var.n }
        "#,
    );
    expect![[r#"
        error main.tf:2 No value for required variable
    "#]]
    .assert_eq(&script.planned().await);
}

#[test]
fn a_default_follows_the_type() {
    let script = Script::of(
        r#"
            variable "n" {
              type    = number
              default = "many"
            }
        "#,
    );
    expect![[r#"
        error main.tf:4 Invalid default value for variable
    "#]]
    .assert_eq(&script.load_problems());
}

#[tokio::test(flavor = "multi_thread")]
async fn null_is_refused_where_it_is_not_allowed() {
    let script = Script::of(
        r#"
            variable "n" {
              type     = number
              nullable = false
            }
            output "n" { value = var.n }
        "#,
    )
    .given("n", Value::null(Type::Number));
    expect![[r#"
        error main.tf:2 Required variable not set
    "#]]
    .assert_eq(&script.planned().await);
    // If the variable has a default, null is replaced by the default.
    let script = Script::of(
        r#"
            variable "n" {
              default  = 5
              nullable = false
            }
            output "n" { value = var.n }
        "#,
    )
    .given("n", Value::null(Type::Number));
    expect![[r#"
        output n = 5
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn validations_are_conditions_on_the_value() {
    let script = Script::of(
        r#"
            variable "n" {
              type = number
              validation {
                condition     = var.n > 1
                error_message = "n is ${var.n}, not more than 1."
              }
              validation {
                condition     = var.n < 10
                error_message = "too many"
              }
            }
        "#,
    )
    .given("n", Value::int(1));
    expect![[r#"
        error main.tf:2 Invalid value for variable
        checked var.n: fail "n is 1, not more than 1."
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            variable "n" {
              type = number
              validation {
                condition     = var.n > 1
                error_message = "n is ${var.n}."
              }
            }
        "#,
    )
    .given("n", Value::int(2));
    expect![[r#"
        checked var.n: pass
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_validation_must_use_the_variable() {
    let script = Script::of(
        r#"
            variable "n" {
              default = 1
              validation {
                condition     = 1 < 2
                error_message = "no"
              }
            }
        "#,
    );
    expect![[r#"
        error main.tf:5 Invalid validation expression
        error main.tf:5 Invalid variable validation condition
    "#]]
    .assert_eq(&script.problems().await);
    let script = Script::of(
        r#"
            variable "m" { default = 1 }
            variable "n" {
              default = 1
              validation {
                condition     = var.m < 2
                error_message = "no"
              }
            }
        "#,
    );
    expect![[r#"
        error main.tf:6 Invalid variable validation condition
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn sensitive_values_are_marked() {
    let script = Script::of(
        r#"
            variable "s" {
              default   = "x"
              sensitive = true
            }
            output "open" { value = var.s }
        "#,
    );
    expect![[r#"
        error main.tf:6 Output refers to sensitive values
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            variable "s" {
              default   = "x"
              sensitive = true
            }
            output "hidden" {
              value     = var.s
              sensitive = true
            }
        "#,
    );
    expect![[r#"
        output hidden = sensitive "x" (declared sensitive)
    "#]]
    .assert_eq(&script.planned().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_must_be_given_its_required_variables() {
    let script = Script::of(
        r#"
            module "m" { source = "./m" }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            variable "n" {}
        "#,
    );
    expect![[r#"
        error main.tf:2 Missing required argument
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_refuses_unknown_arguments() {
    let script = Script::of(
        r#"
            module "m" {
              source = "./m"
              n      = 1
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"

        "#,
    );
    expect![[r#"
        error main.tf:4 Unsupported argument
    "#]]
    .assert_eq(&script.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_argument_of_a_module_is_converted() {
    let script = Script::of(
        r#"
            module "m" {
              source = "./m"
              n      = "4"
            }
            output "n" { value = module.m.n }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            variable "n" { type = number }
            output "n" { value = var.n }
        "#,
    );
    expect![[r#"
        output n = 4
    "#]]
    .assert_eq(&script.planned().await);
    let script = Script::of(
        r#"
            module "m" {
              source = "./m"
              n      = "four"
            }
        "#,
    )
    .file(
        "m/main.tf",
        r#"
            variable "n" { type = number }
        "#,
    );
    expect![[r#"
        error m/main.tf:2 Invalid value for input variable
    "#]]
    .assert_eq(&script.planned().await);
}

#[test]
fn names_and_types_of_variables_are_checked() {
    let script = Script::of(
        r#"
            variable "count" {}
            variable "t" { type = strin }
            variable "u" { type = object({ a = string, a = number }) }
            variable "v" {
              default = 1
              default = 2
            }
            variable "w" {
              default = var.v
            }
            variable "x" { ephemeral = "maybe" }
            variable "x" {}
        "#,
    );
    expect![[r#"
        error main.tf:2 Invalid variable name
        error main.tf:3 Invalid type specification
        error main.tf:4 Invalid type specification
        error main.tf:7 Attribute redefined
        error main.tf:10 Variables not allowed
        error main.tf:12 Unsuitable value type
        error main.tf:13 Duplicate variable declaration
    "#]]
    .assert_eq(&script.load_problems());
}
