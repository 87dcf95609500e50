//! Objects that are in the state but not in the configuration.

use expect_test::expect;
use weft_graph_format::value::Value;
use weft_planner::PlanKind;

use crate::harness::{Case, bare, object};

#[tokio::test(flavor = "multi_thread")]
async fn each_orphan_has_its_reason() {
    let case = Case::of(
        r#"
        resource "terraform_data" "counted" { count = 1 }
        resource "terraform_data" "keyed" { for_each = toset(["k"]) }
        resource "terraform_data" "single" {}
        resource "terraform_data" "disabled" {
          lifecycle { enabled = false }
        }
        module "m" {
          source = "./m"
          count  = 1
        }
        "#,
    )
    .file("m/main.tf", r#"resource "terraform_data" "a" {}"#);
    let stored = [
        "terraform_data.counted[0]",
        "terraform_data.counted[1]",
        "terraform_data.keyed[\"k\"]",
        "terraform_data.keyed[\"l\"]",
        "terraform_data.keyed[0]",
        "terraform_data.single",
        "terraform_data.single[2]",
        "terraform_data.disabled",
        "terraform_data.gone",
        "module.m[0].terraform_data.a",
        "module.m[1].terraform_data.a",
        "module.n.terraform_data.a",
    ];
    let case =
        stored.iter().fold(case, |case, address| case.stored(bare(address, address.split('"').next().unwrap_or("x"))));
    expect![[r#"
        no-op terraform_data.counted[0]
        delete terraform_data.counted[1], delete_because_count_index
        delete terraform_data.disabled, delete_because_enabled_false
        delete terraform_data.gone, delete_because_no_resource_config
        delete terraform_data.keyed[0], delete_because_wrong_repetition
        no-op terraform_data.keyed["k"]
        delete terraform_data.keyed["l"], delete_because_each_key
        no-op terraform_data.single
        delete terraform_data.single[2], delete_because_wrong_repetition
        no-op module.m[0].terraform_data.a
        delete module.m[1].terraform_data.a, delete_because_no_module
        delete module.n.terraform_data.a, delete_because_no_resource_config
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_that_no_longer_exists_is_not_deleted() {
    let case = Case::of("").stored(object("test_thing.a", r#"{"id": "1"}"#)).gone("1");
    expect![[r#"
        drift: delete test_thing.a
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_block_forgets_or_destroys() {
    let case = |destroy: &str| {
        Case::of(&format!("removed {{\n from = test_thing.a\n lifecycle {{\n destroy = {destroy}\n}}\n}}\n"))
            .stored(object("test_thing.a", r#"{"id": "1"}"#))
    };
    expect![[r#"
        warning Resource will be removed from the state
        forget test_thing.a, delete_because_no_resource_config
    "#]]
    .assert_eq(&case("false").shown().await);
    expect![[r#"
        delete test_thing.a, delete_because_no_resource_config
    "#]]
    .assert_eq(&case("true").shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_block_concerns_one_module() {
    let case = Case::of("removed {\n from = module.m\n lifecycle {\n destroy = false\n}\n}\n")
        .stored(bare("module.m.terraform_data.a", "1"))
        .stored(bare("module.m.module.n.terraform_data.b", "2"))
        .stored(bare("terraform_data.c", "3"));
    expect![[r#"
        warning Resource will be removed from the state
        warning Resource will be removed from the state
        delete terraform_data.c, delete_because_no_resource_config
        forget module.m.terraform_data.a, delete_because_no_resource_config
        forget module.m.module.n.terraform_data.b, delete_because_no_resource_config
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_recorded_as_not_to_be_destroyed_is_forgotten() {
    let case = Case::of("").stored(object("test_thing.a", r#"{"id": "1"}"#).skip_destroy());
    expect![[r#"
        warning Resource will be removed from the state
        forget test_thing.a, forgot_because_lifecycle_destroy_in_state
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_source_without_a_block_leaves_the_state() {
    let case = Case::of("").stored(object("data.test_look.d", r#"{"id": "1"}"#));
    expect![[r#"
        0 = record data.test_look.d gone
    "#]]
    .assert_eq(&case.graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_provider_can_refuse_a_delete() {
    let case = Case::of("").stored(object("test_thing.a", r#"{"id": "1", "name": "kept"}"#));
    expect![[r#"
        error Refused by the provider (test_thing.a)
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_needs_its_provider_configuration() {
    let provider = "provider[\"registry.opentofu.org/hashicorp/test\"].away";
    let case = Case::of("").stored(object("test_thing.a", r#"{"id": "1"}"#).provider(provider));
    expect![[r#"
        error Provider configuration not present
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_that_are_certain_are_planned_beside_errors() {
    let case =
        Case::of("variable \"v\" {}\nresource \"terraform_data\" \"a\" {\n count = 1\n input = tonumber(var.v)\n}\n")
            .given("v", Value::string("x"))
            .stored(bare("terraform_data.a[0]", "1"))
            .stored(bare("terraform_data.a[1]", "2"))
            .stored(bare("terraform_data.gone", "3"));
    expect![[r#"
        error main.tf:4 Invalid function argument
        delete terraform_data.a[1], delete_because_count_index
        delete terraform_data.gone, delete_because_no_resource_config
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn deposed_objects_are_deleted() {
    let deposed = || object("test_thing.a", r#"{"id": "2"}"#).deposed("0badc0de", r#"{"id": "1"}"#);
    let wanted = r#"resource "test_thing" "a" {}"#;
    expect![[r#"
        no-op test_thing.a
        delete test_thing.a (deposed 0badc0de)
    "#]]
    .assert_eq(&Case::of(wanted).stored(deposed()).shown().await);
    expect![[r#"
        delete test_thing.a, delete_because_no_resource_config
        delete test_thing.a (deposed 0badc0de)
    "#]]
    .assert_eq(&Case::of("").stored(deposed()).shown().await);
    expect![[r#"
        create test_thing.a
          id: null -> ?
          secret: null -> sensitive null
          size: null -> ?
        delete test_thing.a (deposed 0badc0de)
    "#]]
    .assert_eq(&Case::of(wanted).stored(deposed().without_current()).shown().await);
    expect![[r#"
        0 = forget test_thing.a deposed 0badc0de
    "#]]
    .assert_eq(&Case::of(wanted).stored(deposed()).gone("1").graph().await);
    expect![[""]].assert_eq(&Case::of(wanted).stored(deposed()).kind(PlanKind::RefreshOnly).shown().await);
}
