//! `prevent_destroy`.

use expect_test::expect;

use crate::harness::{Case, bare, object};

fn protected(rest: &str) -> String {
    format!("resource \"test_thing\" \"a\" {{\n {rest}\n lifecycle {{\n prevent_destroy = true\n}}\n}}\n")
}

fn stored() -> crate::harness::Object {
    object("test_thing.a", r#"{"id": "1", "kind": "old", "name": "x"}"#)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_protected_object_is_updated() {
    let case = Case::of(&protected("kind = \"old\"\n name = \"y\"")).stored(stored());
    expect![[r#"
        update test_thing.a
          name: "x" -> "y"
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_protected_object_is_not_replaced() {
    let case = Case::of(&protected("kind = \"new\"")).stored(stored());
    expect![[r#"
        error main.tf:1 Resource instance cannot be destroyed
        delete+create test_thing.a, replace_because_cannot_update
          id: "1" -> ?
          kind: "old" -> "new" # forces replacement
          name: "x" -> null
          secret: sensitive null -> null
          size: null -> ?
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_protected_object_is_not_destroyed() {
    expect![[r#"
        error main.tf:1 Resource instance cannot be destroyed
        delete test_thing.a
    "#]]
    .assert_eq(&Case::of(&protected("kind = \"old\"")).stored(stored()).destroy().shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_surplus_instance_is_protected_too() {
    let case = Case::of(
        "resource \"terraform_data\" \"a\" {\n count = 1\n lifecycle {\n prevent_destroy = true\n}\n}\n\
         resource \"terraform_data\" \"reader\" {\n input = length(terraform_data.a)\n}\n",
    );
    let case = case.stored(bare("terraform_data.a[0]", "1")).stored(bare("terraform_data.a[1]", "2"));
    // Readers of the resource are not planned.
    expect![[r#"
        error main.tf:1 Resource instance cannot be destroyed
        no-op terraform_data.a[0]
        delete terraform_data.a[1], delete_because_count_index
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_of_a_vanished_module_instance_is_protected() {
    let case = Case::of("module \"m\" {\n source = \"./m\"\n count = 0\n}\n")
        .file("m/main.tf", "resource \"terraform_data\" \"a\" {\n lifecycle {\n prevent_destroy = true\n}\n}\n")
        .stored(bare("module.m[0].terraform_data.a", "1"));
    expect![[r#"
        error m/main.tf:1 Resource instance cannot be destroyed
        delete module.m[0].terraform_data.a, delete_because_no_module
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_block_lifts_the_protection() {
    expect![[r#"
        delete test_thing.a, delete_because_no_resource_config
    "#]]
    .assert_eq(&Case::of("").stored(stored()).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_is_not_a_boolean_is_an_error() {
    let case = |value: &str| {
        Case::of(&format!(
            "resource \"terraform_data\" \"z\" {{}}\nvariable \"s\" {{\n default = true\n sensitive = true\n}}\n\
             resource \"terraform_data\" \"a\" {{\n count = 1\n lifecycle {{\n prevent_destroy = {value}\n}}\n}}\n"
        ))
        .stored(bare("terraform_data.a[0]", "1"))
    };
    expect![[r#"
        error main.tf:9 Invalid value for prevent_destroy
    "#]]
    .assert_eq(&case("\"maybe\"").problems().await);
    expect![[r#"
        error main.tf:9 Invalid value for prevent_destroy
    "#]]
    .assert_eq(&case("var.s").problems().await);
    expect![[r#"
        error main.tf:9 Invalid reference in prevent_destroy
    "#]]
    .assert_eq(&case("count.index == 0").problems().await);
    // An unknown value matters only if something is destroyed.
    expect![[""]].assert_eq(&case("terraform_data.z.id == \"\"").problems().await);
    expect![[r#"
        error main.tf:9 Invalid value for prevent_destroy
    "#]]
    .assert_eq(&case("terraform_data.z.id == \"\"").replace("terraform_data.a[0]").problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destroy_plan_keeps_what_a_protected_object_needs() {
    let case = Case::of(
        "resource \"terraform_data\" \"a\" {}\n\
         resource \"terraform_data\" \"b\" {\n input = terraform_data.a.id\n lifecycle {\n prevent_destroy = true\n}\n}\n\
         resource \"terraform_data\" \"c\" {\n input = terraform_data.b.id\n}\n",
    );
    let case = case
        .stored(bare("terraform_data.a", "1"))
        .stored(bare("terraform_data.b", "2").needs(&["terraform_data.a"]))
        .stored(bare("terraform_data.c", "3").needs(&["terraform_data.a", "terraform_data.b"]));
    expect![[r#"
        error main.tf:2 Resource instance cannot be destroyed
        delete terraform_data.b
        delete terraform_data.c
    "#]]
    .assert_eq(&case.destroy().shown().await);
}
