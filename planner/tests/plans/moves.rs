//! `moved` blocks.

use expect_test::expect;

use crate::harness::{Case, bare, object};

fn moved(from: &str, to: &str) -> String {
    format!("moved {{\n from = {from}\n to   = {to}\n}}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_moves_to_its_new_address() {
    let case =
        Case::of(&format!("{}resource \"terraform_data\" \"b\" {{}}", moved("terraform_data.a", "terraform_data.b")));
    expect![[r#"
        no-op terraform_data.b, moved from terraform_data.a
    "#]]
    .assert_eq(&case.stored(bare("terraform_data.a", "1")).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_moves_along_a_chain_and_into_a_module() {
    let main = format!(
        "{}{}module \"m\" {{\n source = \"./m\"\n}}\n",
        moved("terraform_data.b", "module.m.terraform_data.c"),
        moved("terraform_data.a", "terraform_data.b"),
    );
    let case = Case::of(&main).file("m/main.tf", "resource \"terraform_data\" \"c\" {}");
    expect![[r#"
        no-op module.m.terraform_data.c, moved from terraform_data.a
    "#]]
    .assert_eq(&case.stored(bare("terraform_data.a", "1")).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_instance_becomes_instance_0() {
    let case = Case::of("resource \"terraform_data\" \"a\" {\n count = 1\n}").stored(bare("terraform_data.a", "1"));
    expect![[r#"
        no-op terraform_data.a[0], moved from terraform_data.a
    "#]]
    .assert_eq(&case.shown().await);
    let case = Case::of("resource \"terraform_data\" \"a\" {}").stored(bare("terraform_data.a[0]", "1"));
    expect![[r#"
        no-op terraform_data.a, moved from terraform_data.a[0]
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_does_not_move_onto_another_one() {
    let case =
        Case::of(&format!("{}resource \"terraform_data\" \"b\" {{}}", moved("terraform_data.a", "terraform_data.b")));
    let case = case.stored(bare("terraform_data.a", "1")).stored(bare("terraform_data.b", "2"));
    expect![[r#"
        warning Unresolved resource instance address changes
        delete terraform_data.a, delete_because_no_resource_config
        no-op terraform_data.b
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_without_a_target_block_is_deleted() {
    let case = Case::of(&moved("terraform_data.a", "terraform_data.b")).stored(bare("terraform_data.a", "1"));
    expect![[r#"
        delete terraform_data.b, delete_because_no_move_target, moved from terraform_data.a
    "#]]
    .assert_eq(&case.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_still_declared_is_an_error() {
    let main = format!(
        "{}resource \"terraform_data\" \"a\" {{}}\nresource \"terraform_data\" \"b\" {{}}\n",
        moved("terraform_data.a", "terraform_data.b")
    );
    expect![[r#"
        error main.tf:1 Moved object still exists
    "#]]
    .assert_eq(&Case::of(&main).problems().await);
    let keyed = format!(
        "{}resource \"terraform_data\" \"a\" {{\n count = 1\n}}\nresource \"terraform_data\" \"b\" {{}}\n",
        moved("terraform_data.a[0]", "terraform_data.b")
    );
    expect![[r#"
        error main.tf:1 Moved object still exists
    "#]]
    .assert_eq(&Case::of(&keyed).problems().await);
    // `a[1]` is not declared, so it may be the source of a move.
    let other = keyed.replace("a[0]", "a[1]");
    expect![[r#"
        create terraform_data.a[0]
          id: null -> ?
        no-op terraform_data.b, moved from terraform_data.a[1]
    "#]]
    .assert_eq(&Case::of(&other).stored(bare("terraform_data.a[1]", "1")).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_that_contradict_each_other_are_errors() {
    let (a, b, c) = ("terraform_data.a", "terraform_data.b", "terraform_data.c");
    for (blocks, want) in [
        (
            moved(a, a),
            expect![[r#"
            error main.tf:1 Redundant move statement
        "#]],
        ),
        (
            moved(a, b) + &moved(a, c),
            expect![[r#"
            error main.tf:5 Ambiguous move statements
        "#]],
        ),
        (
            moved(a, c) + &moved(b, c),
            expect![[r#"
            error main.tf:5 Ambiguous move statements
        "#]],
        ),
        (
            moved(a, b) + &moved(b, a),
            expect![[r#"
            error Cyclic dependency in move statements
        "#]],
        ),
    ] {
        want.assert_eq(&Case::of(&blocks).problems().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_outside_the_selection_is_an_error() {
    let main = format!(
        "{}resource \"terraform_data\" \"b\" {{}}\nresource \"terraform_data\" \"c\" {{}}\n",
        moved("terraform_data.a", "terraform_data.b")
    );
    let case = || Case::of(&main).stored(bare("terraform_data.a", "1"));
    expect![[r#"
        warning Resource targeting is in effect
        error Moved resource instances excluded by targeting
    "#]]
    .assert_eq(&case().target(&["terraform_data.c"]).shown().await);
    expect![[r#"
        warning Resource targeting is in effect
        error Moved resource instances excluded by targeting
    "#]]
    .assert_eq(&case().exclude(&["terraform_data.b"]).shown().await);
    expect![[r#"
        warning Resource targeting is in effect
        error Moved resource instances excluded by targeting
    "#]]
    .assert_eq(&case().target(&["terraform_data.b"]).shown().await);
    expect![[r#"
        warning Resource targeting is in effect
        no-op terraform_data.b, moved from terraform_data.a
    "#]]
    .assert_eq(&case().target(&["terraform_data.a", "terraform_data.b"]).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_changes_its_type_if_the_provider_can_convert_it() {
    let main = |to: &str| format!("{}resource \"{to}\" \"b\" {{\n}}\n", moved("test_thing.a", &format!("{to}.b")));
    let case = |to: &str| Case::of(&main(to)).stored(object("test_thing.a", r#"{"id": "1", "size": 2}"#));
    expect![[r#"
        no-op test_other.b, moved from test_thing.a
    "#]]
    .assert_eq(&case("test_other").shown().await);
    expect![[r#"
        error main.tf:5 Unable to Move Resource State (terraform_data.b)
    "#]]
    .assert_eq(&case("terraform_data").shown().await);
}
