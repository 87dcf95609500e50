//! The rules for responses of providers, and the requests to them.

use expect_test::expect;

use crate::harness::{Case, object};

fn named(name: &str) -> Case {
    Case::of(&format!("resource \"test_thing\" \"a\" {{\n name = \"{name}\"\n}}\n"))
}

#[tokio::test(flavor = "multi_thread")]
async fn diagnostics_of_a_provider_have_the_place_of_the_attribute() {
    expect![[r#"
        error main.tf:2 Refused by the provider (test_thing.a)
    "#]]
    .assert_eq(&named("refused").shown().await);
    expect![[r#"
        warning main.tf:2 Doubted by the provider (test_thing.a)
        create test_thing.a
          id: null -> ?
          name: null -> "doubted"
          secret: null -> sensitive null
          size: null -> ?
    "#]]
    .assert_eq(&named("doubted").shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_refuses_a_configuration_before_anything_is_planned() {
    let case = Case::of("resource \"test_thing\" \"a\" {\n kind = \"refused\"\n}\nresource \"test_thing\" \"b\" {}\n");
    expect![[r#"
        error main.tf:1 Refused by the provider (test_thing.a)
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_changes_a_configured_value_is_invalid() {
    expect![[r#"
        error main.tf:1 Provider produced invalid plan (test_thing.a)
    "#]]
    .assert_eq(&named("changed").shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_provider_configuration_stops_its_resources() {
    let case = |region: &str| {
        Case::of(&format!(
            "provider \"test\" {{\n region = \"{region}\"\n}}\nresource \"test_thing\" \"a\" {{\n count = 2\n}}\n"
        ))
    };
    expect![[r#"
        error main.tf:1 Refused by the provider (provider["registry.opentofu.org/hashicorp/test"])
    "#]]
    .assert_eq(&case("refused").shown().await);
    // A warning appears once, although two instances use the provider.
    expect![[r#"
        warning main.tf:1 Doubted by the provider
    "#]]
    .assert_eq(&case("doubted").problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_object_is_upgraded() {
    let case = named("x").stored(object("test_thing.a", r#"{"id": "1"}"#).version(0));
    expect![[r#"
        update test_thing.a
          name: "upgraded" -> "x"
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_a_newer_provider_is_an_error() {
    let case = named("x").stored(object("test_thing.a", r#"{"id": "1"}"#).version(9));
    expect![[r#"
        error Resource instance managed by newer provider version
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_read_stops_the_plan_of_the_object() {
    let case = named("x").stored(object("test_thing.a", r#"{"id": "1", "kind": "unreadable"}"#));
    expect![[r#"
        error main.tf:1 Refused by the provider (test_thing.a)
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_whose_type_is_unknown_is_an_error() {
    let case = Case::of("").stored(object("test_vanished.a", r#"{"id": "1"}"#));
    expect![[r#"
        error Invalid resource type (test_vanished.a)
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_only_value_is_in_no_plan() {
    let case = || {
        let main = "resource \"test_thing\" \"a\" {\n password = \"p4ss\"\n}\n";
        Case::of(main).stored(object("test_thing.a", r#"{"id": "1", "name": "old"}"#))
    };
    expect![[r#"
        update test_thing.a
          name: "old" -> null
    "#]]
    .assert_eq(&case().shown().await);
    assert!(!format!("{:?}", case().planned().await.changes).contains("p4ss"));
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_of_the_configuration_reach_the_plan() {
    let case = Case::of(
        "variable \"s\" {\n default = \"x\"\n sensitive = true\n}\n\
         resource \"test_thing\" \"a\" {\n name = var.s\n tags = { k = var.s }\n}\n",
    );
    expect![[r#"
        create test_thing.a
          id: null -> ?
          name: null -> sensitive "x"
          secret: null -> sensitive null
          size: null -> ?
          tags: null -> {k = sensitive "x"}
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_mark_alone_is_an_update() {
    let main =
        "variable \"s\" {\n default = \"x\"\n sensitive = true\n}\nresource \"test_thing\" \"a\" {\n name = var.s\n}\n";
    expect![[r#"
        update test_thing.a
          name: "x" -> sensitive "x"
    "#]]
    .assert_eq(&Case::of(main).stored(object("test_thing.a", r#"{"id": "1", "name": "x"}"#)).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_meta_follows_its_schema() {
    let case = |body: &str| {
        Case::of(&format!(
            "terraform {{\n provider_meta \"test\" {{\n{body}\n}}\n}}\nresource \"test_thing\" \"a\" {{}}\n"
        ))
    };
    expect![[""]].assert_eq(&case("note = \"n\"").problems().await);
    expect![[r#"
        error main.tf:2 Missing required argument
    "#]]
    .assert_eq(&case("").problems().await);
    let builtin =
        "terraform {\n provider_meta \"terraform\" {\n note = \"n\"\n}\n}\nresource \"terraform_data\" \"a\" {}\n";
    expect![[r#"
        error main.tf:2 Provider terraform.io/builtin/terraform doesn't support provider_meta
    "#]]
    .assert_eq(&Case::of(builtin).problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_not_installed_is_named() {
    expect![[r#"
        error No plugin
    "#]]
    .assert_eq(&Case::of("resource \"other_thing\" \"a\" {}").problems().await);
}
