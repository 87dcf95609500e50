//! Complete execution graphs: one for each kind of step.

mod records;

use expect_test::expect;

use crate::harness::{Case, bare, object};

#[tokio::test(flavor = "multi_thread")]
async fn a_create_passes_its_result_to_its_reader() {
    let case = Case::of(
        r#"
        resource "test_thing" "a" { name = "x" }
        resource "test_thing" "b" { name = "${test_thing.a.id}-b" }
        output "id" { value = test_thing.b.id }
        "#,
    );
    expect![[r#"
        0 = open_provider test {} @test
        1 = desired test_thing.a {"name": "x", "secret": ({sensitive})} @test
        2 = final_plan test_thing.a create provider 0 prior - desired 1 planned {"id": unknown:string, "name": "x", "secret": ({sensitive}), "size": unknown:number} @test
        3 = apply test_thing.a 2 @test
        4 = desired test_thing.b {name = template(%3.id, "-b"), secret = ({sensitive})} after 3 @test
        5 = final_plan test_thing.b create provider 0 prior - desired 4 planned {"id": unknown:string, "name": unknown:string, "secret": ({sensitive}), "size": unknown:number} @test
        6 = apply test_thing.b 5 @test
        7 = output id %6.id after 6
        8 = close_provider 0 after 3 6 @test
    "#]].assert_eq(&case.graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_wait_for_the_instances_that_they_read() {
    let case = Case::of(
        r#"
        resource "terraform_data" "a" {
          count = 2
          input = count.index
        }
        resource "terraform_data" "b" {
          for_each = toset(["0", "1"])
          input    = terraform_data.a[each.key].output
        }
        "#,
    );
    expect![[r#"
        0 = open_provider terraform {} @terraform
        1 = desired terraform_data.a[0] {"input": 0, "output": null, "triggers_replace": null} @terraform
        2 = final_plan terraform_data.a[0] create provider 0 prior - desired 1 planned {"id": unknown:string, "input": 0, "output": unknown:number, "triggers_replace": null} @terraform
        3 = apply terraform_data.a[0] 2 @terraform
        4 = desired terraform_data.a[1] {"input": 1, "output": null, "triggers_replace": null} @terraform
        5 = final_plan terraform_data.a[1] create provider 0 prior - desired 4 planned {"id": unknown:string, "input": 1, "output": unknown:number, "triggers_replace": null} @terraform
        6 = apply terraform_data.a[1] 5 @terraform
        7 = desired terraform_data.b["0"] {input = %3.output, output = null, triggers_replace = null} after 3 @terraform
        8 = final_plan terraform_data.b["0"] create provider 0 prior - desired 7 planned {"id": unknown:string, "input": unknown:number, "output": unknown:number, "triggers_replace": null} @terraform
        9 = apply terraform_data.b["0"] 8 @terraform
        10 = desired terraform_data.b["1"] {input = %6.output, output = null, triggers_replace = null} after 6 @terraform
        11 = final_plan terraform_data.b["1"] create provider 0 prior - desired 10 planned {"id": unknown:string, "input": unknown:number, "output": unknown:number, "triggers_replace": null} @terraform
        12 = apply terraform_data.b["1"] 11 @terraform
        13 = close_provider 0 after 3 6 9 12 @terraform
    "#]].assert_eq(&case.graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_keeps_the_known_values() {
    let case = Case::of(
        r#"
        resource "test_thing" "a" { name = "new" }
        resource "test_thing" "b" { name = test_thing.a.id }
        "#,
    );
    let case = case.stored(object("test_thing.a", r#"{"id": "1", "name": "old", "size": 3}"#));
    expect![[r#"
        0 = open_provider test {} @test
        1 = prior_state test_thing.a {"id": "1", "name": "old", "secret": ({sensitive}), "size": 3} @test
        2 = desired test_thing.a {"name": "new", "secret": ({sensitive})} @test
        3 = final_plan test_thing.a update provider 0 prior 1 desired 2 planned {"id": "1", "name": "new", "secret": ({sensitive}), "size": 3} @test
        4 = apply test_thing.a 3 @test
        5 = desired test_thing.b {"name": "1", "secret": ({sensitive})} after 4 @test
        6 = final_plan test_thing.b create provider 0 prior - desired 5 planned {"id": unknown:string, "name": "1", "secret": ({sensitive}), "size": unknown:number} @test
        7 = apply test_thing.b 6 @test
        8 = close_provider 0 after 4 7 @test
    "#]].assert_eq(&case.graph().await);
}

const CHAIN: &str = r#"
    resource "test_thing" "a" {
      kind = "new"
      LIFECYCLE
    }
    resource "test_thing" "b" { name = test_thing.a.id }
"#;

fn chain(lifecycle: &str) -> Case {
    let case = Case::of(&CHAIN.replace("LIFECYCLE", lifecycle));
    case.stored(object("test_thing.a", r#"{"id": "1", "kind": "old"}"#))
        .stored(object("test_thing.b", r#"{"id": "2", "name": "1"}"#).needs(&["test_thing.a"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_deletes_then_creates() {
    expect![[r#"
        0 = open_provider test {} @test
        1 = prior_state test_thing.a {"id": "1", "kind": "old", "secret": ({sensitive})} @test
        2 = desired test_thing.a {"kind": "new", "secret": ({sensitive})} @test
        3 = final_plan test_thing.a create provider 0 prior - desired 2 planned {"id": unknown:string, "kind": "new", "secret": ({sensitive}), "size": unknown:number} @test
        4 = final_plan test_thing.a delete provider 0 prior 1 desired - planned null @test
        5 = apply test_thing.a 4 @test
        6 = apply test_thing.a 3 after 5 @test
        7 = prior_state test_thing.b {"id": "2", "name": "1", "secret": ({sensitive})} @test
        8 = desired test_thing.b {name = %6.id, secret = ({sensitive})} after 6 @test
        9 = final_plan test_thing.b update provider 0 prior 7 desired 8 planned {"id": "2", "name": unknown:string, "secret": ({sensitive})} @test
        10 = apply test_thing.b 9 @test
        11 = close_provider 0 after 5 6 10 @test
    "#]].assert_eq(&chain("").graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_first_replacement_deletes_after_its_readers_are_updated() {
    expect![[r#"
        0 = open_provider test {} @test
        1 = prior_state test_thing.a deposed 7824a2c1 {"id": "1", "kind": "old", "secret": ({sensitive})} @test
        2 = final_plan test_thing.a delete provider 0 prior 1 desired - planned null @test
        3 = record test_thing.a {"id": "1", "kind": "old", "secret": ({sensitive})}
        4 = desired test_thing.a {"kind": "new", "secret": ({sensitive})} after 3 @test
        5 = final_plan test_thing.a create provider 0 prior - desired 4 planned {"id": unknown:string, "kind": "new", "secret": ({sensitive}), "size": unknown:number} @test
        6 = depose test_thing.a 7824a2c1 after 3 @test
        7 = apply test_thing.a 5 after 6 @test
        8 = prior_state test_thing.b {"id": "2", "name": "1", "secret": ({sensitive})} @test
        9 = desired test_thing.b {name = %7.id, secret = ({sensitive})} after 7 @test
        10 = final_plan test_thing.b update provider 0 prior 8 desired 9 planned {"id": "2", "name": unknown:string, "secret": ({sensitive})} @test
        11 = apply test_thing.b 10 @test
        12 = apply test_thing.a deposed 7824a2c1 2 after 3 7 11 @test
        13 = close_provider 0 after 6 7 11 12 @test
    "#]].assert_eq(&chain("lifecycle { create_before_destroy = true }").graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn dependents_are_deleted_first() {
    let case = Case::of("")
        .stored(object("test_thing.a", r#"{"id": "1"}"#))
        .stored(object("test_thing.b", r#"{"id": "2"}"#).needs(&["test_thing.a"]))
        .stored(object("test_thing.c", r#"{"id": "3"}"#));
    expect![[r#"
        0 = open_provider test {} @test
        1 = prior_state test_thing.a {"id": "1", "secret": ({sensitive})} @test
        2 = final_plan test_thing.a delete provider 0 prior 1 desired - planned null @test
        3 = prior_state test_thing.b {"id": "2", "secret": ({sensitive})} @test
        4 = final_plan test_thing.b delete provider 0 prior 3 desired - planned null @test
        5 = apply test_thing.b 4 @test
        6 = apply test_thing.a 2 after 5 @test
        7 = prior_state test_thing.c {"id": "3", "secret": ({sensitive})} @test
        8 = final_plan test_thing.c delete provider 0 prior 7 desired - planned null @test
        9 = apply test_thing.c 8 @test
        10 = close_provider 0 after 5 6 9 @test
    "#]]
    .assert_eq(&case.graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_source_of_a_pending_resource_is_read_at_apply() {
    let case = Case::of(
        r#"
        resource "test_thing" "a" { name = "x" }
        data "test_look" "known" { name = "x" }
        data "test_look" "later" { name = test_thing.a.id }
        output "answers" { value = [data.test_look.known.answer, data.test_look.later.answer] }
        "#,
    );
    expect![[r#"
        0 = record data.test_look.known {"answer": "answer to x", "name": "x"}
        1 = open_provider test {} @test
        2 = desired test_thing.a {"name": "x", "secret": ({sensitive})} @test
        3 = final_plan test_thing.a create provider 1 prior - desired 2 planned {"id": unknown:string, "name": "x", "secret": ({sensitive}), "size": unknown:number} @test
        4 = apply test_thing.a 3 @test
        5 = read_data data.test_look.later provider 1 {name = %4.id} after 4 @test
        6 = output answers tuple("answer to x", %5.answer) after 5
        7 = close_provider 1 after 4 5 @test
    "#]].assert_eq(&case.graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ephemeral_object_is_opened_where_it_is_read() {
    let case = Case::of(
        r#"
        ephemeral "test_token" "t" { name = "x" }
        resource "test_thing" "a" { password = ephemeral.test_token.t.token }
        "#,
    );
    expect![[r#"
        0 = open_provider test {} @test
        1 = open_ephemeral ephemeral.test_token.t provider 0 {"name": "x"} @test
        2 = desired test_thing.a {password = mark{ephemeral}(mark{ephemeral}(%1).token), secret = ({sensitive})} @test
        3 = final_plan test_thing.a create provider 0 prior - desired 2 planned {"id": unknown:string, "secret": ({sensitive}), "size": unknown:number} @test
        4 = apply test_thing.a 3 @test
        5 = close_ephemeral 1 @test
        6 = close_provider 0 after 4 @test
    "#]].assert_eq(&case.graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn provisioners_follow_the_create_and_precede_the_readers() {
    let case = Case::of(
        r#"
        resource "test_thing" "a" {
          provisioner "local-exec" { command = "echo ${self.id}" }
          provisioner "local-exec" {
            command    = "echo last"
            on_failure = continue
          }
        }
        resource "test_thing" "b" { name = test_thing.a.id }
        "#,
    );
    expect![[r#"
        0 = open_provider test {} @test
        1 = desired test_thing.a {"secret": ({sensitive})} @test
        2 = final_plan test_thing.a create provider 0 prior - desired 1 planned {"id": unknown:string, "secret": ({sensitive}), "size": unknown:number} @test
        3 = apply test_thing.a 2 @test
        4 = provision test_thing.a local-exec Created {command = template("echo ", %3.id)} after 3 @home
        5 = provision test_thing.a local-exec Completed continues {"command": "echo last"} after 4 @home
        6 = desired test_thing.b {name = %3.id, secret = ({sensitive})} after 3 5 @test
        7 = final_plan test_thing.b create provider 0 prior - desired 6 planned {"id": unknown:string, "name": unknown:string, "secret": ({sensitive}), "size": unknown:number} @test
        8 = apply test_thing.b 7 @test
        9 = close_provider 0 after 3 8 @test
    "#]].assert_eq(&case.graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn destroy_provisioners_precede_the_delete() {
    let case = Case::of(
        r#"
        resource "test_thing" "a" {
          provisioner "local-exec" {
            when    = destroy
            command = "echo ${self.id}"
          }
        }
        "#,
    );
    let case = case.stored(object("test_thing.a", r#"{"id": "1"}"#)).destroy();
    expect![[r#"
        0 = open_provider test {} @test
        1 = prior_state test_thing.a {"id": "1", "secret": ({sensitive})} @test
        2 = final_plan test_thing.a delete provider 0 prior 1 desired - planned null @test
        3 = provision test_thing.a local-exec Deleting {"command": "echo 1"} @home
        4 = apply test_thing.a 2 after 3 @test
        5 = close_provider 0 after 4 @test
    "#]]
    .assert_eq(&case.graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn modules_are_inlined() {
    let case = Case::of(
        r#"
        module "m" {
          source = "./m"
          count  = 2
          name   = "n${count.index}"
        }
        output "ids" { value = module.m[*].id }
        "#,
    );
    let module = r#"
        variable "name" { type = string }
        resource "test_thing" "a" { name = var.name }
        output "id" { value = test_thing.a.id }
    "#;
    expect![[r#"
        0 = desired module.m[0].test_thing.a {"name": "n0", "secret": ({sensitive})} @test
        1 = desired module.m[1].test_thing.a {"name": "n1", "secret": ({sensitive})} @test
        2 = open_provider test {} @test
        3 = final_plan module.m[0].test_thing.a create provider 2 prior - desired 0 planned {"id": unknown:string, "name": "n0", "secret": ({sensitive}), "size": unknown:number} @test
        4 = apply module.m[0].test_thing.a 3 @test
        5 = final_plan module.m[1].test_thing.a create provider 2 prior - desired 1 planned {"id": unknown:string, "name": "n1", "secret": ({sensitive}), "size": unknown:number} @test
        6 = apply module.m[1].test_thing.a 5 @test
        7 = output ids tuple(%4.id, %6.id) after 4 6
        8 = close_provider 2 after 4 6 @test
    "#]].assert_eq(&case.file("m/main.tf", module).graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn named_values_that_can_fail_are_evaluated_once() {
    let case = Case::of(
        r#"
        resource "terraform_data" "a" {}
        locals {
          safe  = "<${terraform_data.a.id}>"
          risky = tonumber(terraform_data.a.id)
        }
        output "safe" { value = local.safe }
        output "one" { value = local.risky }
        output "two" { value = local.risky + 1 }
        "#,
    );
    expect![[r#"
        0 = open_provider terraform {} @terraform
        1 = desired terraform_data.a {"input": null, "output": null, "triggers_replace": null} @terraform
        2 = final_plan terraform_data.a create provider 0 prior - desired 1 planned {"id": unknown:string, "input": null, "output": null, "triggers_replace": null} @terraform
        3 = apply terraform_data.a 2 @terraform
        4 = evaluate local.risky tonumber(%3.id) after 3
        5 = evaluate local.safe template("<", %3.id, ">") after 3
        6 = output one %4 after 4
        7 = output safe %5 after 5
        8 = output two add(%4, 1) after 4
        9 = close_provider 0 after 3 @terraform
    "#]].assert_eq(&case.graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn open_conditions_are_operations() {
    let case = Case::of(
        r#"
        resource "terraform_data" "a" {
          lifecycle {
            precondition {
              condition     = terraform_data.z.id != ""
              error_message = "before"
            }
            postcondition {
              condition     = self.id != ""
              error_message = "after ${self.id}"
            }
          }
        }
        resource "terraform_data" "z" {}
        output "o" {
          value = 1
          precondition {
            condition     = terraform_data.a.id != ""
            error_message = "of an output"
          }
        }
        check "c" {
          assert {
            condition     = terraform_data.a.id != ""
            error_message = "of a check"
          }
        }
        "#,
    );
    expect![[r#"
        0 = output o 1
        1 = open_provider terraform {} @terraform
        2 = desired terraform_data.z {"input": null, "output": null, "triggers_replace": null} @terraform
        3 = final_plan terraform_data.z create provider 1 prior - desired 2 planned {"id": unknown:string, "input": null, "output": null, "triggers_replace": null} @terraform
        4 = apply terraform_data.z 3 @terraform
        5 = check terraform_data.a Precondition notequal(%4.id, "") message "before" after 4
        6 = desired terraform_data.a {"input": null, "output": null, "triggers_replace": null} after 4 5 @terraform
        7 = final_plan terraform_data.a create provider 1 prior - desired 6 planned {"id": unknown:string, "input": null, "output": null, "triggers_replace": null} @terraform
        8 = apply terraform_data.a 7 @terraform
        9 = close_provider 1 after 4 8 @terraform
        10 = check terraform_data.a Postcondition notequal(%8.id, "") message template("after ", %8.id) after 8
        11 = check check.c[0] Assertion notequal(%8.id, "") message "of a check" after 8 10
        12 = check output.o Precondition notequal(%8.id, "") message "of an output" after 8 10
    "#]].assert_eq(&case.graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_leaves_the_rest_out() {
    let case = Case::of(
        r#"
        resource "test_thing" "a" { name = "x" }
        resource "test_thing" "b" { name = test_thing.a.id }
        resource "test_thing" "c" { name = test_thing.b.id }
        output "c" { value = test_thing.c.id }
        "#,
    );
    expect![[r#"
        0 = open_provider test {} @test
        1 = desired test_thing.a {"name": "x", "secret": ({sensitive})} @test
        2 = final_plan test_thing.a create provider 0 prior - desired 1 planned {"id": unknown:string, "name": "x", "secret": ({sensitive}), "size": unknown:number} @test
        3 = apply test_thing.a 2 @test
        4 = desired test_thing.b {name = %3.id, secret = ({sensitive})} after 3 @test
        5 = final_plan test_thing.b create provider 0 prior - desired 4 planned {"id": unknown:string, "name": unknown:string, "secret": ({sensitive}), "size": unknown:number} @test
        6 = apply test_thing.b 5 @test
        7 = close_provider 0 after 3 6 @test
    "#]].assert_eq(&case.target(&["test_thing.b"]).graph().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_waits_for_the_values_of_its_configuration() {
    let case = Case::of(
        r#"
        resource "terraform_data" "region" { input = "eu" }
        provider "test" { region = terraform_data.region.id }
        resource "test_thing" "a" { name = "x" }
        "#,
    );
    expect![[r#"
        0 = open_provider terraform {} @terraform
        1 = desired terraform_data.region {"input": "eu", "output": null, "triggers_replace": null} @terraform
        2 = final_plan terraform_data.region create provider 0 prior - desired 1 planned {"id": unknown:string, "input": "eu", "output": unknown:string, "triggers_replace": null} @terraform
        3 = apply terraform_data.region 2 @terraform
        4 = open_provider test {region = %3.id} after 3 @test
        5 = close_provider 0 after 3 @terraform
        6 = desired test_thing.a {"name": "x", "secret": ({sensitive})} after 3 @test
        7 = final_plan test_thing.a create provider 4 prior - desired 6 planned {"id": unknown:string, "name": "x", "secret": ({sensitive}), "size": unknown:number} @test
        8 = apply test_thing.a 7 @test
        9 = close_provider 4 after 8 @test
    "#]].assert_eq(&case.graph().await);
}

/// `docs/decisions/2026-11-28-destroys-read-what-configures-providers.md`
#[tokio::test(flavor = "multi_thread")]
async fn a_destroy_reads_what_configures_a_provider() {
    let case = Case::of(
        r#"
        resource "terraform_data" "base" { count = 1 }
        data "test_look" "region" {
          name       = "eu"
          depends_on = [terraform_data.base]
        }
        provider "test" {
          alias  = "own"
          region = data.test_look.region.answer
        }
        resource "test_thing" "a" {
          provider = test.own
          name     = "x"
        }
        "#,
    );
    let case = ["terraform_data.base[0]", "terraform_data.base[1]"]
        .iter()
        .fold(case, |case, address| case.stored(bare(address, "b")));
    let object = object("test_thing.a", r#"{"id": "1", "name": "x"}"#)
        .provider(r#"provider["registry.opentofu.org/hashicorp/test"].own"#);
    let graph = case.stored(object).destroy().graph().await;
    expect![[r#"
        0 = open_provider test.own {"region": "answer to eu"} @test.own
        1 = open_provider terraform {} @terraform
        2 = prior_state terraform_data.base[0] {"id": "b", "input": null, "output": null, "triggers_replace": null} @terraform
        3 = final_plan terraform_data.base[0] delete provider 1 prior 2 desired - planned null @terraform
        4 = prior_state terraform_data.base[1] {"id": "b", "input": null, "output": null, "triggers_replace": null} @terraform
        5 = final_plan terraform_data.base[1] delete provider 1 prior 4 desired - planned null @terraform
        6 = prior_state test_thing.a {"id": "1", "name": "x", "secret": ({sensitive})} @test.own
        7 = final_plan test_thing.a delete provider 0 prior 6 desired - planned null @test.own
        8 = apply test_thing.a 7 @test.own
        9 = close_provider 0 after 8 @test.own
        10 = apply terraform_data.base[0] 3 after 8 @terraform
        11 = apply terraform_data.base[1] 5 after 8 @terraform
        12 = close_provider 1 after 10 11 @terraform
    "#]].assert_eq(&graph);
}

/// A provider could create the object, and then nothing could record it.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_cannot_be_stored_is_refused_by_the_plan() {
    let case = Case::of("resource \"terraform_data\" \"x\" {\n  input = [{ a = 1 / 0 }]\n}");
    expect![[r#"
        error main.tf:1 Object cannot be stored (terraform_data.x)
    "#]]
    .assert_eq(&case.problems().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_changes_has_no_operations() {
    let case = Case::of(r#"resource "test_thing" "a" { name = "x" }"#);
    let planned = case.stored(object("test_thing.a", r#"{"id": "1", "name": "x"}"#)).planned().await;
    assert!(planned.changes.is_empty() && !planned.applyable);
    assert_eq!(planned.graph.operations, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cycle_of_values_is_named() {
    let case =
        Case::of("locals {\n a = local.b\n b = local.a\n}\nresource \"terraform_data\" \"x\" {\n input = local.a\n}");
    expect![[r#"
        error Cycle: local.a, local.b
    "#]]
    .assert_eq(&case.problems().await);
}
