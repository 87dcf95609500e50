//! Provider instances that disappear together with their objects, and their memories in the state.

use expect_test::expect;
use weft_graph_format::value::Value;

use crate::harness::{Case, object};

/// The provider of a called module.
const IN_M: &str = "module.m.provider[\"registry.opentofu.org/hashicorp/test\"]";
/// A provider instance with a key.
const KEYED: &str = "provider[\"registry.opentofu.org/hashicorp/test\"].by[\"us\"]";
/// A configuration without the module. The comment makes the harness start the test provider.
const WITHOUT_MODULE: &str = "# test_\n";
const BY_KEY: &str = r#"
# test_
provider "test" {
  alias    = "by"
  for_each = { eu = { place = "eu-1" } }
  region   = each.value.place
}
"#;

/// An object of the removed module, with this memory of its provider.
fn of_module(main: &str, value: &str, value_type: &str) -> Case {
    Case::of(main)
        .stored(object("module.m.test_thing.a", r#"{"id": "1"}"#).provider(IN_M))
        .stored_output(IN_M, value, value_type, false)
}

/// An object of the removed key, with this memory of its provider.
fn of_key(value: &str, value_type: &str) -> Case {
    Case::of(BY_KEY)
        .stored(object("test_thing.a", r#"{"id": "1"}"#).provider(KEYED))
        .stored_output(KEYED, value, value_type, false)
}

/// The details of the errors.
async fn details(case: Case) -> String {
    let found = case.plan().await.diagnostics;
    found.iter().filter(|problem| problem.is_error()).map(|problem| format!("{}\n", problem.detail)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_removed_module_are_deleted_with_its_configuration() {
    let case = || {
        of_module(
            WITHOUT_MODULE,
            r#"{"configuration":{"region":"eu"}}"#,
            r#"["object",{"configuration":["object",{"region":"string"}]}]"#,
        )
    };
    expect![[r#"
        warning Provider instance from the state
        delete module.m.test_thing.a, delete_because_no_resource_config
    "#]]
    .assert_eq(&case().shown().await);
    expect![[r#"
        0 = open_provider module.m.test {"region": "eu"} @module.m.test
        1 = prior_state module.m.test_thing.a {"id": "1", "secret": ({sensitive})} @module.m.test
        2 = final_plan module.m.test_thing.a delete provider 0 prior 1 desired - planned null @module.m.test
        3 = apply module.m.test_thing.a 2 @module.m.test
        4 = close_provider 0 after 3 @module.m.test
        5 = output module.m.test removed after 3
    "#]]
    .assert_eq(&case().graph().await);
    expect![[r#"
        warning Provider instance from the state
        delete module.m.test_thing.a
    "#]]
    .assert_eq(&case().destroy().shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_removed_module_instance_are_deleted_with_its_configuration() {
    let main = "module \"m\" {\n  source = \"./m\"\n  for_each = toset([])\n}\n";
    let inner = "language {\n  experiments = [provider_iteration]\n}\n\
                 provider \"test\" {\n  region = \"x\"\n}\nresource \"test_thing\" \"a\" {\n}\n";
    let provider = IN_M.replace("module.m", "module.m[\"a\"]");
    let case = Case::of(main)
        .file("m/main.tf", inner)
        .stored(object("module.m[\"a\"].test_thing.a", r#"{"id": "1"}"#).provider(&provider))
        .stored_output(
            &provider,
            r#"{"configuration":{"region":"eu"}}"#,
            r#"["object",{"configuration":["object",{"region":"string"}]}]"#,
            false,
        );
    expect![[r#"
        0 = open_provider module.m["a"].test {"region": "eu"} @module.m["a"].test
        1 = prior_state module.m["a"].test_thing.a {"id": "1", "secret": ({sensitive})} @module.m["a"].test
        2 = final_plan module.m["a"].test_thing.a delete provider 0 prior 1 desired - planned null @module.m["a"].test
        3 = apply module.m["a"].test_thing.a 2 @module.m["a"].test
        4 = close_provider 0 after 3 @module.m["a"].test
        5 = output module.m["a"].test removed after 3
    "#]]
    .assert_eq(&case.graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_a_removed_key_is_deleted_with_the_block_and_the_value_of_the_key() {
    let case =
        || of_key(r#"{"each_value":{"place":"us-1"}}"#, r#"["object",{"each_value":["object",{"place":"string"}]}]"#);
    expect![[r#"
        warning Provider instance from the state
        delete test_thing.a, delete_because_no_resource_config
    "#]]
    .assert_eq(&case().shown().await);
    expect![[r#"
        0 = open_provider test.by["us"] {"region": "us-1"} @test.by["us"]
        1 = prior_state test_thing.a {"id": "1", "secret": ({sensitive})} @test.by["us"]
        2 = final_plan test_thing.a delete provider 0 prior 1 desired - planned null @test.by["us"]
        3 = apply test_thing.a 2 @test.by["us"]
        4 = close_provider 0 after 3 @test.by["us"]
        5 = output test.by["us"] removed after 3
    "#]]
    .assert_eq(&case().graph().await);
    // Problems of the block are reported.
    expect![[r#"
        error main.tf:6 Unsupported attribute
    "#]]
    .assert_eq(&of_key(r#"{"each_value":{}}"#, r#"["object",{"each_value":["object",{}]}]"#).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_memory_the_error_stays() {
    let keyed = Case::of(BY_KEY).stored(object("test_thing.a", r#"{"id": "1"}"#).provider(KEYED));
    expect![[r#"
        error Provider instance not present
    "#]]
    .assert_eq(&keyed.shown().await);
    let of_module = Case::of(WITHOUT_MODULE).stored(object("module.m.test_thing.a", r#"{"id": "1"}"#).provider(IN_M));
    expect![[r#"
        error Provider configuration not present
    "#]]
    .assert_eq(&of_module.shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_is_removed_from_its_module_keeps_the_error() {
    let memory = r#"{"each_value":"us"}"#;
    let case = Case::of(WITHOUT_MODULE).stored(object("test_thing.a", r#"{"id": "1"}"#).provider(KEYED)).stored_output(
        KEYED,
        memory,
        r#"["object",{"each_value":"string"}]"#,
        false,
    );
    expect![[r#"
        error Provider configuration not present
    "#]]
    .assert_eq(&case.shown().await);
    let main = "module \"m\" {\n  source = \"./m\"\n}\n";
    let case = of_module(
        main,
        r#"{"configuration":{"region":"eu"}}"#,
        r#"["object",{"configuration":["object",{"region":"string"}]}]"#,
    );
    expect![[r#"
        error Provider configuration not present
    "#]]
    .assert_eq(&case.file("m/main.tf", WITHOUT_MODULE).shown().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_arguments_come_from_their_variables() {
    let hidden = |variable: &str| {
        let value = format!(r#"{{"configuration":{{}},"hidden":{{"region":"{variable}"}}}}"#);
        (value, r#"["object",{"configuration":["object",{}],"hidden":["map","string"]}]"#)
    };
    let declared = "# test_\nvariable \"place\" {\n  sensitive = true\n}\n";
    let (value, ty) = hidden("var.place");
    let given = of_module(declared, &value, ty).given("place", Value::string("mars"));
    expect![[r#"
        0 = open_provider module.m.test {"region": ({sensitive})} @module.m.test
        1 = prior_state module.m.test_thing.a {"id": "1", "secret": ({sensitive})} @module.m.test
        2 = final_plan module.m.test_thing.a delete provider 0 prior 1 desired - planned null @module.m.test
        3 = apply module.m.test_thing.a 2 @module.m.test
        4 = close_provider 0 after 3 @module.m.test
        5 = output module.m.test removed after 3
    "#]]
    .assert_eq(&given.graph().await);
    expect![[r#"
        The state has objects of module.m.provider["registry.opentofu.org/hashicorp/test"], which is no longer in the configuration. The argument "region" of this provider was computed from var.place, but the configuration no longer declares this variable. Declare the variable until the objects are destroyed, and set it with -var place=VALUE.
    "#]].assert_eq(&details(of_module(WITHOUT_MODULE, &value, ty)).await);
    let (value, ty) = hidden("");
    expect![[r#"
        The state has objects of module.m.provider["registry.opentofu.org/hashicorp/test"], which is no longer in the configuration. The value of the argument "region" of this provider must not be stored, so the state does not contain it. Restore the configuration that was removed, and destroy the objects first: weft apply -destroy -target=ADDRESS.
    "#]].assert_eq(&details(of_module(WITHOUT_MODULE, &value, ty)).await);
    let changed = r#"{"configuration":{},"hidden":{"region":"var.place"},"digests":{"region":"00"}}"#;
    let ty = r#"["object",{"configuration":["object",{}],"digests":["map","string"],"hidden":["map","string"]}]"#;
    let other = of_module(declared, changed, ty).given("place", Value::string("venus"));
    expect![[r#"
        The state has objects of module.m.provider["registry.opentofu.org/hashicorp/test"], which is no longer in the configuration. The argument "region" of this provider was var.place, which has another value now, so the objects may not be found. Set the previous value with -var place=VALUE until the objects are destroyed.
    "#]].assert_eq(&details(other).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_part_of_the_value_of_a_key_is_named() {
    let ty = r#"["object",{"each_value":["object",{"place":"string"}],"hidden":["map","string"]}]"#;
    let case = of_key(r#"{"each_value":{"place":null},"hidden":{"each.value.place":""}}"#, ty);
    expect![[r#"
        The state has objects of provider["registry.opentofu.org/hashicorp/test"].by["us"], which is no longer in the configuration. The state does not contain each.value.place, which must not be stored. Restore the configuration that was removed, and destroy the objects first: weft apply -destroy -target=ADDRESS.
    "#]].assert_eq(&details(case).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_writes_what_the_state_has_to_remember() {
    let main = r#"
        variable "secret" { sensitive = true }
        variable "place" {}
        module "m" {
          source = "./m"
          place  = var.place
        }
        module "n" {
          source = "./m"
          place  = "${var.place}-${var.secret}"
        }
    "#;
    let inner =
        "variable \"place\" {\n}\nprovider \"test\" {\n  region = var.place\n}\nresource \"test_thing\" \"a\" {\n}\n";
    let case = Case::of(main)
        .file("m/main.tf", inner)
        .given("secret", Value::string("s3cret"))
        .given("place", Value::string("mars"));
    let graph = case.graph().await;
    let lines: Vec<&str> = graph.lines().filter(|line| line.contains("output")).collect();
    expect![[r#"
        1 = output module.m.test {"configuration": {}, "digests": {"region": "67b250a15269046bd94258cab4e379a7"}, "hidden": {"region": "var.place"}}
        7 = output module.n.test {"configuration": {}, "hidden": {"region": ""}, "templates": {"region": "${var.place}-${var.secret}"}}"#]].assert_eq(&lines.join("\n"));
    let keyed = format!("{BY_KEY}resource \"test_thing\" \"a\" {{\n  provider = test.by[\"eu\"]\n}}\n");
    let graph = Case::of(&keyed).graph().await;
    let lines: Vec<&str> = graph.lines().filter(|line| line.contains("output")).collect();
    expect![[r#"1 = output test.by["eu"] {"each_value": {"place": "eu-1"}}"#]].assert_eq(&lines.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_is_no_reason_for_an_apply() {
    let keyed = format!("{BY_KEY}resource \"test_thing\" \"a\" {{\n  provider = test.by[\"eu\"]\n}}\n");
    let provider = KEYED.replace("us", "eu");
    let case = Case::of(&keyed).stored(object("test_thing.a", r#"{"id": "1"}"#).provider(&provider));
    let planned = case.planned().await;
    assert!(!planned.applyable);
    assert!(!weft_graph_format::graph::disassemble(&planned.graph).contains("output"));
}

/// Text that reaches a provider through a sensitive variable of a module is secret, too.
#[tokio::test(flavor = "multi_thread")]
async fn text_behind_a_sensitive_variable_of_a_module_is_not_stored() {
    let main = r#"
        variable "user" {}
        module "m" {
          source   = "./m"
          user     = var.user
          password = "s3cret"
        }
    "#;
    let inner = r#"
        variable "user" {}
        variable "password" { sensitive = true }
        provider "test" {
          region = "${var.user}:${var.password}"
        }
        resource "test_thing" "a" {}
    "#;
    let graph = Case::of(main).file("m/main.tf", inner).given("user", Value::string("bob")).graph().await;
    let memory: Vec<&str> = graph.lines().filter(|line| line.contains("output")).collect();
    assert!(!memory.is_empty() && !memory.concat().contains("s3cret"), "{memory:?}");
}
