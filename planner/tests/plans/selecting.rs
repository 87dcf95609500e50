//! `-target` and `-exclude`.

use expect_test::expect;
use weft_planner::PlanKind;

use crate::harness::{Case, bare};

const CHAIN: &str = r#"
    resource "terraform_data" "a" {}
    resource "terraform_data" "b" { input = terraform_data.a.id }
    resource "terraform_data" "c" { input = terraform_data.b.id }
    resource "terraform_data" "d" {}
    output "a" { value = terraform_data.a.id }
    output "c" { value = terraform_data.c.id }
"#;

fn stored() -> Case {
    Case::of(CHAIN)
        .stored(bare("terraform_data.a", "1"))
        .stored(bare("terraform_data.b", "2").needs(&["terraform_data.a"]))
        .stored(bare("terraform_data.c", "3").needs(&["terraform_data.a", "terraform_data.b"]))
        .stored(bare("terraform_data.d", "4"))
        .stored(bare("terraform_data.gone", "5"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_is_planned_with_its_dependencies() {
    expect![[r#"
        warning Resource targeting is in effect
        create terraform_data.a
          id: null -> ?
        create terraform_data.b
          id: null -> ?
          input: null -> ?
          output: null -> ?
        create output a: null -> ?
    "#]]
    .assert_eq(&Case::of(CHAIN).target(&["terraform_data.b"]).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_excluded_object_is_left_out_with_its_dependents() {
    expect![[r#"
        warning Resource targeting is in effect
        create terraform_data.a
          id: null -> ?
        create terraform_data.d
          id: null -> ?
        create output a: null -> ?
    "#]]
    .assert_eq(&Case::of(CHAIN).exclude(&["terraform_data.b"]).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_is_deleted_if_it_is_selected() {
    expect![[r#"
        warning Resource targeting is in effect
        delete terraform_data.gone, delete_because_no_resource_config
    "#]]
    .assert_eq(&stored().target(&["terraform_data.gone"]).shown().await);
    expect![[r#"
        warning Resource targeting is in effect
        no-op terraform_data.d
    "#]]
    .assert_eq(&stored().exclude(&["terraform_data.gone", "terraform_data.a"]).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destroyed_target_also_destroys_its_dependents() {
    expect![[r#"
        warning Resource targeting is in effect
        delete terraform_data.b
        delete terraform_data.c
    "#]]
    .assert_eq(&stored().destroy().target(&["terraform_data.b"]).shown().await);
    expect![[r#"
        warning Resource targeting is in effect
        delete terraform_data.c
        delete terraform_data.d
        delete terraform_data.gone
    "#]]
    .assert_eq(&stored().destroy().exclude(&["terraform_data.b"]).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_instance_can_be_selected() {
    let main =
        "resource \"terraform_data\" \"a\" {\n count = 3\n}\noutput \"ids\" {\n value = terraform_data.a[*].id\n}\n";
    expect![[r#"
        warning Resource targeting is in effect
        create terraform_data.a[1]
          id: null -> ?
        create output ids: null -> [?, ?]
    "#]]
    .assert_eq(&Case::of(main).target(&["terraform_data.a[1]"]).shown().await);
    expect![[r#"
        warning Resource targeting is in effect
        create terraform_data.a[0]
          id: null -> ?
        create terraform_data.a[2]
          id: null -> ?
        create output ids: null -> [?, ?, ?]
    "#]]
    .assert_eq(&Case::of(main).exclude(&["terraform_data.a[1]"]).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_is_selected_with_all_its_objects() {
    let case = Case::of("module \"m\" {\n source = \"./m\"\n count = 2\n}\nresource \"terraform_data\" \"x\" {}\n")
        .file("m/main.tf", "resource \"terraform_data\" \"a\" {}");
    expect![[r#"
        warning Resource targeting is in effect
        create module.m[0].terraform_data.a
          id: null -> ?
    "#]]
    .assert_eq(&case.target(&["module.m[0]"]).shown().await);
}

/// Objects of a resource that still has a block, in module instances that no longer exist.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_gone_with_its_module_instance_is_deleted_if_it_is_selected() {
    let case = || {
        Case::of("module \"m\" {\n source = \"./m\"\n count = 0\n}\n")
            .file("m/main.tf", "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}")
            .stored(bare("module.m[0].terraform_data.a", "1"))
            .stored(bare("module.m[0].terraform_data.b", "2"))
            .stored(bare("module.m[1].terraform_data.a", "3"))
    };
    expect![[r#"
        warning Resource targeting is in effect
        delete module.m[0].terraform_data.a, delete_because_no_module
        delete module.m[0].terraform_data.b, delete_because_no_module
    "#]]
    .assert_eq(&case().target(&["module.m[0]"]).shown().await);
    expect![[r#"
        warning Resource targeting is in effect
        delete module.m[0].terraform_data.a, delete_because_no_module
    "#]]
    .assert_eq(&case().target(&["module.m[0].terraform_data.a"]).shown().await);
    expect![[r#"
        warning Resource targeting is in effect
        delete module.m[0].terraform_data.b, delete_because_no_module
        delete module.m[1].terraform_data.a, delete_because_no_module
    "#]]
    .assert_eq(&case().exclude(&["module.m[0].terraform_data.a"]).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_covers_the_selection_only() {
    expect![[r#"
        warning Resource targeting is in effect
    "#]]
    .assert_eq(&stored().kind(PlanKind::RefreshOnly).target(&["terraform_data.d"]).shown().await);
}
